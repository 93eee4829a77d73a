//! Server-side apply: who owns which field, conflicts, and removal of what is no longer applied.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::merge::{key_value, list_keys, overlay};

/// One step of a path, as in `fieldsV1`: `f:name` or `k:{"name":"x"}`.
type Path = Vec<String>;
type FieldSet = BTreeSet<Path>;

/// Fields nobody owns.
fn is_ignored(path: &[String]) -> bool {
    let plain: Vec<&str> = path.iter().map(|p| p.trim_start_matches("f:")).collect();
    match plain.as_slice() {
        ["apiVersion" | "kind"] => true,
        ["metadata", rest, ..] => matches!(
            *rest,
            "name"
                | "namespace"
                | "uid"
                | "resourceVersion"
                | "creationTimestamp"
                | "managedFields"
                | "generation"
                | "selfLink"
                | "generateName"
        ),
        _ => false,
    }
}

/// All leaf fields of an object.
pub(crate) fn fields(object: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    collect(object, &mut Vec::new(), &mut set);
    set
}

fn collect(value: &Value, path: &mut Path, set: &mut FieldSet) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                path.push(format!("f:{key}"));
                if !is_ignored(path) {
                    match value {
                        Value::Array(items)
                            if !items.is_empty() && list_keys(key, items).is_some() =>
                        {
                            let keys = list_keys(key, items).unwrap_or_default();
                            for item in items {
                                path.push(item_key(item, keys));
                                collect(item, path, set);
                                path.pop();
                            }
                        }
                        _ => collect(value, path, set),
                    }
                }
                path.pop();
            }
        }
        _ => {
            if !path.is_empty() {
                set.insert(path.clone());
            }
        }
    }
}

fn item_key(item: &Value, keys: &[&str]) -> String {
    let named: Map<String, Value> = keys
        .iter()
        .map(|k| ((*k).to_owned(), key_value(item, k)))
        .collect();
    format!("k:{}", Value::Object(named))
}

fn find_item<'a>(list: &'a [Value], step: &str) -> Option<&'a Value> {
    list.get(position(list, step)?)
}

fn position(list: &[Value], step: &str) -> Option<usize> {
    let wanted: Map<String, Value> = serde_json::from_str(step.strip_prefix("k:")?).ok()?;
    list.iter()
        .position(|item| wanted.iter().all(|(k, v)| key_value(item, k) == *v))
}

fn lookup<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, step| match step.strip_prefix("f:") {
            Some(field) => value.get(field),
            None => find_item(value.as_array()?, step),
        })
}

/// Removes a field, and what becomes empty above it.
fn remove(object: &mut Value, path: &[String]) {
    let Some((step, rest)) = path.split_first() else {
        return;
    };
    if let Some(field) = step.strip_prefix("f:") {
        let Some(map) = object.as_object_mut() else {
            return;
        };
        if rest.is_empty() {
            map.shift_remove(field);
            return;
        }
        if let Some(inner) = map.get_mut(field) {
            remove(inner, rest);
            if is_empty(inner) {
                map.shift_remove(field);
            }
        }
    } else if let Some(list) = object.as_array_mut() {
        let Some(i) = position(list, step) else {
            return;
        };
        remove(&mut list[i], rest);
        // An item of which only its own keys are left was ours alone.
        let keys: Map<String, Value> =
            serde_json::from_str(step.trim_start_matches("k:")).unwrap_or_default();
        if list[i]
            .as_object()
            .is_none_or(|m| m.keys().all(|k| keys.contains_key(k)))
        {
            list.remove(i);
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(m) => m.is_empty(),
        Value::Array(a) => a.is_empty(),
        _ => false,
    }
}

fn encode(set: &FieldSet) -> Value {
    let mut root = json!({});
    for path in set {
        let mut node = &mut root;
        for step in path {
            if !node[step].is_object() {
                node[step] = json!({});
                if step.starts_with("k:") {
                    node[step]["."] = json!({});
                }
            }
            node = &mut node[step];
        }
    }
    root
}

fn decode(value: &Value) -> FieldSet {
    fn walk(value: &Value, path: &mut Path, set: &mut FieldSet) {
        let Some(map) = value.as_object() else { return };
        let mut leaf = true;
        for (step, inner) in map.iter().filter(|(s, _)| *s != ".") {
            leaf = false;
            path.push(step.clone());
            walk(inner, path, set);
            path.pop();
        }
        if leaf && !path.is_empty() {
            set.insert(path.clone());
        }
    }
    let mut set = FieldSet::new();
    walk(value, &mut Vec::new(), &mut set);
    set
}

/// Who writes, and how.
#[derive(Debug, Clone)]
pub(crate) struct Writer<'a> {
    /// `fieldManager`, or the client's program name.
    pub(crate) manager: &'a str,
    /// `status`, or empty.
    pub(crate) subresource: &'a str,
    pub(crate) now: &'a str,
}

