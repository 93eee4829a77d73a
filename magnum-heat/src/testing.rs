//! A scripted HTTP service for unit tests of code that uses a session.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::{
    CloudConfig, Session,
    auth::{Auth, DomainRef, Scope, UserRef},
    http::{HttpError, HttpErrorKind, HttpService},
};

/// Token that [`Script`] hands out at the n-th login (from 1).
pub fn token(login: usize) -> String {
    format!("test-token-{login}")
}

/// A request that [`Script`] has received.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Seen {
    /// Method.
    pub method: Method,
    /// Path below the service, query included: `/heat/v1/p1/stacks?limit=2`.
    pub path: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body, as JSON; `Null` when empty or something else.
    pub body: Value,
}

type Rule = Box<dyn Fn(&Seen) -> Option<Reply> + Send + Sync>;

/// What [`Script`] answers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reply {
    /// An answer of this status, headers and body.
    Answer(u16, Vec<(String, String)>, Bytes),
    /// No answer.
    Fail(HttpErrorKind),
}

impl Reply {
    /// A JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self::Answer(status, headers, Bytes::from(body.to_string()))
    }

    /// An answer without a body.
    pub fn empty(status: u16) -> Self {
        Self::Answer(status, Vec::new(), Bytes::new())
    }

    /// The same with a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer(_, headers, _) = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    queue: VecDeque<Reply>,
    rules: Vec<Rule>,
    logins: usize,
    lifetime_secs: i64,
    catalog: Option<Value>,
}

/// Answers logins by itself and everything else by rules, then from a queue; keeps what it received.
///
/// Every service of its catalog is at `http://cloud.test/<type>`, Heat at `http://cloud.test/heat/v1/p1`. What neither
/// a rule nor the queue answers is a 501.
#[derive(Clone, Default)]
pub struct Script(Arc<Mutex<State>>);

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("seen", &self.state().seen.len())
            .finish_non_exhaustive()
    }
}

impl Script {
    /// A script that answers logins only.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the next request that no rule answers.
    #[must_use]
    pub fn then(self, reply: Reply) -> Self {
        self.state().queue.push_back(reply);
        self
    }

    /// Answers every request for which `rule` gives something; rules made first are asked first.
    #[must_use]
    pub fn rule(self, rule: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Self {
        self.state().rules.push(Box::new(rule));
        self
    }

    /// Lifetime of the tokens it hands out, in seconds; default an hour.
    #[must_use]
    pub fn token_lifetime(self, seconds: i64) -> Self {
        self.state().lifetime_secs = seconds;
        self
    }

    /// Another catalog.
    #[must_use]
    pub fn catalog(self, catalog: Value) -> Self {
        self.state().catalog = Some(catalog);
        self
    }

    /// Requests received, logins not among them.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// Logins answered.
    pub fn logins(&self) -> usize {
        self.state().logins
    }

    /// A session on this script, logged in as `demo` in project `p1`; pauses are as usual, so pause tokio's clock.
    ///
    /// # Errors
    /// A login that a rule refused.
    pub async fn session(&self) -> crate::Result<Session> {
        Session::builder(Self::cloud())
            .http(Arc::new(self.clone()))
            .seed(1)
            .connect()
            .await
    }

    /// Settings that fit this script.
    pub fn cloud() -> CloudConfig {
        let user = UserRef::Name {
            name: "demo".to_owned(),
            domain: DomainRef::Id("default".to_owned()),
        };
        let auth = Auth::Password {
            user,
            password: SecretString::from("test-password"),
        };
        CloudConfig::new("http://cloud.test/identity", auth, Scope::project("p1"))
            .expect("a constant address")
    }

    fn login(&self, seen: &Seen) -> Reply {
        let mut state = self.state();
        state.logins += 1;
        let lifetime = if state.lifetime_secs == 0 {
            3600
        } else {
            state.lifetime_secs
        };
        let now = chrono::Utc::now();
        let project = seen.body["auth"]["scope"]["project"]["id"]
            .as_str()
            .unwrap_or("p1")
            .to_owned();
        let catalog = state
            .catalog
            .clone()
            .unwrap_or_else(|| default_catalog(&project));
        let body = json!({"token": {
            "user": {"id": "u1", "name": "demo"},
            "project": {"id": project, "name": "demo"},
            "roles": [{"id": "r1", "name": "member"}],
            "issued_at": now.to_rfc3339(),
            "expires_at": (now + chrono::TimeDelta::seconds(lifetime)).to_rfc3339(),
            "catalog": catalog,
        }});
        Reply::json(201, &body).header("x-subject-token", &token(state.logins))
    }

    fn reply(&self, seen: Seen) -> Reply {
        let by_rule = self.state().rules.iter().find_map(|rule| rule(&seen));
        let is_login = seen.path == "/identity/v3/auth/tokens" && seen.method == Method::POST;
        if is_login {
            return by_rule.unwrap_or_else(|| self.login(&seen));
        }
        let mut state = self.state();
        let reply = by_rule
            .or_else(|| state.queue.pop_front())
            .unwrap_or_else(|| {
                let text = format!("unscripted: {} {}", seen.method, seen.path);
                Reply::json(
                    501,
                    &json!({"error": {"message": text, "type": "Unscripted"}}),
                )
            });
        state.seen.push(seen);
        reply
    }
}

fn default_catalog(project: &str) -> Value {
    let service = |kind: &str, path: String| {
        json!({"type": kind, "name": kind, "endpoints": [
            {"interface": "public", "region_id": "RegionOne", "url": format!("http://cloud.test{path}")}
        ]})
    };
    json!([
        service("orchestration", format!("/heat/v1/{project}")),
        service("identity", "/identity".to_owned()),
        service("compute", "/compute/v2.1".to_owned()),
        service("network", "/network".to_owned()),
        service("image", "/image".to_owned()),
        service("load-balancer", "/load-balancer".to_owned()),
        service("key-manager", "/key-manager".to_owned()),
        service("block-storage", format!("/volume/v3/{project}")),
        service("baremetal", "/baremetal".to_owned()),
        service("placement", "/placement".to_owned()),
    ])
}

#[async_trait]
impl HttpService for Script {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let path = parts
            .uri
            .path_and_query()
            .map_or_else(String::new, ToString::to_string);
        let seen = Seen {
            method: parts.method,
            path,
            headers: parts.headers,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        };
        // Lets other tasks run between request and answer, as a network would.
        tokio::task::yield_now().await;
        match self.reply(seen) {
            Reply::Fail(kind) => Err(HttpError::new(kind, "scripted failure")),
            Reply::Answer(status, headers, body) => {
                let mut answer = http::Response::new(body);
                *answer.status_mut() =
                    StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_IMPLEMENTED);
                for (name, value) in headers {
                    let pair = (
                        http::HeaderName::try_from(name),
                        http::HeaderValue::try_from(value),
                    );
                    if let (Ok(name), Ok(value)) = pair {
                        answer.headers_mut().append(name, value);
                    }
                }
                Ok(answer)
            }
        }
    }
}
