//! A revoked token.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use http::HeaderValue;
use magnum_heat::{
    Session,
    http::{HttpError, HttpService},
    stack::ListStacks,
};

use super::project::*;
/// Replaces the first token it sees by an invalid one, as if it had been revoked, and counts logins.
#[derive(Debug)]
struct Revoking {
    inner: Arc<dyn HttpService>,
    revoked: Mutex<Option<HeaderValue>>,
    logins: AtomicUsize,
}

#[async_trait::async_trait]
impl HttpService for Revoking {
    async fn call(
        &self,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        if request.uri().path().ends_with("/auth/tokens") {
            self.logins.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(token) = request.headers_mut().get_mut("x-auth-token") {
            let mut revoked = self.revoked.lock().unwrap();
            if revoked.get_or_insert_with(|| token.clone()) == token {
                *token = HeaderValue::from_static("invalid");
            }
        }
        self.inner.call(request).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn au_01_a_revoked_token_is_replaced_once_by_fifty_calls() {
    let project = Project::new("heat-token").await;
    let revoking = Arc::new(Revoking {
        inner: project.session.http(),
        revoked: Mutex::new(None),
        logins: AtomicUsize::new(0),
    });
    let cloud = project.session.cloud().clone();
    let s = Session::builder(cloud)
        .http(revoking.clone())
        .connect()
        .await
        .unwrap();
    let results = futures::future::join_all((0..50).map(|_| s.send(ListStacks::new()))).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(revoking.logins.load(Ordering::SeqCst), 2);
    project.remove().await;
}
