//! What kubeadm would find wrong with certificates and keys.

use rcgen::{KeyPair, PublicKeyData as _, SubjectPublicKeyInfo};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::certificate::X509Certificate;

use super::kubeconfig::Kubeconfig;
use crate::kubernetes::holds_key;

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|e| format!("not PEM: {e}"))?;
    if all.is_empty() {
        return Err("holds no certificate".into());
    }
    Ok(all)
}

fn read(der: &CertificateDer<'static>) -> Result<X509CertificateOwned, String> {
    let (_, c) =
        x509_parser::parse_x509_certificate(der).map_err(|e| format!("not a certificate: {e}"))?;
    Ok(X509CertificateOwned::of(&c))
}

/// What we look at of a certificate.
struct X509CertificateOwned {
    is_ca: bool,
    not_before: i64,
    not_after: i64,
    common_name: String,
    organizations: Vec<String>,
    client_auth: bool,
}

impl X509CertificateOwned {
    fn of(c: &X509Certificate<'_>) -> Self {
        let text = |s: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            s.as_str().unwrap_or_default().to_owned()
        };
        Self {
            is_ca: c.is_ca(),
            not_before: c.validity().not_before.timestamp(),
            not_after: c.validity().not_after.timestamp(),
            common_name: c
                .subject()
                .iter_common_name()
                .next()
                .map(text)
                .unwrap_or_default(),
            organizations: c.subject().iter_organization().map(text).collect(),
            client_auth: c
                .extended_key_usage()
                .ok()
                .flatten()
                .is_some_and(|u| u.value.client_auth || u.value.any),
        }
    }

    fn check_time(&self, now: i64) -> Result<(), String> {
        if now < self.not_before {
            return Err(format!("is not valid before {}", self.not_before));
        }
        if now > self.not_after {
            return Err(format!("has expired at {}", self.not_after));
        }
        Ok(())
    }
}

/// A CA pair: the certificate is a CA's, valid now, and the key is its own.
pub(crate) fn check_ca(certificate: &str, key: &str, now: i64) -> Result<(), String> {
    let key = KeyPair::from_pem(key).map_err(|e| format!("the key is not a private key: {e}"))?;
    let all = certificates(certificate)?;
    let mine = all
        .iter()
        .find(|c| holds_key(c, &key))
        .ok_or("certificate and key do not belong together")?;
    let parsed = read(mine)?;
    if !parsed.is_ca {
        return Err("the certificate is not a CA".into());
    }
    parsed.check_time(now)
}

/// `sa.pub` is the public half of `sa.key`.
pub(crate) fn check_service_account(key: &str, public: &str) -> Result<(), String> {
    let key = KeyPair::from_pem(key).map_err(|e| format!("sa.key is not a private key: {e}"))?;
    let public = SubjectPublicKeyInfo::from_pem(public)
        .map_err(|e| format!("sa.pub is not a public key: {e}"))?;
    if key.subject_public_key_info() != public.subject_public_key_info() {
        return Err("sa.pub is not the public half of sa.key".into());
    }
    Ok(())
}

/// The discovery credential is this node's, complete and valid.
pub(crate) fn check_credential(config: &Kubeconfig, node: &str, now: i64) -> Result<(), String> {
    certificates(&config.ca_pem).map_err(|e| format!("certificate authority {e}"))?;
    let key = KeyPair::from_pem(&config.key_pem).map_err(|e| format!("client key: {e}"))?;
    let chain =
        certificates(&config.certificate_pem).map_err(|e| format!("client certificate {e}"))?;
    if !holds_key(&chain[0], &key) {
        return Err("client certificate and key do not belong together".into());
    }
    let leaf = read(&chain[0])?;
    let wanted = format!("system:node:{node}");
    if leaf.common_name != wanted {
        return Err(format!(
            "client certificate is for {:?}, not {wanted:?}",
            leaf.common_name
        ));
    }
    if leaf.organizations != ["system:nodes"] {
        return Err(format!(
            "client certificate has groups {:?}, not system:nodes",
            leaf.organizations
        ));
    }
    if !leaf.client_auth {
        return Err("client certificate is not for client authentication".into());
    }
    leaf.check_time(now)
        .map_err(|e| format!("client certificate {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::{Authority, sample};

    #[test]
    fn pairs_must_fit() {
        let now = chrono::Utc::now().timestamp();
        let (a, b) = (sample::ca("a"), sample::ca("b"));
        check_ca(&a.0, &a.1, now).unwrap();
        assert!(
            check_ca(&a.0, &b.1, now)
                .unwrap_err()
                .contains("belong together")
        );
        assert!(
            check_ca(&a.0, &a.1, now - 7200)
                .unwrap_err()
                .contains("not valid before")
        );
        let public = |key: &str| KeyPair::from_pem(key).unwrap().public_key_pem();
        check_service_account(&a.1, &public(&a.1)).unwrap();
        assert!(check_service_account(&a.1, &public(&b.1)).is_err());
    }

    #[test]
    fn a_credential_is_for_one_node() {
        let now = chrono::Utc::now().timestamp();
        let ca = sample::ca("k");
        let (certificate_pem, key_pem) = Authority::new(&ca.0, &ca.1)
            .unwrap()
            .client("system:node:n1", "system:nodes")
            .unwrap();
        let config = Kubeconfig {
            server: String::new(),
            ca_pem: ca.0,
            certificate_pem,
            key_pem,
        };
        check_credential(&config, "n1", now).unwrap();
        assert!(
            check_credential(&config, "n2", now)
                .unwrap_err()
                .contains("system:node:n1")
        );
        assert!(
            check_credential(&config, "n1", now + 10 * 86400)
                .unwrap_err()
                .contains("expired")
        );
        assert!(
            check_ca(&config.certificate_pem, &config.key_pem, now)
                .unwrap_err()
                .contains("not a CA")
        );
    }
}
