//! Merging of objects: JSON merge patch, strategic merge patch, JSON patch, and the list keys.

use serde_json::{Map, Value};

use super::error::ApiError;

/// The keys by which a list of objects is merged rather than replaced; by the list's field name,
/// as the types of Kubernetes declare them. Absent: the list is atomic.
pub(crate) fn list_keys(field: &str, items: &[Value]) -> Option<&'static [&'static str]> {
    let keys: &'static [&'static str] = match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets" => &["name"],
        "ports" if items.iter().all(|i| i.get("containerPort").is_some()) => {
            &["containerPort", "protocol"]
        }
        "ports" if items.iter().all(|i| i.get("port").is_some()) => &["port", "protocol"],
        "volumeMounts" => &["mountPath"],
        "conditions" | "addresses" => &["type"],
        "hostAliases" => &["ip"],
        "ownerReferences" => &["uid"],
        "taints" => &["key", "effect"],
        _ => return None,
    };
    items
        .iter()
        .all(|i| i.get(keys[0]).is_some())
        .then_some(keys)
}

/// The value of one key of a list item, with the default a server would fill in.
pub(crate) fn key_value(item: &Value, key: &str) -> Value {
    match item.get(key) {
        Some(v) => v.clone(),
        None if key == "protocol" => "TCP".into(),
        None => Value::Null,
    }
}

fn same_item(a: &Value, b: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|k| key_value(a, k) == key_value(b, k))
}

/// RFC 7396.
pub(crate) fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    let into = as_object(target);
    for (key, value) in patch {
        if value.is_null() {
            into.shift_remove(key);
        } else {
            merge_patch(into.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Strategic merge patch: lists of objects by their keys, `$patch`, `$deleteFromPrimitiveList`.
pub(crate) fn strategic_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if patch.get("$patch").is_some_and(|p| p == "replace") {
        let mut whole = patch.clone();
        whole.shift_remove("$patch");
        *target = Value::Object(whole);
        return;
    }
    let into = as_object(target);
    for (key, value) in patch {
        if key.starts_with("$setElementOrder/") || key == "$retainKeys" || key == "$patch" {
            continue;
        }
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            if let Some(list) = into.get_mut(field).and_then(Value::as_array_mut) {
                let gone = value.as_array().cloned().unwrap_or_default();
                list.retain(|i| !gone.contains(i));
            }
            continue;
        }
        match value {
            Value::Null => {
                into.shift_remove(key);
            }
            Value::Array(items) => {
                strategic_list(key, into.entry(key.clone()).or_insert(Value::Null), items);
            }
            _ => strategic_patch(into.entry(key.clone()).or_insert(Value::Null), value),
        }
    }
}

fn strategic_list(field: &str, target: &mut Value, items: &[Value]) {
    let named: Vec<Value> = items
        .iter()
        .filter(|i| i.get("$patch").is_none_or(|p| p == "delete"))
        .cloned()
        .collect();
    // Strategic merge goes by the first key only (taints: key), unlike server-side apply.
    let keys = if field == "finalizers" {
        None
    } else {
        list_keys(field, &named).map(|k| &k[..1])
    };
    let replace = items
        .iter()
        .any(|i| i.get("$patch").is_some_and(|p| p == "replace"));
    let Some(keys) = keys.filter(|_| !replace) else {
        let plain = items.iter().filter(|i| i.get("$patch").is_none()).cloned();
        if field == "finalizers" {
            let mut merged = target.as_array().cloned().unwrap_or_default();
            merged.extend(plain.filter(|i| !target.as_array().is_some_and(|t| t.contains(i))));
            *target = Value::Array(merged);
        } else {
            *target = Value::Array(plain.collect());
        }
        return;
    };
    let mut list = target.as_array().cloned().unwrap_or_default();
    for item in &named {
        let found = list.iter().position(|old| same_item(old, item, keys));
        let delete = item.get("$patch").is_some();
        match found {
            Some(i) if delete => {
                list.remove(i);
            }
            Some(i) => strategic_patch(&mut list[i], item),
            None if delete => {}
            None => list.push(item.clone()),
        }
    }
    *target = Value::Array(list);
}

/// Lays an applied configuration over the live object: lists of objects by all their keys.
pub(crate) fn overlay(target: &mut Value, applied: &Value) {
    let Value::Object(applied) = applied else {
        *target = applied.clone();
        return;
    };
    let into = as_object(target);
    for (key, value) in applied {
        let place = into.entry(key.clone()).or_insert(Value::Null);
        match value {
            Value::Array(items) if !items.is_empty() => match list_keys(key, items) {
                Some(keys) => {
                    let mut list = place.as_array().cloned().unwrap_or_default();
                    for item in items {
                        match list.iter().position(|old| same_item(old, item, keys)) {
                            Some(i) => overlay(&mut list[i], item),
                            None => list.push(item.clone()),
                        }
                    }
                    *place = Value::Array(list);
                }
                None => *place = value.clone(),
            },
            _ => overlay(place, value),
        }
    }
}

fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value
        .as_object_mut()
        .expect("made an object in the line above")
}

