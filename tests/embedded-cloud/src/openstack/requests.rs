//! The log of requests from outside: who asked which service for what, in order.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::{Cloud, ServiceKind};

/// How many lines are kept; older ones are dropped.
const KEPT: usize = 50_000;

/// One request. The log is not journalled.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct RequestLine {
    /// `heat`, `nova`, ...
    pub service: String,
    /// `GET`, ...
    pub method: String,
    /// The path behind the service's prefix, without query.
    pub path: String,
    /// The answer's status.
    pub status: u16,
    /// The user whose token it carried, or who logged in by it; none without a valid token.
    pub user_id: Option<String>,
}

/// The log.
#[derive(Debug, Default)]
pub struct Requests(Mutex<VecDeque<RequestLine>>);

impl Requests {
    fn lines(&self) -> MutexGuard<'_, VecDeque<RequestLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All lines that are kept, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<RequestLine> {
        self.lines().iter().cloned().collect()
    }

    /// Adds a line.
    pub(super) fn add(&self, line: RequestLine) {
        let mut lines = self.lines();
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// A request before it is answered.
#[derive(Debug)]
pub(super) struct Asked {
    service: ServiceKind,
    method: String,
    path: String,
    user_id: Option<String>,
}

impl Asked {
    pub(super) fn new<B>(cloud: &Cloud, service: ServiceKind, request: &http::Request<B>) -> Self {
        Self {
            service,
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            user_id: user(cloud, request.headers(), "x-auth-token"),
        }
    }

    pub(super) fn answered<B>(self, cloud: &Cloud, response: &http::Response<B>) {
        let logged_in = || user(cloud, response.headers(), "x-subject-token");
        cloud.requests().add(RequestLine {
            service: self.service.name().to_owned(),
            method: self.method,
            path: self.path,
            status: response.status().as_u16(),
            user_id: self.user_id.or_else(logged_in),
        });
    }
}

fn user(cloud: &Cloud, headers: &HeaderMap, name: &str) -> Option<String> {
    let token = headers.get(name)?.to_str().ok()?;
    cloud
        .keystone()
        .caller(cloud, token)
        .map(|caller| caller.user_id)
}
