//! Which operations of Heat were sent, and how they were answered.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use magnum_heat::{
    ServiceType, Session,
    http::{HttpError, HttpService},
};
use serde_json::Value;
use url::Url;

use crate::operations::{Answers, OPERATIONS, operation_of};

/// Status and fault type of an answer.
type Ended = (u16, Option<String>);

/// What all recorders of a test have seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record(Arc<Mutex<BTreeMap<String, Vec<Ended>>>>);

/// Passes requests on and records those to Heat.
#[derive(Debug)]
struct Recorder {
    inner: Arc<dyn HttpService>,
    endpoint: Url,
    record: Record,
}

impl Record {
    /// A session like this one whose calls are recorded.
    pub(crate) async fn of(&self, session: &Session) -> Session {
        let recorder = Recorder {
            inner: session.http(),
            endpoint: session.endpoint(ServiceType::Orchestration).await.unwrap(),
            record: self.clone(),
        };
        let builder = Session::builder(session.cloud().clone()).http(Arc::new(recorder));
        builder.connect().await.unwrap()
    }

    /// How often an operation was sent.
    pub(crate) fn count(&self, operation: &str) -> usize {
        self.0.lock().unwrap().get(operation).map_or(0, Vec::len)
    }

    /// Operations of the table that were not answered as it says, and requests that are not in it.
    pub(crate) fn problems(&self) -> Vec<String> {
        let seen = self.0.lock().unwrap();
        let mut problems: Vec<String> = seen
            .keys()
            .filter(|name| OPERATIONS.iter().all(|o| o.name != name.as_str()))
            .map(|request| format!("{request} is not in the table"))
            .collect();
        for operation in OPERATIONS {
            let answers = seen.get(operation.name).map_or(&[][..], Vec::as_slice);
            let as_said = answers
                .iter()
                .any(|(status, kind)| match operation.answers {
                    Answers::Success => (200..300).contains(status),
                    Answers::Status(wanted) => *status == wanted,
                    Answers::Refusal(wanted, fault) => {
                        *status == wanted && kind.as_deref() == Some(fault)
                    }
                });
            if !as_said {
                let (name, wanted) = (operation.name, operation.answers);
                problems.push(format!("{name}: wanted {wanted:?}, had {answers:?}"));
            }
        }
        problems
    }
}

#[async_trait::async_trait]
impl HttpService for Recorder {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let url = Url::parse(&request.uri().to_string()).unwrap();
        let (method, body) = (request.method().clone(), request.body().clone());
        let answer = self.inner.call(request).await?;
        if url.origin() == self.endpoint.origin() {
            let skip = self
                .endpoint
                .path()
                .trim_end_matches('/')
                .split('/')
                .count();
            let below: Vec<&str> = url.path().split('/').skip(skip).collect();
            let path = format!("/{}", below.join("/"));
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let name = operation_of(method.as_str(), &path, &body)
                .map_or_else(|| format!("{method} {path}"), |o| o.name.to_owned());
            let fault: Option<Value> = serde_json::from_slice(answer.body()).ok();
            let kind = fault.and_then(|f| f["error"]["type"].as_str().map(str::to_owned));
            let mut record = self.record.0.lock().unwrap();
            record
                .entry(name)
                .or_default()
                .push((answer.status().as_u16(), kind));
        }
        Ok(answer)
    }
}
