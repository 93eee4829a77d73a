//! Requests from outside: what is accepted, what is refused, what is taken from them.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use magnum_certs::{
    AltNames, Authority, AuthorityKind, Csr, CsrProblem, Error, KeyAlgorithm, MAX_CSR_BYTES,
    Profile,
};
use proptest::prelude::*;

mod corpus;

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
}

fn authority() -> Authority {
    let life = Duration::from_secs(3650 * 24 * 3600);
    Authority::create(
        AuthorityKind::Kubernetes,
        "c1",
        KeyAlgorithm::EcdsaP256,
        life,
        now(),
    )
    .unwrap()
}

fn openssl(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("openssl")
        .current_dir(directory)
        .args(args)
        .output()
        .expect("openssl is installed");
    assert!(
        output.status.success(),
        "openssl {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A request by OpenSSL: `newkey` as in `openssl req -newkey`, then further arguments.
fn request(newkey: &[&str], more: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut args = vec!["req", "-new", "-nodes", "-keyout", "key.pem"];
    args.extend(newkey);
    args.extend(more);
    openssl(directory.path(), &args)
}

const P256: &[&str] = &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
const P384: &[&str] = &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"];
const RSA: &[&str] = &["-newkey", "rsa:2048"];
const ALICE: &[&str] = &["-subj", "/CN=alice/O=team"];

fn alice() -> Profile {
    Profile::User {
        user: "alice".into(),
        groups: vec!["team".into(), "other".into()],
    }
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ALICE.iter().copied().chain(more.iter().copied()).collect()
}

fn problem(text: &str) -> CsrProblem {
    match Csr::from_pem(text) {
        Err(Error::BadRequest(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ck_02_the_public_key_is_byte_equal_for_unusual_pairs_of_hash_and_key() {
    let authority = authority();
    let cases: [(&[&str], &[&str]); 7] = [
        (P256, &["-sha384"]),
        (P256, &["-sha256"]),
        (P384, &["-sha256"]),
        (P384, &["-sha384"]),
        (RSA, &["-sha512"]),
        (RSA, &["-sha384"]),
        (&["-newkey", "ed25519"], &[]),
    ];
    for (newkey, hash) in cases {
        let csr = Csr::from_pem(&request(newkey, &with(hash))).unwrap();
        let certificate = authority.sign_csr(&csr, &alice(), None, now()).unwrap();
        assert_eq!(
            certificate.public_key().der(),
            csr.public_key().der(),
            "{newkey:?} {hash:?}"
        );
        assert!(certificate.is_issued_by(authority.certificate()));
        // The same by OpenSSL's own reading.
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("csr"), csr.to_pem()).unwrap();
        std::fs::write(directory.path().join("crt"), certificate.to_pem()).unwrap();
        let asked = openssl(
            directory.path(),
            &["req", "-in", "csr", "-noout", "-pubkey"],
        );
        let given = openssl(
            directory.path(),
            &["x509", "-in", "crt", "-noout", "-pubkey"],
        );
        assert_eq!(asked, given);
    }
}

#[test]
fn ck_03_blank_lines_and_crlf_in_a_request_are_accepted() {
    let text = request(P256, ALICE);
    assert!(Csr::from_pem(&format!("\r\n\n{}\r\n\r\n", text.replace('\n', "\r\n"))).is_ok());
}

#[test]
fn ms_08_a_request_for_an_authority_or_its_usages_is_refused() {
    let asks = |extension: &str| problem(&request(P256, &with(&["-addext", extension])));
    assert_eq!(
        asks("basicConstraints=critical,CA:TRUE"),
        CsrProblem::AsksForAuthority
    );
    assert_eq!(
        asks("keyUsage=keyCertSign"),
        CsrProblem::AsksForUsage("keyCertSign")
    );
    assert_eq!(
        asks("keyUsage=digitalSignature,cRLSign"),
        CsrProblem::AsksForUsage("cRLSign")
    );
    assert!(
        matches!(asks("1.2.3.4=critical,DER:0500"), CsrProblem::UnknownCriticalExtension(id) if id == "1.2.3.4")
    );
    assert!(matches!(
        asks("nameConstraints=critical,permitted;DNS:x"),
        CsrProblem::UnknownCriticalExtension(_)
    ));
    assert!(matches!(
        asks("subjectAltName=email:a@example.org"),
        CsrProblem::BadName(_)
    ));
    assert!(matches!(
        asks("subjectAltName=URI:https://x"),
        CsrProblem::BadName(_)
    ));
    assert!(matches!(
        asks("subjectAltName=DNS:bad name!"),
        CsrProblem::BadName(_)
    ));
}

#[test]
fn ms_08_usages_come_from_the_profile_alone() {
    let more = [
        "-addext",
        "extendedKeyUsage=serverAuth,codeSigning",
        "-addext",
        "keyUsage=nonRepudiation",
        "-addext",
        "1.2.3.4=DER:0500",
    ];
    let csr = Csr::from_pem(&request(P256, &with(&more))).unwrap();
    let certificate = authority().sign_csr(&csr, &alice(), None, now()).unwrap();
    assert!(certificate.for_clients() && !certificate.for_servers() && !certificate.is_authority());
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("crt"), certificate.to_pem()).unwrap();
    let text = openssl(directory.path(), &["x509", "-in", "crt", "-noout", "-text"]);
    for absent in ["Code Signing", "Non Repudiation", "1.2.3.4", "CA:TRUE"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(text.contains("TLS Web Client Authentication") && text.contains("CA:FALSE"));
}

#[test]
fn ms_08_weak_or_foreign_keys_and_hashes_are_refused() {
    assert_eq!(
        problem(&request(RSA, &with(&["-sha1"]))),
        CsrProblem::WeakSignature("SHA-1")
    );
    assert_eq!(
        problem(&request(P256, &with(&["-sha1"]))),
        CsrProblem::WeakSignature("SHA-1")
    );
    assert_eq!(
        problem(&request(RSA, &with(&["-md5"]))),
        CsrProblem::WeakSignature("MD5 or older")
    );
    assert!(
        matches!(problem(&request(&["-newkey", "rsa:1024"], ALICE)), CsrProblem::BadKey(why) if why.contains("1024"))
    );
    for curve in ["secp256k1", "P-521", "brainpoolP256r1"] {
        let curve = format!("ec_paramgen_curve:{curve}");
        let text = request(&["-newkey", "ec", "-pkeyopt", &curve], ALICE);
        assert!(matches!(problem(&text), CsrProblem::BadKey(_)), "{curve}");
    }
    assert!(matches!(
        problem(&request(P256, &with(&["-sha512"]))),
        CsrProblem::UnsupportedSignature(_)
    ));
}

#[test]
fn ms_08_malformed_input_is_a_typed_error() {
    let good = request(P256, ALICE);
    assert!(matches!(problem(""), CsrProblem::NotOnePemBlock(_)));
    assert!(matches!(problem("garbage"), CsrProblem::NotOnePemBlock(_)));
    assert!(matches!(
        problem(&format!("{good}{good}")),
        CsrProblem::NotOnePemBlock(_)
    ));
    assert!(matches!(
        problem(&format!("{good}trailing")),
        CsrProblem::NotOnePemBlock(_)
    ));
    assert!(matches!(
        problem(&good.replace("CERTIFICATE REQUEST", "CERTIFICATE")),
        CsrProblem::NotOnePemBlock(_)
    ));
    assert_eq!(
        problem(&"A".repeat(10 << 20)),
        CsrProblem::TooLarge { size: 10 << 20 }
    );
    assert_eq!(
        problem(&format!("{good}{}", " ".repeat(MAX_CSR_BYTES))),
        CsrProblem::TooLarge {
            size: good.len() + MAX_CSR_BYTES
        }
    );

    let der = Csr::from_pem(&good).unwrap().der().to_vec();
    let read = |der: &[u8]| match Csr::from_der(der) {
        Err(Error::BadRequest(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        read(&[der.as_slice(), b"x"].concat()),
        CsrProblem::TrailingData
    );
    let mut forged = der.clone();
    let place = forged
        .windows(5)
        .position(|window| window == b"alice")
        .unwrap();
    forged[place] = b'A';
    assert_eq!(read(&forged), CsrProblem::WrongSignature);
    assert_eq!(read(b"nonsense"), CsrProblem::NotPkcs10);
    for cut in 0..der.len() {
        assert!(Csr::from_der(&der[..cut]).is_err());
    }
}

#[test]
fn ms_08_a_request_gets_no_more_than_its_profile() {
    let authority = authority();
    let sign = |subject: &str, more: &[&str], profile: &Profile| {
        let args: Vec<&str> = ["-subj", subject]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        authority.sign_csr(
            &Csr::from_pem(&request(P256, &args)).unwrap(),
            profile,
            None,
            now(),
        )
    };
    let refused = |result| matches!(result, Err(Error::NotAllowed { .. }));
    assert!(refused(sign("/CN=mallory", &[], &alice())));
    assert!(refused(sign("/CN=alice/O=system:masters", &[], &alice())));
    assert!(refused(sign(
        "/CN=alice",
        &["-addext", "subjectAltName=DNS:kubernetes"],
        &alice()
    )));

    let node = Profile::KubeletClient { node: "n1".into() };
    assert!(refused(sign(
        "/O=system:nodes/CN=system:node:n2",
        &[],
        &node
    )));
    assert!(sign("/O=system:nodes/CN=system:node:n1", &[], &node).is_ok());

    let names = AltNames::parse("10.0.0.5,10.0.0.6").unwrap();
    let serving = Profile::KubeletServing {
        node: "n1".into(),
        names,
    };
    let asked = sign(
        "/O=system:nodes/CN=system:node:n1",
        &["-addext", "subjectAltName=DNS:n1,IP:10.0.0.5"],
        &serving,
    )
    .unwrap();
    assert_eq!(asked.names(), &AltNames::parse("n1,10.0.0.5").unwrap());
    assert!(refused(sign(
        "/O=system:nodes/CN=system:node:n1",
        &["-addext", "subjectAltName=IP:10.0.0.7"],
        &serving
    )));

    // Attributes that no profile has are left out, an omitted subject is the profile's.
    let plain = sign("/C=DE/OU=x/O=team/CN=alice", &[], &alice()).unwrap();
    assert_eq!(
        (plain.common_name(), plain.organizations()),
        ("alice", &["other".to_owned(), "team".to_owned()][..])
    );
}

#[test]
fn profiles_are_recognised_from_a_subject() {
    let asks = |subject: &str| {
        Profile::requested_by(&Csr::from_pem(&request(P256, &["-subj", subject])).unwrap())
    };
    assert_eq!(
        asks("/CN=admin/O=system:masters").unwrap(),
        Profile::BreakGlass {
            user: "admin".into()
        }
    );
    assert_eq!(
        asks("/CN=bob/O=kubeadm:cluster-admins").unwrap(),
        Profile::Admin { user: "bob".into() }
    );
    assert_eq!(
        asks("/CN=system:node:n1/O=system:nodes").unwrap(),
        Profile::KubeletClient { node: "n1".into() }
    );
    assert_eq!(
        asks("/CN=bob/O=team").unwrap(),
        Profile::User {
            user: "bob".into(),
            groups: vec!["team".into()]
        }
    );
    for mixed in [
        "/CN=bob/O=team/O=system:masters",
        "/CN=bob/O=system:nodes",
        "/CN=system:node:n1",
        "/CN=system:admin",
    ] {
        assert!(
            matches!(asks(mixed), Err(Error::NotAllowed { .. })),
            "{mixed}"
        );
    }
    assert!(matches!(asks("/O=team"), Err(Error::BadName { .. })));
}

#[test]
fn ck_01_p_08_a_leaf_never_outlives_its_authority() {
    let ten_days = Duration::from_secs(10 * 24 * 3600);
    let authority = Authority::create(
        AuthorityKind::Kubernetes,
        "c1",
        KeyAlgorithm::EcdsaP256,
        ten_days,
        now(),
    )
    .unwrap();
    let csr = Csr::from_pem(&request(P256, ALICE)).unwrap();
    let year = Some(Duration::from_secs(365 * 24 * 3600));
    let leaf = authority.sign_csr(&csr, &alice(), year, now()).unwrap();
    assert_eq!(leaf.not_after(), authority.certificate().not_after());
    assert!(leaf.not_before() >= authority.certificate().not_before());
    assert_eq!(leaf.not_before(), now() - TimeDelta::minutes(5));
    assert_eq!(
        authority.certificate().not_before(),
        now() - TimeDelta::hours(1)
    );
    let short = authority.sign_csr(&csr, &alice(), None, now()).unwrap();
    assert_eq!(
        short.not_after(),
        now() + TimeDelta::hours(24),
        "a user's certificate is short by default"
    );
    for late in [now() + TimeDelta::days(11), now() - TimeDelta::hours(2)] {
        let result = authority.sign_csr(&csr, &alice(), None, late);
        assert!(matches!(result, Err(Error::AuthorityNotValid { .. })));
    }
    let decade = Authority::create(
        AuthorityKind::Kubernetes,
        "c1",
        KeyAlgorithm::EcdsaP256,
        ten_days * 365,
        now(),
    )
    .unwrap();
    let leaf = decade.sign_csr(&csr, &alice(), year, now()).unwrap();
    assert_eq!(
        leaf.not_after(),
        now() + TimeDelta::days(90),
        "and at most 90 days"
    );
}

#[test]
fn serial_numbers_are_random_and_positive() {
    let authority = authority();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..64 {
        let leaf = authority
            .issue(&alice(), KeyAlgorithm::EcdsaP256, None, now())
            .unwrap();
        assert!(
            leaf.certificate().serial().len() > 24,
            "{}",
            leaf.certificate().serial()
        );
        assert!(seen.insert(leaf.certificate().serial()));
    }
}

proptest! {
    #[test]
    fn ms_08_no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..512), text in "\\PC{0,300}") {
        let _ = Csr::from_der(&bytes);
        let _ = Csr::from_pem(&text);
        let _ = magnum_certs::Certificate::from_der(&bytes);
        let _ = magnum_certs::Certificate::from_pem(&text);
        let _ = magnum_certs::Kubeconfig::from_yaml(&text);
        let _ = AltNames::parse(&text);
    }
}

#[test]
fn ms_08_no_altered_bit_of_a_request_passes() {
    let good = Csr::from_pem(&request(P256, ALICE)).unwrap().der().to_vec();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut altered = good.clone();
            altered[at] ^= 1 << bit;
            assert!(Csr::from_der(&altered).is_err(), "byte {at} bit {bit}");
        }
    }
}
