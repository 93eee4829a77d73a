//! `OS::Heat::None`, `Value`, `RandomString` and `TestResource`: nothing outside Heat.

use serde_json::{Value, json};

use super::{Context, Created, physical_name};
use crate::openstack::heat::failure::Failure;
use crate::openstack::heat::model::Resource;

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";
const OCTETS: &[u8] = b"!#$%&'()*+,-./:;<=>?@[]^_`{|}~";

pub(super) fn create(cx: &Context<'_>) -> Created {
    let mut created = Created {
        id: physical_name(&cx.resource),
        ..Created::default()
    };
    if cx.resource.kind == "OS::Heat::RandomString" {
        created.data.insert("value".to_owned(), json!(random(cx)));
    }
    created
        .data
        .insert("began".to_owned(), json!(cx.cloud.now().timestamp_millis()));
    created
}

fn random(cx: &Context<'_>) -> String {
    let length = cx
        .get("length")
        .and_then(Value::as_u64)
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(32);
    let classes = cx.get("character_classes").and_then(Value::as_array);
    let mut alphabet: Vec<u8> = Vec::new();
    for class in classes.into_iter().flatten() {
        match class["class"].as_str().unwrap_or("lettersdigits") {
            "letters" => alphabet.extend(LETTERS),
            "uppercase" => alphabet.extend(&LETTERS[..26]),
            "lowercase" => alphabet.extend(&LETTERS[26..]),
            "digits" => alphabet.extend(DIGITS),
            "hexdigits" => alphabet.extend(b"0123456789abcdef"),
            "octdigits" => alphabet.extend(b"01234567"),
            "punctuation" => alphabet.extend(OCTETS),
            _ => alphabet.extend(LETTERS.iter().chain(DIGITS)),
        }
    }
    if alphabet.is_empty() {
        alphabet.extend(LETTERS.iter().chain(DIGITS));
    }
    pick(cx, &alphabet, length)
}

/// Random text from an alphabet.
pub(super) fn pick(cx: &Context<'_>, alphabet: &[u8], length: usize) -> String {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a small index"
    )]
    let one = || {
        alphabet
            [((cx.cloud.ids().fraction() * alphabet.len() as f64) as usize).min(alphabet.len() - 1)]
    };
    (0..length).map(|_| char::from(one())).collect()
}

/// For test resources: waits and fails as its properties say.
pub(super) fn settled(cx: &Context<'_>, action: &str) -> Result<bool, Failure> {
    let wait = cx
        .get("action_wait_secs")
        .and_then(|w| w.get(action))
        .or_else(|| cx.get("wait_secs"));
    let wait = wait.and_then(Value::as_f64).unwrap_or(0.0);
    let began = match action {
        "create" => cx
            .resource
            .data
            .get("began")
            .and_then(Value::as_i64)
            .unwrap_or(0),
        _ => cx.resource.updated.timestamp_millis(),
    };
    #[allow(clippy::cast_precision_loss, reason = "milliseconds")]
    let passed = (cx.cloud.now().timestamp_millis() - began) as f64 / 1000.0;
    if passed < wait {
        return Ok(false);
    }
    if cx.flag("fail") && action != "delete" {
        return Err(Failure::new(
            "ValueError",
            format!("Test Resource failed {}", cx.resource.name),
        ));
    }
    Ok(true)
}

pub(super) fn live(resource: &Resource) -> Value {
    match resource.kind.as_str() {
        "OS::Heat::RandomString" => json!({"value": resource.data.get("value")}),
        "OS::Heat::Value" => json!({"value": resource.properties.get("value")}),
        "OS::Heat::TestResource" => json!({"output": resource.properties.get("value")}),
        _ => json!({}),
    }
}
