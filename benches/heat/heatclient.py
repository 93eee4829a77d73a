"""Reads a listing of Heat from stdin as python-heatclient does; prints version, count, CPU seconds a time, KiB of peak."""

import resource
import sys
import time

import requests
from heatclient.v1 import events, resources

body = sys.stdin.buffer.read()


class Api:
    """Answers every request with the listing."""

    def get(self, url, **kwargs):
        answer = requests.Response()
        answer.status_code = 200
        answer.headers["content-type"] = "application/json"
        answer._content = body
        return answer

    def json_request(self, method, url, **kwargs):
        answer = self.get(url)
        return answer, answer.json()


def once():
    if sys.argv[1] == "resources":
        return len(list(resources.ResourceManager(Api()).list("s/i")))
    return len(list(events.EventManager(Api()).list("s/i")))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


before = peak()
count = once()
rise = peak() - before
begun, runs = time.thread_time(), 0
while time.thread_time() - begun < 1:
    once()
    runs += 1
from importlib.metadata import version

print(version("python-heatclient"), count, (time.thread_time() - begun) / runs, rise)
