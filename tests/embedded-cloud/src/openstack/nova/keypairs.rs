//! Key pairs; they belong to users, not to projects.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Map, Value, json};

use super::super::ApiError;
use super::super::ask::{Answer, Ask};
use super::Nova;
use super::model::{Keypair, bad, conflict, missing};
use super::views::View;

/// A fingerprint of a public key in OpenSSH's form, or `None` when it is not one.
#[must_use]
pub fn fingerprint(public_key: &str) -> Option<String> {
    let mut words = public_key.split_whitespace();
    let kind = words.next()?;
    let blob = STANDARD.decode(words.next()?).ok()?;
    let length = usize::try_from(u32::from_be_bytes(blob.get(..4)?.try_into().ok()?)).ok()?;
    if blob.get(4..4 + length)? != kind.as_bytes() {
        return None;
    }
    let digest = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, &blob);
    Some(
        digest
            .as_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(":"),
    )
}

pub(super) fn answer(
    nova: &Arc<Nova>,
    ask: &Ask,
    view: View<'_>,
    rest: &[&str],
) -> Result<Answer, ApiError> {
    let user = ask
        .param("user_id")
        .filter(|_| ask.caller.is_admin)
        .unwrap_or(&ask.caller.user_id)
        .to_owned();
    let lost = |name: &str| missing(format!("Keypair {name} not found for user {user}"));
    match (&ask.method, rest) {
        (&Method::GET, []) => {
            let mut own = nova.state.read(|s| {
                s.keypairs
                    .iter()
                    .filter(|k| k.user_id == user)
                    .cloned()
                    .collect::<Vec<_>>()
            });
            own.sort_by(|a, b| a.name.cmp(&b.name));
            let views: Vec<Value> = own
                .iter()
                .map(|k| json!({"keypair": view.keypair(k)}))
                .collect();
            Ok(Answer::json(200, json!({"keypairs": views})))
        }
        (&Method::POST, []) => {
            let empty = Map::new();
            let body = ask.object("keypair").unwrap_or(&empty);
            let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default();
            let (name, key) = (text("name").to_owned(), text("public_key").to_owned());
            if key.is_empty() {
                return Err(ask.unknown());
            }
            let fingerprint = fingerprint(&key)
                .ok_or_else(|| bad("Keypair data is invalid: failed to generate fingerprint"))?;
            let made = nova.state.write(|s| {
                if s.keypairs
                    .iter()
                    .any(|k| k.name == name && k.user_id == user)
                {
                    return Err(conflict(format!("Key pair '{name}' already exists.")));
                }
                s.counter += 1;
                let keypair = Keypair {
                    id: s.counter,
                    name,
                    user_id: user.clone(),
                    kind: "ssh".to_owned(),
                    public_key: key,
                    fingerprint,
                    created_at: ask.cloud.now(),
                };
                s.keypairs.push(keypair.clone());
                Ok(keypair)
            })?;
            let mut shown = view.keypair(&made);
            shown["user_id"] = made.user_id.into();
            Ok(Answer::json(
                if view.version >= 2 { 201 } else { 200 },
                json!({"keypair": shown}),
            ))
        }
        (&Method::GET, [name]) => {
            let found = nova.state.read(|s| {
                s.keypairs
                    .iter()
                    .find(|k| k.name == *name && k.user_id == user)
                    .cloned()
            });
            let found = found.ok_or_else(|| lost(name))?;
            Ok(Answer::json(
                200,
                json!({"keypair": view.keypair_full(&found)}),
            ))
        }
        (&Method::DELETE, [name]) => nova.state.write(|s| {
            let before = s.keypairs.len();
            s.keypairs
                .retain(|k| !(k.name == *name && k.user_id == user));
            if s.keypairs.len() == before {
                return Err(lost(name));
            }
            Ok(Answer::empty(if view.version >= 2 { 204 } else { 202 }))
        }),
        _ => Err(ask.unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_keys_have_a_fingerprint() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKpyTQg6eG7VfXsZ0N0qg0wE2bD4tVvL1eQm9X0p3n5c test@testcloud";
        assert_eq!(fingerprint(key).unwrap().len(), 47);
        assert!(fingerprint("zzz").is_none());
        assert!(fingerprint("ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAA").is_none());
    }
}
