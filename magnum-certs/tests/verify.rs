//! Every certificate under strict verifiers: OpenSSL with `-x509_strict`, rustls-webpki, and the same for revocation lists.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use chrono::{DateTime, Utc};
use magnum_certs::{
    AltNames, Authority, AuthorityKind, Certificate, ClusterPki, Credential, KeyAlgorithm,
    PkiOptions, Profile, Revocation, RevocationReason, api_server_names,
};
use rustls_pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, UnixTime, pem::PemObject as _,
};
use webpki::{
    ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, OwnedCertRevocationList,
    RevocationOptionsBuilder, anchor_from_trusted_cert,
};

/// The real time: OpenSSL verifies against its own clock.
fn now() -> DateTime<Utc> {
    Utc::now()
}

fn profiles() -> Vec<Profile> {
    let names = AltNames::parse("n1.example.org,10.0.0.5,2001:db8::5").unwrap();
    let long = format!("{0}.{0}.{0}", "a".repeat(60));
    vec![
        Profile::Admin {
            user: "alice".into(),
        },
        Profile::BreakGlass {
            user: "alice".into(),
        },
        Profile::Viewer {
            user: "älice@example.org".into(),
        },
        Profile::User {
            user: "bob".into(),
            groups: vec!["team-a".into(), "team-b".into(), "oidc:x".into()],
        },
        Profile::KubeletClient { node: long },
        Profile::KubeletServing {
            node: "n1".into(),
            names: names.clone(),
        },
        Profile::ApiServer {
            names: api_server_names("cluster.local", &["10.254.0.0/16"], &names).unwrap(),
        },
        Profile::ApiServerKubeletClient,
        Profile::ApiServerEtcdClient,
        Profile::EtcdServer {
            member: "n1".into(),
            names: names.clone(),
        },
        Profile::EtcdPeer {
            member: "n1".into(),
            names,
        },
        Profile::EtcdClient {
            name: "kube-etcd-healthcheck-client".into(),
        },
        Profile::FrontProxyClient,
        Profile::ControllerManager,
        Profile::Scheduler,
    ]
}

fn openssl(directory: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("openssl")
        .current_dir(directory)
        .args(args)
        .output()
        .expect("openssl is installed");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(text)
    }
}

fn webpki_accepts(
    leaf: &Certificate,
    ca: &Certificate,
    usage: KeyUsage,
    at: DateTime<Utc>,
) -> Result<(), webpki::Error> {
    let ca = CertificateDer::from(ca.der());
    let anchor = anchor_from_trusted_cert(&ca)?;
    let leaf = CertificateDer::from(leaf.der());
    let at = UnixTime::since_unix_epoch(Duration::from_secs(at.timestamp().unsigned_abs()));
    EndEntityCert::try_from(&leaf)?
        .verify_for_usage(ALL_VERIFICATION_ALGS, &[anchor], &[], at, usage, None, None)
        .map(|_| ())
}

/// Verifies leaves of one authority with OpenSSL, all in one run.
fn openssl_accepts(
    ca: &Certificate,
    leaves: &[(String, &Certificate)],
    purpose: &str,
) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("ca.pem"), ca.to_pem()).unwrap();
    let mut args = vec![
        "verify",
        "-x509_strict",
        "-check_ss_sig",
        "-purpose",
        purpose,
        "-CAfile",
        "ca.pem",
    ];
    for (name, leaf) in leaves {
        std::fs::write(directory.path().join(name), leaf.to_pem()).unwrap();
        args.push(name);
    }
    openssl(directory.path(), &args).map(|_| ())
}

/// All profiles under all three authorities, which have the given key type.
fn matrix(authority: KeyAlgorithm, leaves: &[KeyAlgorithm]) {
    let options = PkiOptions {
        algorithm: authority,
        ..PkiOptions::default()
    };
    let pki = ClusterPki::generate("3f2c8a52-5b7e-4bb0-9f0e-1d6a2a1f7c11", options, now()).unwrap();
    let mut issued: Vec<(AuthorityKind, String, Credential)> = Vec::new();
    for profile in profiles() {
        for algorithm in leaves {
            let credential = pki.issue(&profile, *algorithm, None, now()).unwrap();
            issued.push((
                profile.authority(),
                format!("{}-{algorithm}.pem", profile.name()),
                credential,
            ));
        }
    }
    for (kind, name, credential) in &issued {
        let leaf = credential.certificate();
        let own = pki.authority(*kind).certificate();
        assert!(leaf.for_servers() || leaf.for_clients(), "{name}");
        let uses = [
            (leaf.for_servers(), KeyUsage::server_auth()),
            (leaf.for_clients(), KeyUsage::client_auth()),
        ];
        for (allowed, usage) in uses {
            assert_eq!(
                webpki_accepts(leaf, own, usage, now()).is_ok(),
                allowed,
                "{name} under {authority}"
            );
        }
        assert_eq!(leaf.authority_key_id(), own.subject_key_id(), "{name}");
        assert!(leaf.subject_key_id().is_some());
        for dns in leaf.names().iter() {
            let der = CertificateDer::from(leaf.der());
            let parsed = EndEntityCert::try_from(&der).unwrap();
            parsed
                .verify_is_valid_for_subject_name(&ServerName::try_from(dns.as_str()).unwrap())
                .unwrap();
        }
        for other in AuthorityKind::ALL.into_iter().filter(|other| other != kind) {
            let other = pki.authority(other).certificate();
            let usage = if leaf.for_servers() {
                KeyUsage::server_auth()
            } else {
                KeyUsage::client_auth()
            };
            assert!(
                webpki_accepts(leaf, other, usage, now()).is_err(),
                "{name} under a foreign authority"
            );
        }
    }
    for kind in AuthorityKind::ALL {
        for (purpose, wanted) in [("sslserver", true), ("sslclient", false)] {
            let fitting: Vec<_> = issued
                .iter()
                .filter(|(of, _, one)| {
                    *of == kind
                        && if wanted {
                            one.certificate().for_servers()
                        } else {
                            one.certificate().for_clients()
                        }
                })
                .map(|(_, name, one)| (name.clone(), one.certificate()))
                .collect();
            if !fitting.is_empty() {
                openssl_accepts(pki.authority(kind).certificate(), &fitting, purpose).unwrap();
            }
        }
    }
}

