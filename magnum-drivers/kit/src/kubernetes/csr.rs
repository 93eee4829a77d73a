//! Certificate signing requests in the API.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::client::{KubernetesClient, Media};
use super::error::KubernetesError;
use super::object::{Metadata, path_segment};

const PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// A `CertificateSigningRequest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningRequest {
    /// Name of the object.
    pub name: String,
    /// Unique id of the object.
    pub uid: String,
    /// Who shall sign.
    pub signer: String,
    /// Who asked.
    pub username: String,
    /// Groups of who asked.
    pub groups: Vec<String>,
    /// Usages asked for.
    pub usages: Vec<String>,
    /// The request, PEM; empty when it could not be decoded.
    pub request: String,
    /// Whether it is approved, denied or failed already.
    pub decided: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRequest {
    metadata: Metadata,
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawSpec {
    signer_name: String,
    username: String,
    groups: Vec<String>,
    usages: Vec<String>,
    request: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawStatus {
    conditions: Vec<Value>,
}

impl<'de> Deserialize<'de> for SigningRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawRequest::deserialize(deserializer)?;
        let request = STANDARD
            .decode(raw.spec.request)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(Self {
            name: raw.metadata.name,
            uid: raw.metadata.uid,
            signer: raw.spec.signer_name,
            username: raw.spec.username,
            groups: raw.spec.groups,
            usages: raw.spec.usages,
            request: request.unwrap_or_default(),
            decided: !raw.status.conditions.is_empty(),
        })
    }
}

impl KubernetesClient {
    /// All signing requests.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn signing_requests(&self) -> Result<Vec<SigningRequest>, KubernetesError> {
        self.list_all("list certificate signing requests", PATH, &[])
            .await
    }

    /// Approves a request, if it still is the one that was judged: the object is read again and compared.
    /// `false` when it is gone, another one or decided by now.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn approve(&self, request: &SigningRequest) -> Result<bool, KubernetesError> {
        let operation = format!("approve certificate signing request {}", request.name);
        let path = format!("{PATH}/{}", path_segment(&request.name)?);
        let Some(mut object) = self
            .optional::<Value>(&operation, Method::GET, &path, &[], None)
            .await?
        else {
            return Ok(false);
        };
        let current =
            SigningRequest::deserialize(&object).map_err(|error| KubernetesError::Unreadable {
                operation: operation.clone(),
                reason: error.to_string(),
            })?;
        if current != *request {
            return Ok(false);
        }
        object["status"] = json!({"conditions": [{
            "type": "Approved",
            "status": "True",
            "reason": "MagnumMember",
            "message": "The names belong to the node that asks, and the node was made by us.",
        }]});
        let path = format!("{path}/approval");
        let answer = self
            .optional::<Value>(
                &operation,
                Method::PUT,
                &path,
                &[],
                Some((Media::Json, &object)),
            )
            .await;
        match answer {
            Ok(answer) => Ok(answer.is_some()),
            Err(KubernetesError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;

    const CSR: &str = r#"{"metadata":{"name":"csr-1","uid":"u","resourceVersion":"3"},"spec":{"signerName":"kubernetes.io/kubelet-serving",
        "username":"system:node:n","groups":["system:nodes"],"usages":["server auth"],"request":"UEVN"}}"#;

    #[tokio::test]
    async fn what_was_judged_is_approved_under_its_version() {
        let request: SigningRequest = serde_json::from_str(CSR).unwrap();
        assert_eq!((request.request.as_str(), request.decided), ("PEM", false));
        let script = Script::new([(200, CSR), (200, "{}")]);
        assert!(script.client().approve(&request).await.unwrap());
        let put = &script.requests()[1];
        assert!(put.starts_with("PUT https://10.0.0.5:6443/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1/approval"));
        assert!(put.contains(r#""resourceVersion":"3""#) && put.contains(r#""type":"Approved""#));
    }

    #[tokio::test]
    async fn a_request_that_was_exchanged_is_not_approved() {
        let mut request: SigningRequest = serde_json::from_str(CSR).unwrap();
        request.uid = "other".into();
        let script = Script::new([(200, CSR), (404, "{}")]);
        assert!(!script.client().approve(&request).await.unwrap());
        assert!(!script.client().approve(&request).await.unwrap());
        assert_eq!(script.requests().len(), 2);
    }
}
