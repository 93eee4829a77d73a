//! What is done with an input, and what must hold. The fuzz targets do it with inputs of libFuzzer's, a normal test with the corpus.

use chrono::DateTime;
use magnum_certs::{
    AuthorityKind, Certificate, ClusterPki, Csr, Kubeconfig, OnConflict, PkiOptions, PrivateKey,
    Profile, PublicKey,
};
use secrecy::ExposeSecret as _;

/// A request: a typed error, or one whose certificate is no authority and has the request's key.
pub(crate) fn csr(data: &[u8]) {
    let parsed = match std::str::from_utf8(data) {
        Ok(text) => Csr::from_pem(text),
        Err(_) => Csr::from_der(data),
    };
    let Ok(csr) = parsed else {
        return;
    };
    let again = Csr::from_pem(&csr.to_pem()).expect("what was read is read again");
    assert_eq!(again.public_key(), csr.public_key());
    let Ok(profile) = Profile::requested_by(&csr) else {
        return;
    };
    let now = DateTime::from_timestamp(1_796_000_000, 0).expect("a time");
    let pki = ClusterPki::generate("fuzz", PkiOptions::default(), now).expect("keys are made");
    if let Ok(signed) = pki.sign_csr(&csr, &profile, None, now) {
        assert!(!signed.is_authority());
        assert_eq!(signed.public_key(), csr.public_key());
        let issuer = pki.authority(AuthorityKind::Kubernetes).certificate();
        assert!(signed.is_issued_by(issuer) && signed.not_after() <= issuer.not_after());
    }
}

/// PEM text of every kind: a typed error that does not quote it, or a value that is written as it was read.
pub(crate) fn pem(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(certificate) = Certificate::from_pem(text) {
        let again = Certificate::from_pem(&certificate.to_pem());
        assert_eq!(again.expect("what was read is read again"), certificate);
    }
    if let Ok(all) = Certificate::bundle_from_pem(text) {
        assert!(!all.is_empty());
    }
    if let Ok(key) = PublicKey::from_pem(text) {
        assert_eq!(PublicKey::from_pem(&key.to_pem()).ok(), Some(key));
    }
    if let Ok(key) = PrivateKey::from_pem(text) {
        let again = PrivateKey::from_pem(key.to_pem().expose_secret());
        let again = again.expect("what was read is read again");
        assert_eq!(again.public_key(), key.public_key());
    }
}

/// A kubeconfig: a typed error, or one that is written as it was read and merges with itself into itself.
pub(crate) fn kubeconfig(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(config) = Kubeconfig::from_yaml(text) else {
        return;
    };
    let _ = config.validate();
    if let Some((cluster, user)) = config.current() {
        let _ = (cluster.trust(), user.credential());
    }
    let Ok(yaml) = config.to_yaml() else {
        return;
    };
    let again = Kubeconfig::from_yaml(yaml.expose_secret()).expect("what was written is read");
    assert_eq!(again.contexts.len(), config.contexts.len());
    let mut merged = again.clone();
    if merged.merge(&again, OnConflict::Refuse).is_ok() {
        assert_eq!(merged.users.len(), again.users.len());
    }
}
