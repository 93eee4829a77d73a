//! An HTTP proxy that does what overloaded and broken ones do.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use magnum_heat::http::{HttpConfig, HttpService, ReqwestService};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

use crate::Failure;

/// What is done to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Passed on and answered.
    Passed,
    /// The connection is closed; the service never saw the request.
    ResetBefore,
    /// The connection is closed after the service did what was asked; the answer is lost.
    ResetAfter,
    /// 502 without passing it on.
    BadGatewayBefore,
    /// 502 instead of the service's answer.
    BadGatewayAfter,
    /// 503 with `Retry-After: 1`, without passing it on.
    Overloaded,
    /// Passed on; the answer's body comes in pieces.
    Slow,
}

impl Fate {
    /// Resets, 502, 503 and slow bodies, a tenth each; of the first two, half after the service has acted.
    fn draw(random: &mut SmallRng) -> Self {
        match random.random_range(0..100) {
            0..5 => Self::ResetBefore,
            5..10 => Self::ResetAfter,
            10..15 => Self::BadGatewayBefore,
            15..20 => Self::BadGatewayAfter,
            20..30 => Self::Overloaded,
            30..40 => Self::Slow,
            _ => Self::Passed,
        }
    }

    const fn is_passed_on(self) -> bool {
        matches!(
            self,
            Self::Passed | Self::ResetAfter | Self::BadGatewayAfter | Self::Slow
        )
    }
}

/// A method, a path without query, and what became of it.
pub type Passage = (Method, String, Fate);

/// A flaky proxy for plain HTTP, on the loopback interface. It ends when it is dropped.
#[derive(Debug)]
pub struct FlakyProxy {
    url: Url,
    passages: Arc<Mutex<Vec<Passage>>>,
    task: JoinHandle<()>,
}

impl Drop for FlakyProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What its connections share.
#[derive(Debug)]
struct Shared {
    random: Mutex<SmallRng>,
    passages: Arc<Mutex<Vec<Passage>>>,
    onward: ReqwestService,
}

impl FlakyProxy {
    /// Starts one; the seed decides the row of fates.
    ///
    /// # Errors
    /// Where it cannot listen.
    pub async fn start(seed: u64) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?).parse()?;
        let passages = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new(Shared {
            random: Mutex::new(SmallRng::seed_from_u64(seed)),
            passages: Arc::clone(&passages),
            onward: ReqwestService::new(HttpConfig::default())?,
        });
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let service = service_fn(|request| shared.pass(request));
                    // A fate that resets the connection ends here in an error.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Ok(Self {
            url,
            passages,
            task,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// What went through so far, in the order of its coming.
    #[must_use]
    pub fn passages(&self) -> Vec<Passage> {
        self.passages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

type Body = BoxBody<Bytes, Infallible>;

impl Shared {
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
        let fate = Fate::draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner));
        let passage = (
            request.method().clone(),
            request.uri().path().to_owned(),
            fate,
        );
        self.passages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(passage);
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let answer = if fate.is_passed_on() {
            for hop in ["connection", "proxy-connection", "transfer-encoding"] {
                parts.headers.remove(hop);
            }
            Some(self.onward.call(Request::from_parts(parts, body)).await?)
        } else {
            None
        };
        match (fate, answer) {
            (Fate::Passed, Some(answer)) => Ok(whole(answer)),
            (Fate::Slow, Some(answer)) => Ok(in_pieces(answer)),
            (Fate::ResetBefore | Fate::ResetAfter, _) => Err("reset".into()),
            (Fate::Overloaded, _) => {
                let mut answer = said(StatusCode::SERVICE_UNAVAILABLE);
                let after = http::HeaderValue::from_static("1");
                answer
                    .headers_mut()
                    .insert(http::header::RETRY_AFTER, after);
                Ok(answer)
            }
            _ => Ok(said(StatusCode::BAD_GATEWAY)),
        }
    }
}

/// What a proxy says for itself.
fn said(status: StatusCode) -> Response<Body> {
    let text = "<html><body><h1>the proxy says so</h1></body></html>";
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed());
    *answer.status_mut() = status;
    answer
}

fn stripped(answer: Response<Bytes>) -> (http::response::Parts, Bytes) {
    let (mut parts, body) = answer.into_parts();
    for hop in ["connection", "transfer-encoding", "content-length"] {
        parts.headers.remove(hop);
    }
    (parts, body)
}

fn whole(answer: Response<Bytes>) -> Response<Body> {
    let (parts, body) = stripped(answer);
    Response::from_parts(parts, Full::new(body).boxed())
}

/// In ten pieces, a twentieth of a second apart.
fn in_pieces(answer: Response<Bytes>) -> Response<Body> {
    let (parts, body) = stripped(answer);
    let size = body.len().div_ceil(10).max(1);
    let pieces: Vec<Bytes> = body.chunks(size).map(Bytes::copy_from_slice).collect();
    let slow = futures::stream::iter(pieces).then(|piece| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, Infallible>(Frame::data(piece))
    });
    let status = parts.status;
    let body = if status == StatusCode::NO_CONTENT {
        Full::new(Bytes::new()).boxed()
    } else {
        http_body_util::BodyExt::boxed(StreamBody::new(slow))
    };
    Response::from_parts(parts, body)
}
