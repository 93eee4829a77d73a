//! Security groups and their rules.

use serde_json::{Map, Value, json};

use super::{Context, Created};
use crate::openstack::heat::failure::Failure;

const GROUP: &str = "neutron.security_group";
const RULES: &str = "/network/v2.0/security-group-rules";

fn plain_rule(rule: &Value, group: &str) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("security_group_id".to_owned(), json!(group));
    for (key, default) in [
        ("direction", json!("ingress")),
        ("ethertype", json!("IPv4")),
    ] {
        body.insert(
            key.to_owned(),
            rule.get(key)
                .filter(|v| !v.is_null())
                .cloned()
                .unwrap_or(default),
        );
    }
    for key in [
        "port_range_min",
        "port_range_max",
        "remote_ip_prefix",
        "description",
    ] {
        if let Some(value) = rule.get(key).filter(|v| !v.is_null()) {
            body.insert(key.to_owned(), value.clone());
        }
    }
    match rule.get("protocol").and_then(Value::as_str) {
        None | Some("" | "any") => {}
        Some(protocol) => {
            body.insert("protocol".to_owned(), json!(protocol));
        }
    }
    body
}

/// Adds the rules of the property `rules`; a remote mode of group without a group means the group itself.
async fn add_rules(cx: &Context<'_>, group: &str) -> Result<(), Failure> {
    let Some(Value::Array(rules)) = cx.get("rules") else {
        return Ok(());
    };
    if rules.iter().any(|r| r["direction"] == "egress") {
        let shown = cx
            .client
            .get(&format!("/network/v2.0/security-groups/{group}"))
            .await?;
        remove(cx, &shown, |rule| rule["direction"] == "egress").await?;
    }
    for rule in rules {
        let mut body = plain_rule(rule, group);
        if rule["remote_mode"] == "remote_group_id" {
            let remote = match rule.get("remote_group_id").and_then(Value::as_str) {
                Some(remote) if !remote.is_empty() => cx.find(GROUP, remote).await?,
                _ => group.to_owned(),
            };
            body.insert("remote_group_id".to_owned(), json!(remote));
        }
        match cx
            .client
            .post(RULES, json!({"security_group_rule": body}))
            .await
        {
            Ok(_) => {}
            // The same rule again is no error for Heat.
            Err(failure)
                if failure.status.as_u16() == 409
                    && failure.kind.starts_with("SecurityGroupRuleExists") => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

async fn remove(
    cx: &Context<'_>,
    group: &Value,
    which: impl Fn(&Value) -> bool,
) -> Result<(), Failure> {
    let rules = group
        .pointer("/security_group/security_group_rules")
        .and_then(Value::as_array);
    let rules: Vec<_> = rules
        .into_iter()
        .flatten()
        .filter(|r| which(r))
        .filter_map(|r| r["id"].as_str())
        .collect();
    for id in rules {
        cx.client.delete(&format!("{RULES}/{id}")).await?;
    }
    Ok(())
}

pub(super) async fn create_group(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    let mut body = json!({"name": cx.name()});
    if let Some(text) = cx.get("description") {
        body["description"] = text.clone();
    }
    let path = "/network/v2.0/security-groups";
    let answer = cx
        .client
        .post(path, json!({"security_group": body}))
        .await?;
    let created = Created::of(&answer, "security_group")?;
    if let Some(group) = &created
        && let Err(failure) = add_rules(cx, &group.id).await
    {
        // Real Heat keeps the id and removes the group later; here it must not be lost with the failure.
        cx.client.delete(&format!("{path}/{}", group.id)).await?;
        return Err(failure);
    }
    Ok(created)
}

pub(super) async fn update_group(cx: &Context<'_>, changed: &[&str]) -> Result<(), Failure> {
    let mut body = Map::new();
    if changed.contains(&"name") {
        body.insert("name".to_owned(), json!(cx.name()));
    }
    if changed.contains(&"description") {
        body.insert("description".to_owned(), json!(cx.text("description")));
    }
    let path = format!("/network/v2.0/security-groups/{}", cx.id());
    if !body.is_empty() {
        cx.client
            .put(&path, json!({"security_group": body}))
            .await?;
    }
    if changed.contains(&"rules") {
        let shown = cx.client.get(&path).await?;
        let egress = cx
            .get("rules")
            .and_then(Value::as_array)
            .is_some_and(|r| r.iter().any(|r| r["direction"] == "egress"));
        remove(cx, &shown, |rule| egress || rule["direction"] == "ingress").await?;
        add_rules(cx, cx.id()).await?;
    }
    Ok(())
}

pub(super) async fn create_rule(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    let group = cx.find(GROUP, cx.text("security_group")).await?;
    let mut body = plain_rule(&Value::Object(cx.resource.properties.clone()), &group);
    if !cx.text("remote_group").is_empty() {
        body.insert(
            "remote_group_id".to_owned(),
            json!(cx.find(GROUP, cx.text("remote_group")).await?),
        );
    }
    let answer = cx
        .client
        .post(RULES, json!({"security_group_rule": body}))
        .await?;
    Created::of(&answer, "security_group_rule")
}

pub(super) async fn delete(cx: &Context<'_>) -> Result<bool, Failure> {
    if cx.resource.kind == "OS::Neutron::SecurityGroupRule" {
        cx.client.delete(&format!("{RULES}/{}", cx.id())).await?;
        return Ok(true);
    }
    let path = format!("/network/v2.0/security-groups/{}", cx.id());
    // Rules first, so that two groups that name each other can go.
    if let Ok(shown) = cx.client.get(&path).await {
        remove(cx, &shown, |rule| !rule["remote_group_id"].is_null()).await?;
    }
    cx.client.delete(&path).await.map(|_| true)
}
