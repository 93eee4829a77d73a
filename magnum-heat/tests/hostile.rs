//! Input from outside never panics, hangs or blows up: templates, `clouds.yaml`, error bodies, reasons.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use magnum_heat::{
    ApiError, CloudConfig, ServiceType, StackStatus, diagnose::Reason, discovery, hot::Document,
};
use proptest::prelude::*;

fn yamlish() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("heat_template_version"),
        Just("2021-04-16"),
        Just("resources"),
        Just("type"),
        Just("clouds"),
        Just("auth"),
        Just(": "),
        Just("\n  "),
        Just("\n"),
        Just("- "),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("&a "),
        Just("*a"),
        Just("<<"),
        Just("!!binary "),
        Just("'"),
        Just("\""),
        Just("|\n"),
        Just("0x1F"),
        Just("~"),
        Just("x"),
    ];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_document_or_an_error(text in prop_oneof![yamlish(), ".{0,200}"]) {
        if let Ok(document) = Document::parse(&text) {
            prop_assert_eq!(Document::parse(&document.to_text()).unwrap().to_text(), document.to_text());
        }
        let _ = CloudConfig::from_yaml(&text, "a");
    }

    #[test]
    fn any_body_is_an_error_of_its_status(status in 300u16..600, body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let answer = http::Response::builder().status(status).body(Bytes::from(body.clone())).unwrap();
        let error = ApiError::decode("test", ServiceType::Compute, &answer, chrono::Utc::now());
        prop_assert_eq!(error.status.as_u16(), status);
        prop_assert!(error.message.len() <= 610);
        let _ = discovery::versions(&Bytes::from(body));
    }

    #[test]
    fn any_reason_is_taken_apart(text in prop_oneof!["[A-Za-z.: \\[\\]()0-9]{0,80}", ".{0,80}"]) {
        let reason = Reason::parse(&text);
        prop_assert!(reason.message.len() <= text.len());
        let _ = (reason.is_follower(), StackStatus::parse(&text).to_string());
    }
}

#[test]
fn alias_bombs_and_depth_are_refused() {
    let mut bomb = String::from("heat_template_version: x\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for n in 1..9 {
        let refs = vec![format!("*a{}", n - 1); 10].join(",");
        bomb += &format!("a{n}: &a{n} [{refs}]\n");
    }
    assert!(Document::parse(&bomb).is_err());
    assert!(Document::parse(&format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000))).is_err());
    assert!(Document::parse(&"x: 1\n".repeat(600_000)).is_err());
}

/// The texts in `fuzz/corpus` of a target, with their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    texts.sort();
    assert!(texts.len() >= 10, "{folder} has {}", texts.len());
    texts
}

/// What the targets in `fuzz/fuzz_targets` check, on their corpus, and what some of it must become.
#[test]
fn the_corpus_of_every_fuzz_target_is_read() {
    let mut documents = Vec::new();
    for (name, bytes) in corpus("hot_parse") {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        if let Ok(document) = Document::parse(text) {
            let written = document.to_text();
            assert_eq!(
                Document::parse(&written).unwrap().to_text(),
                written,
                "{name}"
            );
            documents.push(name);
        }
    }
    for read in [
        "minimal.yaml",
        "json.json",
        "block-scalars.yaml",
        "pyyaml-scalars.yaml",
    ] {
        assert!(
            documents.iter().any(|name| name == read),
            "{read} is a document"
        );
    }
    for refused in [
        "empty",
        "not-a-map.yaml",
        "duplicate-keys.yaml",
        "python-tag.yaml",
        "tabs.yaml",
    ] {
        assert!(
            documents.iter().all(|name| name != refused),
            "{refused} is no document"
        );
    }

    let mut clouds = Vec::new();
    for (name, bytes) in corpus("clouds_yaml") {
        let text = String::from_utf8_lossy(&bytes);
        match CloudConfig::from_yaml(&text, "a") {
            Ok(_) => clouds.push(name),
            Err(error) => assert!(!error.to_string().is_empty(), "{name}"),
        }
    }
    for read in [
        "password.yaml",
        "application-credential.yaml",
        "trust.yaml",
        "oidc.yaml",
    ] {
        assert!(clouds.iter().any(|name| name == read), "{read} is a cloud");
    }
    for refused in [
        "empty",
        "no-auth-url.yaml",
        "unknown-auth-type.yaml",
        "no-such-cloud.yaml",
    ] {
        assert!(
            clouds.iter().all(|name| name != refused),
            "{refused} is no cloud"
        );
    }

    for (name, bytes) in corpus("error_body") {
        let [high, low, service, body @ ..] = bytes.as_slice() else {
            panic!("{name} is too short")
        };
        let status = 300 + u16::from_be_bytes([*high, *low]) % 300;
        let services = [
            ServiceType::Orchestration,
            ServiceType::Compute,
            ServiceType::Network,
            ServiceType::Identity,
        ];
        let service = services[usize::from(*service) % services.len()];
        let body = Bytes::copy_from_slice(body);
        let answer = http::Response::builder().status(status).body(body).unwrap();
        let error = ApiError::decode("test", service, &answer, chrono::Utc::now());
        assert_eq!(error.status.as_u16(), status, "{name}");
        assert!(error.message.len() <= 610, "{name}");
        assert!(!error.to_string().contains("Traceback"), "{name}: {error}");
    }
}
