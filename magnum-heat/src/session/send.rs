//! Sending a request: token, endpoint, repeats, redirects.

use bytes::Bytes;
use http::{Method, StatusCode, header};
use secrecy::ExposeSecret;
use tracing::Instrument;
use url::Url;

use super::{Session, measure::Call, token::Token};
use crate::{
    Error, Result,
    fault::ApiError,
    request::{Answer, Body, Request},
};

/// Redirects followed for one call.
const MAX_REDIRECTS: usize = 3;

/// How one try ended.
enum Tried {
    Answered(http::Response<Bytes>),
    /// The service refused the token.
    Refused(http::Response<Bytes>),
}

impl Session {
    /// Sends a request and decodes its answer.
    ///
    /// # Errors
    /// [`Error::Api`] when the service answered with an error, [`Error::Http`] when no answer came,
    /// [`Error::Unauthorized`] when a fresh token was refused, [`Error::Invalid`] when the request is wrong and was not
    /// sent, and those of the catalog.
    pub async fn send<R: Request>(&self, request: R) -> Result<R::Output> {
        self.send_ref(&request).await
    }

    /// As [`Session::send`], for a request that is used again.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub async fn send_ref<R: Request>(&self, request: &R) -> Result<R::Output> {
        let answer = self.answer(request).await?;
        request.decode(answer)
    }

    /// Sends a request and gives its successful answer as it came.
    pub(crate) async fn answer<R: Request>(&self, request: &R) -> Result<Answer> {
        let span = tracing::debug_span!(
            "openstack",
            service = R::SERVICE.name(),
            operation = R::OPERATION,
            status = tracing::field::Empty,
            request_id = tracing::field::Empty,
        );
        let call = Call::begin(R::SERVICE, R::OPERATION);
        let performed = Box::pin(self.perform(request, &call)).instrument(span);
        let result = match self.deadline {
            None => performed.await,
            Some(waited) => {
                tokio::time::timeout(waited, performed)
                    .await
                    .unwrap_or(Err(Error::Deadline {
                        operation: R::OPERATION,
                        waited,
                    }))
            }
        };
        call.end(result.as_ref().map(|answer| answer.status));
        result
    }

    async fn perform<R: Request>(&self, request: &R, call: &Call) -> Result<Answer> {
        let path = request.path();
        if path.is_unusable() {
            return Err(Error::invalid(
                R::OPERATION,
                format!("no id or name in the path {path}"),
            ));
        }
        let body = request.body()?;
        let gate = self.gate(R::SERVICE);
        let started = tokio::time::Instant::now();
        let (mut failed, mut refused, mut lost) = (0, None, false);
        // A delete whose answer was lost has done its work when the second try finds nothing.
        let repeats_delete = R::METHOD == Method::DELETE && R::IDEMPOTENT;
        loop {
            let token = self.token(refused).await?;
            let result = {
                let _permit = gate.acquire().await;
                self.attempt(request, &body, &token).await
            };
            let gone_before = |answer: &http::Response<Bytes>| {
                lost && repeats_delete && matches!(answer.status().as_u16(), 404 | 410)
            };
            let error = match result {
                Ok(Tried::Answered(answer))
                    if request.accepts(answer.status()) || gone_before(&answer) =>
                {
                    let (parts, body) = answer.into_parts();
                    let answer = Answer {
                        operation: R::OPERATION,
                        status: parts.status,
                        headers: parts.headers,
                        body,
                    };
                    record(answer.status, answer.request_id().as_deref());
                    return Ok(answer);
                }
                Ok(Tried::Answered(answer)) => {
                    let api =
                        ApiError::decode(R::OPERATION, R::SERVICE, &answer, self.inner.clock.now());
                    record(api.status, api.request_id.as_deref());
                    if api.status == StatusCode::NOT_ACCEPTABLE
                        && let Some(error) = self.missing_microversion(request).await
                    {
                        return Err(error);
                    }
                    Error::from(api)
                }
                Ok(Tried::Refused(answer)) if refused.is_some() => {
                    record(
                        StatusCode::UNAUTHORIZED,
                        crate::fault::request_id(answer.headers()).as_deref(),
                    );
                    return Err(Error::Unauthorized {
                        service: R::SERVICE,
                        operation: R::OPERATION,
                        request_id: crate::fault::request_id(answer.headers()),
                    });
                }
                Ok(Tried::Refused(_)) => {
                    refused = Some(token.generation);
                    call.repeat("refused token");
                    continue;
                }
                Err(error) => error,
            };
            failed += 1;
            lost |= error.may_have_happened();
            let Some(asked) = repeatable(&error, R::IDEMPOTENT) else {
                return Err(error);
            };
            match self
                .inner
                .retry
                .next(failed, started.elapsed(), asked, &self.inner.pauses)
            {
                Some(pause) => {
                    tracing::debug!(%error, failed, ?pause, "will be tried again");
                    call.repeat(if error.status().is_some() {
                        "overloaded"
                    } else {
                        "no answer"
                    });
                    tokio::time::sleep(pause).await;
                }
                None => return Err(error),
            }
        }
    }

    /// One try, redirects included.
    async fn attempt<R: Request>(&self, request: &R, body: &Body, token: &Token) -> Result<Tried> {
        let endpoint = self.endpoint_of(&token.info, R::SERVICE)?;
        let microversion = self.microversion_for(request).await?;
        let mut url = endpoint.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(request.path().segments());
        }
        let query = request.query();
        if !query.is_empty() {
            url.query_pairs_mut()
                .extend_pairs(query.iter().map(|(k, v)| (k.as_ref(), v.as_str())));
        }
        for _ in 0..=MAX_REDIRECTS {
            let http = http_request(request, body, token, &url, microversion.as_deref())?;
            let answer = self
                .inner
                .http
                .call(http)
                .await
                .map_err(|source| Error::Http {
                    operation: R::OPERATION,
                    source,
                })?;
            if answer.status() == StatusCode::UNAUTHORIZED {
                return Ok(Tried::Refused(answer));
            }
            let is_redirect = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            match answer.headers().get(header::LOCATION) {
                Some(location) if is_redirect => {
                    url = follow(R::OPERATION, &endpoint, &url, location)?;
                }
                _ => return Ok(Tried::Answered(answer)),
            }
        }
        Err(Error::Redirect {
            operation: R::OPERATION,
            location: shown(&url),
            reason: "too many redirects",
        })
    }
}

