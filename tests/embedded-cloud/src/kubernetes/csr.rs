//! CertificateSigningRequests: approval and signing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::{FromDer, ParsedExtension};

use super::answer::now;
use super::authority::Authority;

const CLIENT_KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const SERVING: &str = "kubernetes.io/kubelet-serving";

/// What a request says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Asked {
    common_name: String,
    organizations: Vec<String>,
    names: usize,
}

fn pem_of(csr: &Value) -> Option<String> {
    String::from_utf8(STANDARD.decode(csr["spec"]["request"].as_str()?).ok()?).ok()
}

fn read(pem: &str) -> Option<Asked> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).ok()?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    let subject = &request.certification_request_info.subject;
    let names = request
        .requested_extensions()
        .into_iter()
        .flatten()
        .map(|e| match e {
            ParsedExtension::SubjectAlternativeName(san) => san.general_names.len(),
            _ => 0,
        })
        .sum();
    Some(Asked {
        common_name: subject.iter_common_name().next()?.as_str().ok()?.to_owned(),
        organizations: subject
            .iter_organization()
            .filter_map(|o| Some(o.as_str().ok()?.to_owned()))
            .collect(),
        names,
    })
}

/// What is wrong with a new request, if anything: the check at creation.
pub(crate) fn problem(csr: &Value) -> Option<String> {
    let Some(pem) = pem_of(csr) else {
        return Some("spec.request is not base64 of PEM".into());
    };
    if read(&pem).is_none() {
        return Some("spec.request is not a certificate request with a common name".into());
    }
    if csr["spec"]["signerName"]
        .as_str()
        .is_none_or(|s| !s.contains('/'))
    {
        return Some("spec.signerName is required".into());
    }
    if csr["spec"]["usages"].as_array().is_none_or(Vec::is_empty) {
        return Some("spec.usages is required".into());
    }
    None
}

/// Approves by itself what kube-controller-manager would: a node's own client certificate, asked
/// for with the node's own identity.
pub(crate) fn approve_own_client(csr: &mut Value) {
    let spec = &csr["spec"];
    let Some(asked) = pem_of(csr).and_then(|p| read(&p)) else {
        return;
    };
    let groups = spec["groups"].as_array();
    let is_node = groups.is_some_and(|g| g.iter().any(|g| g == "system:nodes"));
    if spec["signerName"] == CLIENT_KUBELET
        && spec["username"] == asked.common_name.as_str()
        && is_node
        && asked.organizations == ["system:nodes"]
    {
        csr["status"]["conditions"] = json!([{
            "type": "Approved", "status": "True", "reason": "AutoApproved", "lastUpdateTime": now(),
            "message": "Auto approving self kubelet client certificate after SubjectAccessReview.",
        }]);
    }
}

fn has(csr: &Value, kind: &str) -> bool {
    let list = csr["status"]["conditions"].as_array();
    list.is_some_and(|l| {
        l.iter()
            .any(|c| c["type"] == kind && c["status"] != "False")
    })
}

/// Signs an approved request; a request the signer refuses gets the condition Failed.
pub(crate) fn sign_if_approved(csr: &mut Value, authority: &Authority) {
    if csr["status"]["certificate"].is_string()
        || !has(csr, "Approved")
        || has(csr, "Denied")
        || has(csr, "Failed")
    {
        return;
    }
    let Some(pem) = pem_of(csr) else { return };
    let Some(asked) = read(&pem) else { return };
    let usages: Vec<&str> = csr["spec"]["usages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let node =
        asked.common_name.starts_with("system:node:") && asked.organizations == ["system:nodes"];
    let signer = csr["spec"]["signerName"].as_str().unwrap_or_default();
    let (server, refusal) = match signer {
        CLIENT_KUBELET if !node => (false, Some("subject is not a node's")),
        CLIENT_KUBELET | CLIENT if !usages.contains(&"client auth") => {
            (false, Some("usages lack client auth"))
        }
        CLIENT_KUBELET | CLIENT => (false, None),
        SERVING if !node => (true, Some("subject is not a node's")),
        SERVING if asked.names == 0 => (true, Some("DNS or IP subjectAltName is required")),
        SERVING if !usages.contains(&"server auth") => (true, Some("usages lack server auth")),
        SERVING => (true, None),
        _ => return,
    };
    let seconds = csr["spec"]["expirationSeconds"].as_i64();
    let signed = match refusal {
        Some(why) => Err(why.to_owned()),
        None => authority.sign(&pem, server, seconds),
    };
    match signed {
        Ok(certificate) => csr["status"]["certificate"] = STANDARD.encode(certificate).into(),
        Err(why) => {
            let failed = json!({
                "type": "Failed", "status": "True", "reason": "SignerValidationFailure",
                "message": why, "lastUpdateTime": now(),
            });
            if let Some(list) = csr["status"]["conditions"].as_array_mut() {
                list.push(failed);
            }
        }
    }
}

/// The first certificate of a signed request.
#[cfg(test)]
fn issued(csr: &Value) -> Option<rustls_pki_types::CertificateDer<'static>> {
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject as _;
    let pem = STANDARD
        .decode(csr["status"]["certificate"].as_str()?)
        .ok()?;
    CertificateDer::from_pem_slice(&pem).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::sample;

    fn request(signer: &str, user: &str, name: &str, san: &[&str], usage: &str) -> Value {
        let (pem, _) = sample::csr(name, "system:nodes", san);
        json!({"metadata": {"name": "c"}, "spec": {
            "request": STANDARD.encode(pem), "signerName": signer, "username": user,
            "groups": ["system:nodes", "system:authenticated"], "usages": ["digital signature", usage]}})
    }

    #[test]
    fn only_the_own_name_is_approved() {
        let mut own = request(
            CLIENT_KUBELET,
            "system:node:a",
            "system:node:a",
            &[],
            "client auth",
        );
        approve_own_client(&mut own);
        assert!(has(&own, "Approved"));
        let mut other = request(
            CLIENT_KUBELET,
            "system:node:a",
            "system:node:b",
            &[],
            "client auth",
        );
        approve_own_client(&mut other);
        assert!(!has(&other, "Approved"));
    }

    #[test]
    fn a_serving_request_waits_for_approval_and_needs_names() {
        let ca = sample::ca("k");
        let authority = Authority::new(&ca.0, &ca.1).unwrap();
        let mut csr = request(
            SERVING,
            "system:node:a",
            "system:node:a",
            &["a"],
            "server auth",
        );
        approve_own_client(&mut csr);
        sign_if_approved(&mut csr, &authority);
        assert!(issued(&csr).is_none());
        csr["status"]["conditions"] = json!([{"type": "Approved", "status": "True"}]);
        sign_if_approved(&mut csr, &authority);
        assert!(issued(&csr).is_some());
        let mut bare = request(
            SERVING,
            "system:node:a",
            "system:node:a",
            &[],
            "server auth",
        );
        bare["status"]["conditions"] = json!([{"type": "Approved", "status": "True"}]);
        sign_if_approved(&mut bare, &authority);
        assert!(has(&bare, "Failed"));
    }
}
