//! Scripted answers for the tests of this module.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, header};
use magnum_heat::http::{HttpError, HttpErrorKind, HttpService};

use super::client::KubernetesClient;
use crate::bootstrap::Endpoint;

/// Answers in order, and a record of what was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    answers: VecDeque<(u16, String)>,
    requests: Vec<String>,
}

impl Script {
    pub(crate) fn new<'a>(answers: impl IntoIterator<Item = (u16, &'a str)>) -> Self {
        let script = Self::default();
        for (status, body) in answers {
            script
                .inner
                .lock()
                .unwrap()
                .answers
                .push_back((status, body.to_owned()));
        }
        script
    }

    pub(crate) fn client(&self) -> KubernetesClient {
        KubernetesClient::new(Arc::new(self.clone()), Endpoint::new("10.0.0.5", 6443))
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.inner.lock().unwrap().requests.clone()
    }
}

#[async_trait::async_trait]
impl HttpService for Script {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut inner = self.inner.lock().unwrap();
        let media = request
            .headers()
            .get(header::CONTENT_TYPE)
            .map_or("", |value| value.to_str().unwrap());
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let line = format!("{} {} {media} {body}", request.method(), request.uri());
        inner.requests.push(line.trim_end().to_owned());
        let Some((status, body)) = inner.answers.pop_front() else {
            return Err(HttpError::new(HttpErrorKind::Connect, "connection refused"));
        };
        Ok(Response::builder()
            .status(status)
            .body(Bytes::from(body))
            .unwrap())
    }
}