/// RFC 6902: add, remove, replace, test (no copy and move: nobody sends them).
pub(crate) fn json_patch(target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let wrong = |why: String| {
        ApiError::new(
            422,
            "Invalid",
            format!("the server rejected our request: {why}"),
        )
    };
    let steps = patch
        .as_array()
        .ok_or_else(|| ApiError::bad_request("a JSON patch is a list"))?;
    for step in steps {
        let (op, path) = (
            step["op"].as_str().unwrap_or_default(),
            step["path"].as_str().unwrap_or_default(),
        );
        if op == "test" {
            if target.pointer(path).unwrap_or(&Value::Null) != &step["value"] {
                return Err(wrong(format!("testing path {path} value failed")));
            }
            continue;
        }
        let (parent, last) = path
            .rsplit_once('/')
            .ok_or_else(|| wrong(format!("bad path {path:?}")))?;
        let last = last.replace("~1", "/").replace("~0", "~");
        let place = target
            .pointer_mut(parent)
            .ok_or_else(|| wrong(format!("no value at {parent:?}")))?;
        let done = match (place, op) {
            (Value::Object(map), "add" | "replace") => {
                map.insert(last, step["value"].clone());
                true
            }
            (Value::Object(map), "remove") => map.shift_remove(&last).is_some(),
            (Value::Array(list), "add") if last == "-" => {
                list.push(step["value"].clone());
                true
            }
            (Value::Array(list), _) => match (last.parse::<usize>(), op) {
                (Ok(i), "add") if i <= list.len() => {
                    list.insert(i, step["value"].clone());
                    true
                }
                (Ok(i), "replace") if i < list.len() => {
                    list[i] = step["value"].clone();
                    true
                }
                (Ok(i), "remove") if i < list.len() => {
                    list.remove(i);
                    true
                }
                _ => false,
            },
            _ => false,
        };
        if !done {
            return Err(wrong(format!("cannot {op} at {path:?}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn merge_patch_removes_nulls() {
        let mut target = json!({"a": {"b": 1, "c": 2}});
        merge_patch(&mut target, &json!({"a": {"b": null, "d": 3}}));
        assert_eq!(target, json!({"a": {"c": 2, "d": 3}}));
    }

    #[test]
    fn strategic_lists_merge_by_key() {
        let mut target = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}});
        let patch = json!({"spec": {
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}]}});
        strategic_patch(&mut target, &patch);
        assert_eq!(
            target,
            json!({"spec": {"containers": [{"name": "a", "image": "2"}]}})
        );
    }

    #[test]
    fn json_patches_apply_or_say_why() {
        let mut target = json!({"metadata": {"labels": {"a/b": "1"}}, "l": [1]});
        let patch = json!([
            {"op": "test", "path": "/metadata/labels/a~1b", "value": "1"},
            {"op": "remove", "path": "/metadata/labels/a~1b"},
            {"op": "add", "path": "/l/-", "value": 2}]);
        json_patch(&mut target, &patch).unwrap();
        assert_eq!(target, json!({"metadata": {"labels": {}}, "l": [1, 2]}));
        assert!(json_patch(&mut target, &json!([{"op": "remove", "path": "/x"}])).is_err());
    }
}
