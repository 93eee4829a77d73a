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