const QUICK: &[KeyAlgorithm] = &[
    KeyAlgorithm::EcdsaP256,
    KeyAlgorithm::EcdsaP384,
    KeyAlgorithm::Rsa2048,
    KeyAlgorithm::Ed25519,
];

#[test]
fn ck_01_ck_08_p_09_all_profiles_under_a_p256_authority_pass_strict_verifiers() {
    matrix(KeyAlgorithm::EcdsaP256, QUICK);
}

#[test]
fn ck_01_ck_08_all_profiles_under_a_p384_authority_pass_strict_verifiers() {
    matrix(KeyAlgorithm::EcdsaP384, QUICK);
}

#[test]
fn ck_01_ck_08_all_profiles_under_an_rsa_authority_pass_strict_verifiers() {
    matrix(KeyAlgorithm::Rsa2048, QUICK);
}

#[test]
fn ck_01_large_rsa_keys_pass_too() {
    let life = Duration::from_secs(24 * 3600);
    let ca = Authority::create(
        AuthorityKind::Kubernetes,
        "c",
        KeyAlgorithm::Rsa3072,
        life,
        now(),
    )
    .unwrap();
    let admin = Profile::Admin {
        user: "alice".into(),
    };
    let leaf = ca
        .issue(&admin, KeyAlgorithm::Rsa4096, None, now())
        .unwrap();
    openssl_accepts(
        ca.certificate(),
        &[("leaf.pem".into(), leaf.certificate())],
        "sslclient",
    )
    .unwrap();
    webpki_accepts(
        leaf.certificate(),
        ca.certificate(),
        KeyUsage::client_auth(),
        now(),
    )
    .unwrap();
}

