//! Whether a cluster's API is there.

use http::Method;
use serde::Deserialize;

use super::client::KubernetesClient;
use super::error::KubernetesError;

/// What `/version` says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    /// `vX.Y.Z`.
    pub git_version: String,
    /// Major number.
    #[serde(default)]
    pub major: String,
    /// Minor number; some builds append a `+`.
    #[serde(default)]
    pub minor: String,
}

/// What `/readyz` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// The API serves.
    Ready,
    /// The API answers but is not ready; the text names the failed checks.
    NotReady(String),
}

impl KubernetesClient {
    /// The version of the API server that answers.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn version(&self) -> Result<ServerVersion, KubernetesError> {
        self.required("get /version", Method::GET, "/version", &[], None)
            .await
    }

    /// Whether the API server that answers is ready.
    ///
    /// # Errors
    /// [`KubernetesError::Unreachable`], [`KubernetesError::Unauthorized`] and [`KubernetesError::Forbidden`]; other
    /// answers are [`Readiness::NotReady`].
    pub async fn readiness(&self) -> Result<Readiness, KubernetesError> {
        let operation = "get /readyz";
        let response = self
            .send(operation, Method::GET, "/readyz", &[], None)
            .await?;
        if response.status().is_success() {
            return Ok(Readiness::Ready);
        }
        match super::client::check(operation, &response) {
            Err(
                error @ (KubernetesError::Unauthorized { .. } | KubernetesError::Forbidden { .. }),
            ) => Err(error),
            _ => Ok(Readiness::NotReady(failed_checks(response.body()))),
        }
    }
}

/// The failed checks of a verbose answer, or its first line.
fn failed_checks(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let failed: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("[-]"))
        .collect();
    let words = if failed.is_empty() {
        text.lines().take(1).collect()
    } else {
        failed
    };
    words.join("; ").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;

    #[tokio::test]
    async fn ready_not_ready_forbidden_and_unreachable_are_told_apart() {
        let script = Script::new([
            (200, "ok"),
            (500, "[+]ping ok\n[-]etcd failed\nreadyz check failed"),
            (403, "{}"),
        ]);
        let client = script.client();
        assert_eq!(client.readiness().await.unwrap(), Readiness::Ready);
        assert_eq!(
            client.readiness().await.unwrap(),
            Readiness::NotReady("[-]etcd failed".into())
        );
        assert!(matches!(
            client.readiness().await.unwrap_err(),
            KubernetesError::Forbidden { .. }
        ));
        let error = client.readiness().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "get /readyz: 10.0.0.5:6443 is not reached: connection refused"
        );
    }

    #[tokio::test]
    async fn version() {
        let script = Script::new([(200, r#"{"major":"1","minor":"36","gitVersion":"v1.36.1"}"#)]);
        assert_eq!(
            script.client().version().await.unwrap().git_version,
            "v1.36.1"
        );
    }
}
