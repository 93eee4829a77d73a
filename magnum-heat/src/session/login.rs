//! Logging in: one at a time, shared by all who wait.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::{Method, header};
use secrecy::SecretString;
use serde_json::json;

use super::{Session, TokenInfo, measure, token::Token};
use crate::{
    Error, Result, auth::AuthContext, error::SharedError, fault::ApiError, request::ServiceType,
};

const OPERATION: &str = "log in";
/// How long an early renewal that failed is not tried again.
const EARLY_RETRY: TimeDelta = TimeDelta::seconds(30);

/// The present token and the lock under which it is renewed.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    state: Mutex<State>,
    login: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Arc<Token>>,
    /// Logins tried so far.
    tries: u64,
    /// How the last try failed, if it did.
    failure: Option<SharedError>,
    /// Before this time no early renewal is tried.
    early_not_before: Option<DateTime<Utc>>,
}

impl Tokens {
    pub(super) fn forget(&self) {
        self.state().token = None;
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// The present token; renewed when it is missing, over, or the refused one of generation `refused`.
    pub(super) async fn token(&self, refused: Option<u64>) -> Result<Arc<Token>> {
        let tokens = &self.inner.tokens;
        let now = self.inner.clock.now();
        let (current, tries) = {
            let state = tokens.state();
            (usable(&state, refused, now), state.tries)
        };
        match current {
            Some(token) if now < token.renew_at || early_blocked(&tokens.state(), now) => {
                return Ok(token);
            }
            // Still good, but old: whoever gets the lock renews, all others go on with it.
            Some(token) => {
                let Ok(_guard) = tokens.login.try_lock() else {
                    return Ok(token);
                };
                if tokens.state().tries == tries {
                    match self.login_now().await {
                        Ok(fresh) => return Ok(fresh),
                        Err(error) => {
                            tracing::warn!(%error, "early token renewal failed; the present token is still used");
                            tokens.state().early_not_before = Some(now + EARLY_RETRY);
                        }
                    }
                }
                return Ok(token);
            }
            None => {}
        }
        let _guard = tokens.login.lock().await;
        {
            let state = tokens.state();
            if let Some(token) = usable(&state, refused, self.inner.clock.now()) {
                return Ok(token);
            }
            // Another waiter tried meanwhile and failed: its failure is ours too.
            if let (true, Some(failure)) = (state.tries > tries, &state.failure) {
                return Err((**failure).clone());
            }
        }
        self.login_now().await
    }

    /// Logs in, with repeats while Keystone is overloaded or unreachable. The caller holds the lock.
    async fn login_now(&self) -> Result<Arc<Token>> {
        let result = self.repeated(|| self.login_once()).await;
        measure::login(result.is_ok());
        let mut state = self.inner.tokens.state();
        state.tries += 1;
        match result {
            Ok((secret, info)) => {
                // Counted from our own clock, so that a clock that differs from Keystone's does not matter.
                let (now, lifetime) = (self.inner.clock.now(), info.expires_at - info.issued_at);
                let ends_at = now + lifetime;
                let renew_at = (now + lifetime * 4 / 5).min(ends_at - TimeDelta::seconds(30));
                let token = Arc::new(Token {
                    secret,
                    info: Arc::new(info),
                    generation: state.tries,
                    renew_at,
                    ends_at,
                });
                state.token = Some(Arc::clone(&token));
                state.failure = None;
                state.early_not_before = None;
                tracing::debug!(generation = token.generation, expires_at = %token.info.expires_at, "logged in");
                Ok(token)
            }
            Err(error) => {
                state.failure = Some(Arc::new(error.clone()));
                Err(error)
            }
        }
    }

    async fn login_once(&self) -> Result<(SecretString, TokenInfo)> {
        let cloud = &self.inner.cloud;
        let cx = AuthContext::new(self.inner.http.as_ref(), &cloud.auth_url);
        let identity = self.inner.method.identity(cx).await?;
        let mut auth = json!({"identity": identity.value()});
        if let (false, Some(scope)) = (identity.is_scoped(), cloud.scope.to_json()) {
            auth["scope"] = scope;
        }
        let body = serde_json::to_vec(&json!({"auth": auth}))
            .map_err(|e| Error::invalid(OPERATION, e.to_string()))?;
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(cloud.auth_url.join(&["auth", "tokens"]).as_str())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Bytes::from(body))
            .map_err(|e| Error::invalid(OPERATION, e.to_string()))?;
        let answer = self
            .inner
            .http
            .call(request)
            .await
            .map_err(|source| Error::Http {
                operation: OPERATION,
                source,
            })?;
        if !answer.status().is_success() {
            let source = ApiError::decode(
                OPERATION,
                ServiceType::Identity,
                &answer,
                self.inner.clock.now(),
            );
            return Err(Error::Login {
                auth_url: cloud.auth_url.to_string(),
                source: Box::new(source),
            });
        }
        decode(&answer)
    }
}

fn decode(answer: &http::Response<Bytes>) -> Result<(SecretString, TokenInfo)> {
    let unexpected = |message: String| Error::Decode {
        operation: OPERATION,
        message,
        request_id: crate::fault::request_id(answer.headers()),
    };
    let secret = answer
        .headers()
        .get("x-subject-token")
        .and_then(|v| v.to_str().ok())
        .filter(|token| !token.is_empty())
        .ok_or_else(|| unexpected("no X-Subject-Token".to_owned()))?;
    let info = crate::request::Answer {
        operation: OPERATION,
        status: answer.status(),
        headers: answer.headers().clone(),
        body: answer.body().clone(),
    }
    .json_at("token")?;
    Ok((SecretString::from(secret), info))
}

fn usable(state: &State, refused: Option<u64>, now: DateTime<Utc>) -> Option<Arc<Token>> {
    let token = state.token.as_ref()?;
    let refused = refused.is_some_and(|generation| token.generation <= generation);
    (!refused && now < token.ends_at).then(|| Arc::clone(token))
}

fn early_blocked(state: &State, now: DateTime<Utc>) -> bool {
    state.early_not_before.is_some_and(|at| now < at)
}