#[test]
fn ck_01_extensions_and_their_criticality() {
    let pki = ClusterPki::generate("c", PkiOptions::default(), now()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let text = |certificate: &Certificate| {
        std::fs::write(directory.path().join("x"), certificate.to_pem()).unwrap();
        openssl(directory.path(), &["x509", "-in", "x", "-noout", "-text"])
            .unwrap()
            .replace('\n', "")
            .replace("  ", "")
    };
    let ca = text(pki.authority(AuthorityKind::Kubernetes).certificate());
    for wanted in [
        "Basic Constraints: criticalCA:TRUE, pathlen:0",
        "Key Usage: criticalDigital Signature, Certificate Sign, CRL Sign",
        "Subject Key Identifier:",
        "CN = kubernetes-ca c",
    ] {
        assert!(ca.contains(wanted), "{wanted}: {ca}");
    }
    for (algorithm, usage) in [
        (
            KeyAlgorithm::EcdsaP256,
            "Key Usage: criticalDigital SignatureX509v3",
        ),
        (
            KeyAlgorithm::Rsa2048,
            "Key Usage: criticalDigital Signature, Key EnciphermentX509v3",
        ),
    ] {
        let profile = Profile::User {
            user: "bob".into(),
            groups: vec!["a".into(), "b".into()],
        };
        let leaf = text(
            pki.issue(&profile, algorithm, None, now())
                .unwrap()
                .certificate(),
        );
        for wanted in [
            "Basic Constraints: criticalCA:FALSE",
            usage,
            "Subject Key Identifier:",
            "Authority Key Identifier:",
            "O = a, O = b, CN = bob",
        ] {
            assert!(leaf.contains(wanted), "{wanted}: {leaf}");
        }
    }
}

#[test]
fn validity_beyond_2050_is_read_by_all() {
    let century = Duration::from_secs(100 * 365 * 24 * 3600);
    let ca = Authority::create(
        AuthorityKind::Etcd,
        "c",
        KeyAlgorithm::EcdsaP256,
        century,
        now(),
    )
    .unwrap();
    assert!(ca.certificate().not_after().timestamp() > 4_000_000_000);
    let leaf = ca
        .issue(
            &Profile::ApiServerEtcdClient,
            KeyAlgorithm::EcdsaP256,
            None,
            now(),
        )
        .unwrap();
    openssl_accepts(
        ca.certificate(),
        &[("leaf.pem".into(), leaf.certificate())],
        "sslclient",
    )
    .unwrap();
    webpki_accepts(
        leaf.certificate(),
        ca.certificate(),
        KeyUsage::client_auth(),
        now(),
    )
    .unwrap();
}

#[test]
fn an_authority_made_by_openssl_can_sign() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for newkey in [
        &["-newkey", "rsa:2048"][..],
        &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ] {
        let mut args = vec![
            "req", "-x509", "-new", "-nodes", "-keyout", "key", "-out", "crt", "-days", "30",
        ];
        args.extend(newkey);
        args.extend([
            "-subj",
            "/C=DE/O=Corp + OU=Security/CN=Corp CA",
            "-multivalue-rdn",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        ]);
        openssl(path, &args).unwrap();
        let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
        let ca =
            Authority::from_pem(AuthorityKind::Kubernetes, &read("crt"), &read("key")).unwrap();
        let leaf = ca
            .issue(
                &Profile::Admin {
                    user: "alice".into(),
                },
                KeyAlgorithm::EcdsaP256,
                None,
                now(),
            )
            .unwrap();
        openssl_accepts(
            ca.certificate(),
            &[("leaf.pem".into(), leaf.certificate())],
            "sslclient",
        )
        .unwrap();
        webpki_accepts(
            leaf.certificate(),
            ca.certificate(),
            KeyUsage::client_auth(),
            now(),
        )
        .unwrap();
        // PKCS#1 and SEC1 forms of the same key are read as well.
        openssl(path, &["pkey", "-in", "key", "-traditional", "-out", "old"]).unwrap();
        Authority::from_pem(AuthorityKind::Kubernetes, &read("crt"), &read("old")).unwrap();
    }
    openssl(
        path,
        &[
            "req",
            "-x509",
            "-new",
            "-nodes",
            "-newkey",
            "rsa:2048",
            "-keyout",
            "k2",
            "-out",
            "leaf",
            "-subj",
            "/CN=x",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ],
    )
    .unwrap();
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert!(
        Authority::from_pem(AuthorityKind::Kubernetes, &read("leaf"), &read("k2")).is_err(),
        "no authority"
    );
    assert!(
        Authority::from_pem(AuthorityKind::Kubernetes, &read("crt"), &read("k2")).is_err(),
        "another's key"
    );
}

#[test]
fn a_revocation_list_is_honoured() {
    let pki = ClusterPki::generate("c", PkiOptions::default(), now()).unwrap();
    let ca = pki.authority(AuthorityKind::Etcd);
    let client = |name: &str| {
        pki.issue(
            &Profile::EtcdClient { name: name.into() },
            KeyAlgorithm::EcdsaP256,
            None,
            now(),
        )
        .unwrap()
    };
    let (good, bad) = (client("good"), client("bad"));
    let day = Duration::from_secs(24 * 3600);
    let revoked = [Revocation::of(
        bad.certificate(),
        RevocationReason::KeyCompromise,
        now(),
    )];
    for (list, revokes) in [(&revoked[..], true), (&[], false)] {
        let pem = ca.revocation_list(list, 7, day, now()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("ca", &ca.certificate().to_pem());
        write("crl", &pem);
        write("good", &good.certificate().to_pem());
        write("bad", &bad.certificate().to_pem());
        openssl(
            directory.path(),
            &["crl", "-in", "crl", "-CAfile", "ca", "-noout", "-verify"],
        )
        .unwrap();
        let check = |leaf| {
            openssl(
                directory.path(),
                &[
                    "verify",
                    "-x509_strict",
                    "-crl_check",
                    "-CRLfile",
                    "crl",
                    "-CAfile",
                    "ca",
                    leaf,
                ],
            )
        };
        check("good").unwrap();
        assert_eq!(
            check("bad").is_err_and(|text| text.contains("revoked")),
            revokes
        );

        let der = CertificateRevocationListDer::from_pem_slice(pem.as_bytes()).unwrap();
        let crl = OwnedCertRevocationList::from_der(&der).unwrap().into();
        let lists = [&crl];
        let options = RevocationOptionsBuilder::new(&lists).unwrap().build();
        let ca_der = CertificateDer::from(ca.certificate().der());
        let leaf = CertificateDer::from(bad.certificate().der());
        let at = UnixTime::since_unix_epoch(Duration::from_secs(now().timestamp().unsigned_abs()));
        let anchors = [anchor_from_trusted_cert(&ca_der).unwrap()];
        let entity = EndEntityCert::try_from(&leaf).unwrap();
        let result = entity.verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &anchors,
            &[],
            at,
            KeyUsage::client_auth(),
            Some(options),
            None,
        );
        assert_eq!(
            matches!(result.err(), Some(webpki::Error::CertRevoked)),
            revokes
        );
    }
}