struct Owner {
    entry: Value,
    set: FieldSet,
}

impl Owner {
    fn is(&self, writer: &Writer<'_>, operation: &str) -> bool {
        self.entry["manager"] == writer.manager
            && self.entry["operation"] == operation
            && self.entry["subresource"].as_str().unwrap_or_default() == writer.subresource
    }
}

fn owners(live: Option<&Value>) -> Vec<Owner> {
    let listed = live.and_then(|l| l["metadata"]["managedFields"].as_array());
    let list = listed.map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|e| Owner {
            entry: e.clone(),
            set: decode(&e["fieldsV1"]),
        })
        .collect()
}

fn write_owners(object: &mut Value, owners: Vec<Owner>) {
    let list: Vec<Value> = owners
        .into_iter()
        .filter(|o| !o.set.is_empty())
        .map(|mut o| {
            o.entry["fieldsV1"] = encode(&o.set);
            o.entry
        })
        .collect();
    object["metadata"]["managedFields"] = list.into();
}

fn claim(
    owners: &mut Vec<Owner>,
    writer: &Writer<'_>,
    operation: &str,
    api_version: &Value,
    set: FieldSet,
) {
    if let Some(mine) = owners.iter_mut().find(|o| o.is(writer, operation)) {
        if mine.set != set {
            mine.entry["time"] = writer.now.into();
        }
        mine.entry["apiVersion"] = api_version.clone();
        mine.set = set;
        return;
    }
    let mut entry = json!({
        "manager": writer.manager, "operation": operation, "apiVersion": api_version,
        "time": writer.now, "fieldsType": "FieldsV1",
    });
    if !writer.subresource.is_empty() {
        entry["subresource"] = writer.subresource.into();
    }
    owners.push(Owner { entry, set });
}

/// The object after an apply, or the 409 that names the fields others own.
pub(crate) fn apply(
    live: Option<&Value>,
    applied: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Value, ApiError> {
    let wanted = fields(applied);
    let mut owners = owners(live);
    let mut object = live.cloned().unwrap_or_else(|| json!({}));
    let mut conflicts: Vec<(String, Path)> = Vec::new();
    for owner in owners.iter().filter(|o| !o.is(writer, "Apply")) {
        let name = owner.entry["manager"].as_str().unwrap_or_default();
        for path in wanted.intersection(&owner.set) {
            if lookup(&object, path) != lookup(applied, path) {
                conflicts.push((name.to_owned(), path.clone()));
            }
        }
    }
    if !conflicts.is_empty() && !force {
        return Err(conflict_error(&conflicts));
    }
    for (_, path) in &conflicts {
        for owner in owners.iter_mut().filter(|o| !o.is(writer, "Apply")) {
            owner.set.remove(path);
        }
    }
    let before = owners
        .iter()
        .find(|o| o.is(writer, "Apply"))
        .map(|o| o.set.clone())
        .unwrap_or_default();
    for path in before.difference(&wanted) {
        if !owners
            .iter()
            .any(|o| !o.is(writer, "Apply") && o.set.contains(path))
        {
            remove(&mut object, path);
        }
    }
    overlay(&mut object, applied);
    claim(&mut owners, writer, "Apply", &applied["apiVersion"], wanted);
    write_owners(&mut object, owners);
    Ok(object)
}

fn conflict_error(conflicts: &[(String, Path)]) -> ApiError {
    let dotted = |path: &Path| {
        path.iter()
            .map(|s| {
                s.strip_prefix("f:")
                    .map_or_else(|| format!("[{}]", &s[2..]), |f| format!(".{f}"))
            })
            .collect::<String>()
    };
    let plural = if conflicts.len() == 1 { "" } else { "s" };
    let first = &conflicts[0];
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(manager, path)| {
            json!({"reason": "FieldManagerConflict", "message": format!("conflict with \"{manager}\""), "field": dotted(path)})
        })
        .collect();
    ApiError::new(
        409,
        "Conflict",
        format!(
            "Apply failed with {} conflict{plural}: conflict with \"{}\": {}",
            conflicts.len(),
            first.0,
            dotted(&first.1)
        ),
    )
    .with_details(json!({"causes": causes}))
}