fn http_request<R: Request>(
    request: &R,
    body: &Body,
    token: &Token,
    url: &Url,
    microversion: Option<&str>,
) -> Result<http::Request<Bytes>> {
    let invalid = |e: http::Error| Error::invalid(R::OPERATION, e.to_string());
    let mut builder = http::Request::builder()
        .method(R::METHOD)
        .uri(url.as_str())
        .header("X-Auth-Token", token.secret.expose_secret())
        .header(header::ACCEPT, "application/json");
    if let Some(version) = microversion {
        let version = format!("{} {version}", R::SERVICE.microversion_name());
        builder = builder.header("OpenStack-API-Version", version);
    }
    let content = match body {
        Body::Empty => Bytes::new(),
        Body::Json(content) => {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
            content.clone()
        }
        Body::Raw(media, content) => {
            builder = builder.header(header::CONTENT_TYPE, *media);
            content.clone()
        }
    };
    let mut http = builder.body(content).map_err(invalid)?;
    http.headers_mut().extend(request.headers());
    if let Some(value) = http.headers_mut().get_mut("X-Auth-Token") {
        value.set_sensitive(true);
    }
    Ok(http)
}

/// Notes status and request id in the call's span.
fn record(status: StatusCode, request_id: Option<&str>) {
    let span = tracing::Span::current();
    span.record("status", status.as_u16());
    if let Some(id) = request_id {
        span.record("request_id", id);
    }
}

/// `Some(pause asked for)` when the call may be repeated after this error.
fn repeatable(error: &Error, idempotent: bool) -> Option<Option<std::time::Duration>> {
    match error {
        Error::Http { source, .. } => {
            (source.is_transient() && (idempotent || source.never_sent())).then_some(None)
        }
        Error::Api(api) => {
            let overloaded = matches!(api.status.as_u16(), 408 | 429 | 502 | 503 | 504);
            (overloaded && idempotent).then_some(api.retry_after)
        }
        _ => None,
    }
}

/// The next address: same origin and below the same endpoint only, so that no token goes elsewhere. The method stays
/// the same, as Heat means it: its by-name addresses answer 302 to every method.
fn follow(
    operation: &'static str,
    endpoint: &Url,
    from: &Url,
    location: &http::HeaderValue,
) -> Result<Url> {
    let refused = |location: String, reason| {
        Err(Error::Redirect {
            operation,
            location,
            reason,
        })
    };
    let Some(mut next) = location.to_str().ok().and_then(|text| from.join(text).ok()) else {
        return refused("?".to_owned(), "the address cannot be read");
    };
    if next.origin() != from.origin() {
        return refused(shown(&next), "it leads to another origin");
    }
    // The version may be spelled otherwise, the first part of the path may not.
    let first = |url: &Url| {
        url.path_segments()
            .and_then(|mut s| s.next().map(str::to_owned))
    };
    if first(&next) != first(endpoint) {
        return refused(shown(&next), "it leads out of the service");
    }
    if next.query().is_none() {
        next.set_query(from.query());
    }
    Ok(next)
}

fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}
