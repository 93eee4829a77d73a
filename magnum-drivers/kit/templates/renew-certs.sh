#!/usr/bin/env bash
set -u
exit 0
