//! The session: its rules on a scripted HTTP service, its HTTP client against local servers.

#![allow(clippy::unwrap_used)]

mod client;
mod deadline;
mod lists;
mod login;
#[cfg(feature = "metrics")]
mod metrics;
mod microversion;
mod rate_limit;
mod rules;
mod scale;
mod tls;
