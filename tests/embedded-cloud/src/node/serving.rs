//! The kubelet's request for its serving certificate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::node_api::NodeApi;
use super::state::NodeRecord;

/// Posts a `kubernetes.io/kubelet-serving` request for the node's name and address.
pub(crate) async fn post_serving_request(api: &NodeApi, record: &NodeRecord) -> bool {
    let Some(pem) = request(record) else {
        return false;
    };
    let csr = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {"request": STANDARD.encode(pem), "signerName": "kubernetes.io/kubelet-serving",
            "usages": ["digital signature", "server auth"]}});
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    matches!(
        api.call(http::Method::POST, path, Some(&csr)).await,
        Ok((201, _))
    )
}

fn request(record: &NodeRecord) -> Option<String> {
    let names = vec![record.node_name.clone(), record.address?.to_string()];
    let mut params = rcgen::CertificateParams::new(names).ok()?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(
        rcgen::DnType::CommonName,
        format!("system:node:{}", record.node_name),
    );
    let key = rcgen::KeyPair::generate().ok()?;
    params.serialize_request(&key).ok()?.pem().ok()
}
