//! Server groups.

use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};

use super::super::ApiError;
use super::super::ask::{Answer, Ask};
use super::Nova;
use super::model::{ServerGroup, bad, forbidden, missing};
use super::text::shown;
use super::views::View;

const POLICIES: [&str; 4] = [
    "anti-affinity",
    "affinity",
    "soft-anti-affinity",
    "soft-affinity",
];

pub(super) fn answer(
    nova: &Arc<Nova>,
    ask: &Ask,
    view: View<'_>,
    rest: &[&str],
) -> Result<Answer, ApiError> {
    let caller = &ask.caller;
    let lost = |id: &str| missing(format!("Instance group {id} could not be found."));
    match (&ask.method, rest) {
        (&Method::GET, []) => {
            let all = caller.is_admin && ask.param("all_projects").is_some();
            let views: Vec<Value> = nova.state.read(|s| {
                let seen = s
                    .groups
                    .values()
                    .filter(|g| all || g.project_id == caller.project_id);
                seen.map(|g| view.group(g)).collect()
            });
            Ok(Answer::json(200, json!({"server_groups": views})))
        }
        (&Method::POST, []) => {
            let empty = Map::new();
            let body = ask.object("server_group").unwrap_or(&empty);
            let policy = if view.version >= 64 {
                body.get("policy")
            } else {
                body.get("policies").and_then(|p| p.get(0))
            };
            let policy = policy.cloned().unwrap_or(Value::Null);
            if !policy.as_str().is_some_and(|text| POLICIES.contains(&text)) {
                let known = POLICIES.map(|p| format!("'{p}'")).join(", ");
                let text = shown(&policy);
                return Err(bad(format!(
                    "Invalid input for field/attribute policy. Value: {text}. '{text}' is not one of [{known}]"
                )));
            }
            let group = ServerGroup {
                id: ask.cloud.uuid(),
                name: body
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                project_id: caller.project_id.clone(),
                user_id: caller.user_id.clone(),
                policy: shown(&policy),
                rules: body.get("rules").cloned().unwrap_or_else(|| json!({})),
                members: Vec::new(),
            };
            nova.state.write(|s| {
                let limit = s.limit(&caller.project_id, "server_groups");
                if limit >= 0 && s.used(&caller.project_id, "server_groups") >= limit.unsigned_abs()
                {
                    return Err(forbidden("Quota exceeded, too many server groups."));
                }
                s.groups.insert(group.id.clone(), group.clone());
                Ok(())
            })?;
            Ok(Answer::json(
                200,
                json!({"server_group": view.group(&group)}),
            ))
        }
        (&Method::GET, [id]) => {
            let found = nova.state.read(|s| {
                s.groups
                    .get(*id)
                    .filter(|g| caller.sees(&g.project_id))
                    .cloned()
            });
            let found = found.ok_or_else(|| lost(id))?;
            Ok(Answer::json(
                200,
                json!({"server_group": view.group(&found)}),
            ))
        }
        (&Method::DELETE, [id]) => nova.state.write(|s| {
            if !s
                .groups
                .get(*id)
                .is_some_and(|g| caller.sees(&g.project_id))
            {
                return Err(lost(id));
            }
            s.groups.shift_remove(*id);
            Ok(Answer::empty(204))
        }),
        _ => Err(ask.unknown()),
    }
}
