//! The cluster's certificate authority: what a node's `/etc/kubernetes/pki` holds.

use std::fmt;
use std::net::IpAddr;

use rcgen::string::Ia5String;
use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

/// PEM texts of a cluster, as they lie on its control-plane nodes. `Debug` shows no key.
#[derive(Clone, Serialize, Deserialize)]
pub struct CaMaterial {
    /// `ca.crt`; may hold several certificates during a rotation.
    pub ca_cert: String,
    /// `ca.key`.
    pub ca_key: String,
    /// `front-proxy-ca.crt`.
    pub front_proxy_cert: String,
    /// `front-proxy-ca.key`.
    pub front_proxy_key: String,
    /// `sa.key`.
    pub sa_key: String,
    /// `sa.pub`.
    pub sa_pub: String,
}

impl fmt::Debug for CaMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaMaterial")
            .field("ca_cert", &self.ca_cert.len())
            .finish_non_exhaustive()
    }
}

/// Signs for one cluster.
pub(crate) struct Authority {
    roots: Vec<CertificateDer<'static>>,
    issuer: Issuer<'static, KeyPair>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("roots", &self.roots.len())
            .finish_non_exhaustive()
    }
}

impl Authority {
    /// Reads certificate(s) and key; the first certificate that fits the key signs.
    pub(crate) fn new(ca_pem: &str, key_pem: &str) -> Result<Self, String> {
        let roots: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(ca_pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|e| format!("ca.crt is not PEM: {e}"))?;
        let key =
            KeyPair::from_pem(key_pem).map_err(|e| format!("ca.key is not a private key: {e}"))?;
        let mine = roots
            .iter()
            .find(|der| holds_key(der, &key))
            .ok_or("ca.crt holds no certificate of ca.key")?
            .clone();
        let issuer =
            Issuer::from_ca_cert_der(&mine, key).map_err(|e| format!("ca.crt cannot sign: {e}"))?;
        Ok(Self { roots, issuer })
    }

    /// Certificates that clients may chain to.
    pub(crate) fn roots(&self) -> &[CertificateDer<'static>] {
        &self.roots
    }

    /// A server certificate for these names and addresses, with its key.
    pub(crate) fn serving(
        &self,
        names: &[String],
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        params.subject_alt_names = names.iter().map(|n| san(n)).collect::<Result<_, _>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        validity(&mut params, Duration::days(365));
        let key = KeyPair::generate().map_err(|e| e.to_string())?;
        let cert = params
            .signed_by(&key, &self.issuer)
            .map_err(|e| e.to_string())?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok((vec![cert.der().clone()], key))
    }

    /// Signs a PEM request for client or server use. `seconds` is the wished life (default one year).
    pub(crate) fn sign(
        &self,
        request_pem: &str,
        server: bool,
        seconds: Option<i64>,
    ) -> Result<String, String> {
        let mut request =
            CertificateSigningRequestParams::from_pem(request_pem).map_err(|e| e.to_string())?;
        let usage = if server {
            ExtendedKeyUsagePurpose::ServerAuth
        } else {
            ExtendedKeyUsagePurpose::ClientAuth
        };
        request.params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        request.params.extended_key_usages = vec![usage];
        validity(
            &mut request.params,
            Duration::seconds(seconds.unwrap_or(365 * 86400)),
        );
        Ok(request
            .signed_by(&self.issuer)
            .map_err(|e| e.to_string())?
            .pem())
    }

    /// A client certificate and key (both PEM) for an identity.
    #[cfg(test)]
    pub(crate) fn client(&self, name: &str, group: &str) -> Result<(String, String), String> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params
            .distinguished_name
            .push(DnType::OrganizationName, group);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        validity(&mut params, Duration::days(1));
        let key = KeyPair::generate().map_err(|e| e.to_string())?;
        let cert = params
            .signed_by(&key, &self.issuer)
            .map_err(|e| e.to_string())?;
        Ok((cert.pem(), key.serialize_pem()))
    }
}

fn validity(params: &mut CertificateParams, life: Duration) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::minutes(5);
    params.not_after = now + life;
}

fn san(name: &str) -> Result<SanType, String> {
    match name.parse::<IpAddr>() {
        Ok(ip) => Ok(SanType::IpAddress(ip)),
        Err(_) => Ok(SanType::DnsName(
            Ia5String::try_from(name).map_err(|e| format!("{name}: {e}"))?,
        )),
    }
}

/// Whether a certificate carries the public half of a key.
pub(crate) fn holds_key(certificate: &[u8], key: &KeyPair) -> bool {
    use rcgen::PublicKeyData as _;
    x509_parser::parse_x509_certificate(certificate)
        .is_ok_and(|(_, c)| c.public_key().raw == key.subject_public_key_info())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::sample;

    #[test]
    fn a_foreign_key_is_refused() {
        let (a, b) = (sample::ca("a"), sample::ca("b"));
        assert!(Authority::new(&a.0, &a.1).is_ok());
        let err = Authority::new(&a.0, &b.1).unwrap_err();
        assert!(err.contains("no certificate of ca.key"), "{err}");
        // A rotation bundle: the certificate of the key need not be the first.
        assert_eq!(
            Authority::new(&format!("{}{}", a.0, b.0), &b.1)
                .unwrap()
                .roots()
                .len(),
            2
        );
    }

    #[test]
    fn a_request_keeps_its_subject() {
        let ca = sample::ca("a");
        let authority = Authority::new(&ca.0, &ca.1).unwrap();
        let (csr, _) = sample::csr("system:node:n1", "system:nodes", &["n1"]);
        let pem = authority.sign(&csr, true, None).unwrap();
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let (_, cert) = x509_parser::parse_x509_certificate(&der).unwrap();
        assert!(cert.subject().to_string().contains("system:node:n1"));
        assert!(
            cert.extended_key_usage()
                .unwrap()
                .unwrap()
                .value
                .server_auth
        );
    }
}
