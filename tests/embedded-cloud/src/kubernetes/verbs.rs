//! get, list, watch, create, update, patch and delete of any resource.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Method, Response};
use serde_json::{Value, json};

use super::answer::{self, Body, now};
use super::apply::{Writer, apply, track};
use super::core::Core;
use super::csr;
use super::error::ApiError;
use super::identity::Identity;
use super::merge::{json_patch, merge_patch, strategic_patch};
use super::objects::{
    check_head, check_namespace, collect_garbage, key_of, prepare_change, prepare_new,
};
use super::protobuf;
use super::request::{Query, ResourcePath};
use super::resources::Resource;
use super::selector::Selector;
use super::store::Key;
use super::table::table;
use super::watch::{self, Wanted};

/// One authorized request for objects.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) core: Arc<Core>,
    pub(crate) who: Identity,
    pub(crate) method: Method,
    pub(crate) path: ResourcePath,
    pub(crate) resource: Arc<Resource>,
    pub(crate) query: Query,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) agent: String,
    pub(crate) body: Bytes,
}

impl Call {
    fn key(&self) -> Key {
        Key::new(
            &self.resource.table(),
            &self.path.namespace,
            &self.path.name,
        )
    }

    fn not_found(&self) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.plural, &self.path.name)
    }

    /// The sent object: JSON, or YAML for an apply.
    pub(crate) fn object(&self) -> Result<Value, ApiError> {
        if self.content_type.contains("protobuf") {
            return protobuf::decode(&self.body).ok_or_else(|| {
                ApiError::new(
                    415,
                    "UnsupportedMediaType",
                    "this server takes such objects as JSON only",
                )
            });
        }
        let text = std::str::from_utf8(&self.body)
            .map_err(|_| ApiError::bad_request("the body is not UTF-8"))?;
        let json_first = !self.content_type.contains("yaml") || text.trim_start().starts_with('{');
        let parsed = if json_first {
            serde_json::from_str(text).map_err(|e| e.to_string())
        } else {
            serde_saphyr::from_str(text).map_err(|e| e.to_string())
        };
        parsed.map_err(|e| ApiError::bad_request(format!("error decoding the body: {e}")))
    }

    fn manager(&self) -> String {
        match self.query.get("fieldManager") {
            "" => self.agent.split('/').next().unwrap_or("unknown").to_owned(),
            name => name.to_owned(),
        }
    }

    /// Answers one object, as a table if the client wants one.
    pub(crate) fn show(&self, status: u16, object: &Value) -> Response<Body> {
        if self.accept.contains("as=Table") && self.path.sub.is_empty() {
            let meta = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
            let include = self.query.get("includeObject");
            return answer::json(
                status,
                &table(
                    &self.resource,
                    std::iter::once(object),
                    &meta,
                    include,
                    true,
                ),
            );
        }
        answer::json(status, object)
    }

    fn wanted(&self) -> Result<Wanted, ApiError> {
        let as_table = self
            .accept
            .contains("as=Table")
            .then(|| self.query.get("includeObject").to_owned());
        Ok(Wanted {
            resource: self.resource.clone(),
            namespace: self.path.namespace.clone(),
            name: self.path.name.clone(),
            labels: Selector::parse(self.query.get("labelSelector"))?,
            fields: Selector::parse(self.query.get("fieldSelector"))?,
            as_table,
            bookmarks: self.query.is_true("allowWatchBookmarks"),
            initial_events: self.query.is_true("sendInitialEvents"),
        })
    }

    pub(crate) fn get(&self) -> Result<Response<Body>, ApiError> {
        let object = self
            .core
            .store
            .get(&self.key())
            .ok_or_else(|| self.not_found())?;
        Ok(self.show(200, &object))
    }

    pub(crate) fn watch(&self) -> Result<Response<Body>, ApiError> {
        let timeout = self.query.get("timeoutSeconds").parse().ok();
        let since = self.query.get("resourceVersion");
        Ok(answer::stream(watch::open(
            &self.core,
            self.wanted()?,
            since,
            timeout,
        )?))
    }

    pub(crate) fn list(&self) -> Result<Response<Body>, ApiError> {
        let wanted = self.wanted()?;
        let namespace = Some(self.path.namespace.as_str()).filter(|n| !n.is_empty());
        let (mut version, all) = self.core.store.list(&self.resource.table(), namespace);
        let mut items: Vec<Arc<Value>> = all.into_iter().filter(|o| wanted.matches(o)).collect();
        let token = self.query.get("continue");
        if !token.is_empty() {
            let decoded = URL_SAFE_NO_PAD
                .decode(token)
                .ok()
                .and_then(|b| serde_json::from_slice::<Value>(&b).ok());
            let start =
                decoded.ok_or_else(|| ApiError::bad_request("continue key is not valid"))?;
            version = start["rv"].as_u64().unwrap_or(version);
            let place = |o: &Value| {
                let m = &o["metadata"];
                (
                    m["namespace"].as_str().unwrap_or_default().to_owned(),
                    m["name"].as_str().unwrap_or_default().to_owned(),
                )
            };
            let last = place(&start);
            items.retain(|o| place(o) > last);
        }
        let mut meta = json!({"resourceVersion": version.to_string()});
        if let Some(limit) = self
            .query
            .get("limit")
            .parse::<usize>()
            .ok()
            .filter(|l| *l > 0 && *l < items.len())
        {
            let left = items.len() - limit;
            items.truncate(limit);
            let m = &items[limit - 1]["metadata"];
            let next = json!({"rv": version, "metadata": {"namespace": m["namespace"], "name": m["name"]}});
            meta["continue"] = URL_SAFE_NO_PAD.encode(next.to_string()).into();
            meta["remainingItemCount"] = left.into();
        }
        if let Some(include) = &wanted.as_table {
            let rows = items.iter().map(AsRef::as_ref);
            return Ok(answer::json(
                200,
                &table(&self.resource, rows, &meta, include, true),
            ));
        }
        let head = json!({
            "kind": format!("{}List", self.resource.kind), "apiVersion": self.resource.api_version(), "metadata": meta,
        });
        Ok(answer::raw(200, answer::list_bytes(&head, &items)))
    }

    /// What must follow a stored object: definitions become resources.
    fn stored(&self, object: &Value) {
        if object["kind"] == "CustomResourceDefinition" {
            self.core.with_resources(|r| r.add_definition(object));
        }
    }

    pub(crate) fn create(&self) -> Result<Response<Body>, ApiError> {
        let mut object = self.object()?;
        check_head(&self.resource, &self.path.namespace, "", &mut object)?;
        check_namespace(&self.core, &self.resource, &self.path.namespace)?;
        let mut object = prepare_new(&self.core, &self.who, &self.resource, object)?;
        let (manager, now) = (self.manager(), now());
        track(
            None,
            &mut object,
            &Writer {
                manager: &manager,
                subresource: "",
                now: &now,
            },
        );
        let key = key_of(&self.resource.table(), &object);
        let exists = |name: &str| {
            ApiError::already_exists(&self.resource.group, &self.resource.plural, name)
        };
        if self.query.dry_run() {
            return if self.core.store.get(&key).is_some() {
                Err(exists(&key.name))
            } else {
                Ok(self.show(201, &object))
            };
        }
        let stored = self.core.store.edit(&key, |old| match old {
            Some(_) => Err(exists(&key.name)),
            None => Ok(Some(object)),
        })?;
        let stored = stored.unwrap_or_default();
        self.stored(&stored);
        Ok(self.show(201, &stored))
    }

    /// Applies a change to an object that is there, and answers it.
    fn change(
        &self,
        edit: impl FnOnce(&Value) -> Result<Value, ApiError>,
    ) -> Result<Response<Body>, ApiError> {
        let (manager, now) = (self.manager(), now());
        let sub = self.path.sub.as_str();
        let dry = self.query.dry_run();
        let mut result = Value::Null;
        let write = |old: Option<&Value>| {
            let old = old.ok_or_else(|| self.not_found())?;
            let new = edit(old)?;
            let mut new = prepare_change(&self.resource, old, new, sub)?;
            track(
                Some(old),
                &mut new,
                &Writer {
                    manager: &manager,
                    subresource: sub,
                    now: &now,
                },
            );
            if new["kind"] == "CertificateSigningRequest" && !sub.is_empty() {
                csr::sign_if_approved(&mut new, &self.core.authority);
            }
            result = new.clone();
            Ok(Some(if dry { old.clone() } else { new }))
        };
        let lease = self.resource.plural == "leases";
        let stored = if lease {
            self.core.store.edit_volatile(&self.key(), write)?
        } else {
            self.core.store.edit(&self.key(), write)?
        };
        if dry {
            return Ok(self.show(200, &result));
        }
        let stored = stored.unwrap_or_default();
        self.stored(&stored);
        if is_finished(&stored) {
            let _ = self.core.store.edit(&self.key(), |_| Ok(None));
            collect_garbage(&self.core, &stored);
        }
        Ok(self.show(200, &stored))
    }

    pub(crate) fn update(&self) -> Result<Response<Body>, ApiError> {
        let mut object = self.object()?;
        check_head(
            &self.resource,
            &self.path.namespace,
            &self.path.name,
            &mut object,
        )?;
        self.change(|_| Ok(object))
    }

    pub(crate) fn patch(&self) -> Result<Response<Body>, ApiError> {
        let patch = self.object()?;
        let kind = self
            .content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        let with = match kind {
            "application/apply-patch+yaml" | "application/apply-patch+json" => {
                return self.apply(patch);
            }
            "application/merge-patch+json" => |o: &mut Value, p: &Value| {
                merge_patch(o, p);
                Ok(())
            },
            "application/strategic-merge-patch+json" => |o: &mut Value, p: &Value| {
                strategic_patch(o, p);
                Ok(())
            },
            "application/json-patch+json" => json_patch,
            other => {
                return Err(ApiError::new(
                    415,
                    "UnsupportedMediaType",
                    format!("the body of the request was in an unknown format: {other}"),
                ));
            }
        };
        self.change(|old| {
            let mut new = old.clone();
            with(&mut new, &patch)?;
            Ok(new)
        })
    }

    fn apply(&self, mut applied: Value) -> Result<Response<Body>, ApiError> {
        if self.query.get("fieldManager").is_empty() {
            return Err(ApiError::bad_request(
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            ));
        }
        if applied["apiVersion"].is_null() || applied["kind"].is_null() {
            return Err(ApiError::bad_request(
                "the applied object must have apiVersion and kind",
            ));
        }
        check_head(
            &self.resource,
            &self.path.namespace,
            &self.path.name,
            &mut applied,
        )?;
        if applied["metadata"]
            .get("managedFields")
            .is_some_and(|m| !m.is_null())
        {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        let (now, sub, force) = (now(), self.path.sub.as_str(), self.query.is_true("force"));
        if !sub.is_empty()
            && let Some(map) = applied.as_object_mut()
        {
            map.retain(|k, _| matches!(k.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        }
        if sub.is_empty() && self.core.store.get(&self.key()).is_none() {
            check_namespace(&self.core, &self.resource, &self.path.namespace)?;
        }
        let writer = Writer {
            manager: self.query.get("fieldManager"),
            subresource: sub,
            now: &now,
        };
        let (dry, mut created, mut result) = (self.query.dry_run(), false, Value::Null);
        let stored = self.core.store.edit(&self.key(), |old| {
            let merged = apply(old, &applied, &writer, force)?;
            let new = match old {
                Some(old) => prepare_change(&self.resource, old, merged, sub)?,
                None if sub.is_empty() => {
                    created = true;
                    prepare_new(&self.core, &self.who, &self.resource, merged)?
                }
                None => return Err(self.not_found()),
            };
            result = new.clone();
            Ok(if dry {
                old.cloned()
            } else {
                Some(unchanged_but_times(old, new))
            })
        })?;
        let status = if created { 201 } else { 200 };
        if dry {
            return Ok(self.show(status, &result));
        }
        let stored = stored.unwrap_or_default();
        self.stored(&stored);
        Ok(self.show(status, &stored))
    }

    pub(crate) fn delete(&self) -> Result<Response<Body>, ApiError> {
        let options = self.delete_options();
        let gone = self
            .remove(&self.key(), &options)?
            .ok_or_else(|| self.not_found())?;
        if gone["kind"] == "Pod" || gone["metadata"]["deletionTimestamp"].is_string() {
            return Ok(self.show(200, &gone));
        }
        Ok(answer::json(
            200,
            &json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": {"name": self.path.name, "group": self.resource.group, "kind": self.resource.plural, "uid": gone["metadata"]["uid"]},
            }),
        ))
    }

    pub(crate) fn delete_collection(&self) -> Result<Response<Body>, ApiError> {
        let (wanted, options) = (self.wanted()?, self.delete_options());
        let table = self.resource.table();
        let namespace = Some(self.path.namespace.as_str()).filter(|n| !n.is_empty());
        for object in self
            .core
            .store
            .list(&table, namespace)
            .1
            .iter()
            .filter(|o| wanted.matches(o))
        {
            self.remove(&key_of(&table, object), &options)?;
        }
        Ok(answer::json(
            200,
            &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}),
        ))
    }

    fn delete_options(&self) -> Value {
        let mut options: Value = serde_json::from_slice(&self.body).unwrap_or_else(|_| json!({}));
        if !self.query.get("propagationPolicy").is_empty() {
            options["propagationPolicy"] = self.query.get("propagationPolicy").into();
        }
        if self.query.dry_run() {
            options["dryRun"] = json!(["All"]);
        }
        options
    }

    /// Deletes one object, or marks it when finalizers are left. The answer is its last state.
    pub(crate) fn remove(
        &self,
        key: &Key,
        options: &Value,
    ) -> Result<Option<Arc<Value>>, ApiError> {
        let dry = options["dryRun"].is_array();
        let gone = self.core.store.edit(key, |old| {
            let Some(old) = old else { return Ok(None) };
            for field in ["uid", "resourceVersion"] {
                let wish = &options["preconditions"][field];
                if !wish.is_null() && *wish != old["metadata"][field] {
                    let why = format!("Precondition failed: {field} in precondition: {wish}, {field} in object meta: {}", old["metadata"][field]);
                    return Err(ApiError::conflict(&self.resource.group, &self.resource.plural, &key.name, &why));
                }
            }
            if key.table == "namespaces" && matches!(key.name.as_str(), "default" | "kube-system" | "kube-public") {
                return Err(ApiError::new(403, "Forbidden", format!("namespaces \"{}\" is forbidden: this namespace may not be deleted", key.name)));
            }
            let held = old["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
            if !held && !dry {
                return Ok(None);
            }
            let mut marked = old.clone();
            if !dry && marked["metadata"]["deletionTimestamp"].is_null() {
                marked["metadata"]["deletionTimestamp"] = now().into();
                marked["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            }
            Ok(Some(marked))
        })?;
        if let Some(object) = &gone
            && options["propagationPolicy"] != "Orphan"
            && self.core.store.get(key).is_none()
        {
            collect_garbage(&self.core, object);
        }
        Ok(gone)
    }
}

fn is_finished(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
        && object["metadata"]["finalizers"]
            .as_array()
            .is_none_or(Vec::is_empty)
}

/// An apply that changed nothing leaves the old times, so that it makes no new version.
fn unchanged_but_times(old: Option<&Value>, new: Value) -> Value {
    let Some(old) = old else { return new };
    let plain = |o: &Value| {
        let mut o = o.clone();
        for entry in o["metadata"]["managedFields"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            entry["time"] = Value::Null;
        }
        o["metadata"]["resourceVersion"] = Value::Null;
        o
    };
    if plain(old) == plain(&new) {
        old.clone()
    } else {
        new
    }
}