/// Notes the owners after a create, update or patch: the writer owns what it changed.
pub(crate) fn track(live: Option<&Value>, object: &mut Value, writer: &Writer<'_>) {
    let mut owners = owners(live);
    let now = fields(object);
    let null = json!({});
    let old = live.unwrap_or(&null);
    let changed: FieldSet = now
        .iter()
        .filter(|p| lookup(old, p) != lookup(object, p))
        .cloned()
        .collect();
    for owner in &mut owners {
        let mine = owner.is(writer, "Update");
        owner
            .set
            .retain(|p| now.contains(p) && (mine || !changed.contains(p)));
    }
    let mut set = owners
        .iter()
        .find(|o| o.is(writer, "Update"))
        .map(|o| o.set.clone())
        .unwrap_or_default();
    set.extend(changed);
    let api_version = object["apiVersion"].clone();
    claim(&mut owners, writer, "Update", &api_version, set);
    write_owners(object, owners);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(manager: &str) -> Writer<'_> {
        Writer {
            manager,
            subresource: "",
            now: "2026-01-01T00:00:00Z",
        }
    }

    #[test]
    fn what_is_no_longer_applied_goes() {
        let first = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}});
        let live = apply(None, &first, &writer("kit"), false).unwrap();
        let second = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
        let live = apply(Some(&live), &second, &writer("kit"), false).unwrap();
        assert_eq!(live["data"], json!({"a": "1"}));
    }

    #[test]
    fn others_fields_conflict_until_forced() {
        let mut live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": 1}});
        track(None, &mut live, &writer("kubectl"));
        let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": 3}});
        let err = apply(Some(&live), &wanted, &writer("kit"), false).unwrap_err();
        assert_eq!(err.code, 409);
        assert!(
            err.message
                .contains("conflict with \"kubectl\": .spec.replicas"),
            "{}",
            err.message
        );
        let live = apply(Some(&live), &wanted, &writer("kit"), true).unwrap();
        assert_eq!(live["spec"]["replicas"], 3);
        // The same value is shared without a conflict.
        apply(Some(&live), &wanted, &writer("other"), false).unwrap();
    }

    #[test]
    fn list_items_are_owned_by_key() {
        let first = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}});
        let live = apply(None, &first, &writer("kit"), false).unwrap();
        let second = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "b", "image": "2"}]}});
        let live = apply(Some(&live), &second, &writer("kit"), false).unwrap();
        assert_eq!(
            live["spec"]["containers"],
            json!([{"name": "b", "image": "2"}])
        );
        let owned = decode(&live["metadata"]["managedFields"][0]["fieldsV1"]);
        assert!(
            owned
                .iter()
                .any(|p| p.contains(&"k:{\"name\":\"b\"}".to_owned())),
            "{owned:?}"
        );
    }
}
