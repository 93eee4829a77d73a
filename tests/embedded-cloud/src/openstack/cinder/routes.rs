//! The paths of the API.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Map, Value, json};

use super::super::ask::{Answer, Answers, Ask};
use super::super::listing::{Page, matches, next_query};
use super::super::{ApiError, Microversion, ServiceKind};
use super::model::{QUOTAS, TYPES, Volume, over_limit};
use super::{Cinder, stamp};

/// The greatest minor version.
pub(super) const NEWEST: u32 = 71;

fn fault(status: u16, kind: &str, message: impl Into<String>) -> ApiError {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    ApiError::new(ServiceKind::Cinder, status, kind, message)
}

fn lost(id: &str) -> ApiError {
    fault(
        404,
        "itemNotFound",
        format!("Volume {id} could not be found."),
    )
}

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S.000000").to_string()
}

impl Answers for Cinder {
    fn open(&self, base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        if method != Method::GET || !matches!(path, [] | ["v3"]) {
            return None;
        }
        let links = json!([
            {"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
            {"rel": "self", "href": format!("{base}/v3/")},
        ]);
        let body = json!({"versions": [{
            "id": "v3.0", "status": "CURRENT", "version": format!("3.{NEWEST}"), "min_version": "3.0",
            "updated": "2023-08-31T00:00:00Z", "links": links,
            "media-types": [{"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}],
        }]});
        Some(Answer::json(if path.is_empty() { 300 } else { 200 }, body))
    }

    fn decorate(&self, version: Microversion, headers: &mut HeaderMap) {
        stamp(version, headers);
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        let version = ask.version;
        if version != Microversion::default()
            && !version.latest
            && (version.major != 3 || version.minor > NEWEST)
        {
            let text = format!(
                "Version {}.{} is not supported by the API. Minimum is 3.0 and maximum is 3.{NEWEST}.",
                version.major, version.minor
            );
            return Err(fault(406, "computeFault", text));
        }
        let segments = ask.segments();
        let ["v3", project, rest @ ..] = segments.as_slice() else {
            return Err(ask.unknown());
        };
        if *project != ask.caller.project_id {
            return Err(fault(400, "badRequest", "Malformed request url"));
        }
        match (&ask.method, rest) {
            (&Method::GET, ["volumes"]) => self.list(ask, false),
            (&Method::GET, ["volumes", "detail"]) => self.list(ask, true),
            (&Method::POST, ["volumes"]) => self.create(ask),
            (&Method::GET, ["volumes", id]) => {
                let volume = self.find(ask, id)?;
                let mut view = full(ask, &volume);
                view["os-vol-tenant-attr:tenant_id"] = volume.project_id.into();
                Ok(Answer::json(200, json!({"volume": view})))
            }
            (_, ["volumes", id, "metadata"]) => self.metadata(ask, id),
            (&Method::POST, ["volumes", id, "action"]) => self.act(ask, id),
            (&Method::PUT, ["volumes", id]) => self.update(ask, id),
            (&Method::DELETE, ["volumes", id]) => self.delete(ask, id),
            (&Method::GET, ["types"]) => {
                let all: Vec<Value> = TYPES.iter().map(|t| volume_type(t, true)).collect();
                Ok(Answer::json(200, json!({"volume_types": all})))
            }
            (&Method::GET, ["types", "default"]) => Ok(Answer::json(
                200,
                json!({"volume_type": volume_type(&TYPES[0], false)}),
            )),
            (&Method::GET, ["types", id]) => match TYPES.iter().find(|t| t.0 == *id) {
                Some(found) => Ok(Answer::json(
                    200,
                    json!({"volume_type": volume_type(found, true)}),
                )),
                None => Err(fault(
                    404,
                    "itemNotFound",
                    format!("Volume type {id} could not be found."),
                )),
            },
            (&Method::GET, ["limits"]) => Ok(self.limits(ask)),
            (&Method::GET, ["os-availability-zone"]) => Ok(Answer::json(
                200,
                json!({"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": true}}]}),
            )),
            (&Method::GET, ["snapshots" | "backups"] | ["snapshots" | "backups", "detail"]) => {
                Ok(Answer::json(200, json!({rest[0]: []})))
            }
            (_, ["os-quota-sets", project]) => self.quota_sets(ask, project),
            (&Method::GET, ["os-services"]) => services(ask),
            _ => Err(ask.unknown()),
        }
    }
}

fn volume_type(of: &(&str, &str, Option<&str>), listed: bool) -> Value {
    let (id, name, description) = of;
    let mut view = json!({"id": id, "name": name, "is_public": true, "description": description, "extra_specs": {}});
    if listed {
        view["os-volume-type-access:is_public"] = true.into();
    }
    view
}

fn services(ask: &Ask) -> Result<Answer, ApiError> {
    if !ask.caller.is_admin {
        let text = "Policy doesn't allow volume_extension:services:index to be performed.";
        return Err(fault(403, "forbidden", text));
    }
    let beat = time(ask.cloud.now());
    let one = |binary: &str, host: &str| {
        json!({
            "binary": binary, "host": host, "zone": "nova", "status": "enabled", "state": "up", "updated_at": beat,
            "disabled_reason": null,
        })
    };
    Ok(Answer::json(
        200,
        json!({"services": [one("cinder-scheduler", "tc-cinder"), one("cinder-volume", "tc-cinder@fake")]}),
    ))
}

fn brief(ask: &Ask, volume: &Volume) -> Value {
    let (base, project, id) = (&ask.base, &ask.caller.project_id, &volume.id);
    let links = json!([
        {"rel": "self", "href": format!("{base}/v3/{project}/volumes/{id}")},
        {"rel": "bookmark", "href": format!("{base}/{project}/volumes/{id}")},
    ]);
    json!({"id": volume.id, "name": volume.name, "links": links})
}

fn full(ask: &Ask, volume: &Volume) -> Value {
    let attachments: Vec<Value> = volume
        .attachments
        .iter()
        .map(|a| {
            json!({
                "id": volume.id, "attachment_id": a.id, "volume_id": volume.id, "server_id": a.server_id,
                "host_name": null, "device": a.device, "attached_at": time(a.at),
            })
        })
        .collect();
    let mut view = json!({
        "id": volume.id, "status": volume.status, "size": volume.size, "availability_zone": volume.availability_zone,
        "created_at": time(volume.created_at), "updated_at": volume.updated_at.map(time), "name": volume.name,
        "description": volume.description, "volume_type": volume.volume_type, "snapshot_id": null, "source_volid": null,
        "metadata": volume.metadata, "links": brief(ask, volume)["links"], "user_id": volume.user_id,
        "bootable": if volume.bootable { "true" } else { "false" }, "encrypted": false, "replication_status": null,
        "consistencygroup_id": null, "multiattach": false, "attachments": attachments,
    });
    if ask.version.at_least(3, 13) {
        view["group_id"] = Value::Null;
    }
    if ask.version.at_least(3, 48) {
        view["shared_targets"] = false.into();
        view["service_uuid"] = "2c695fd8-cb53-44f3-9b64-3ec486b2e06e".into();
    }
    view
}

impl Cinder {
    fn find(&self, ask: &Ask, id: &str) -> Result<Volume, ApiError> {
        let found = self.state.read(|s| {
            s.volumes
                .get(id)
                .filter(|v| ask.caller.sees(&v.project_id))
                .cloned()
        });
        found.ok_or_else(|| lost(id))
    }

    fn list(&self, ask: &Ask, detail: bool) -> Result<Answer, ApiError> {
        const CONTROL: [&str; 7] = [
            "limit",
            "marker",
            "sort",
            "sort_key",
            "sort_dir",
            "all_tenants",
            "with_count",
        ];
        let all = ask.caller.is_admin
            && ask
                .param("all_tenants")
                .is_some_and(|v| !matches!(v, "0" | "false" | "False"));
        let mut found: Vec<Volume> = self.state.read(|s| {
            let seen = s
                .volumes
                .values()
                .filter(|v| all || v.project_id == ask.caller.project_id);
            seen.cloned().collect()
        });
        found.sort_by_key(|volume| std::cmp::Reverse(volume.created_at));
        for (key, value) in ask
            .query
            .iter()
            .filter(|(key, _)| !CONTROL.contains(&key.as_str()))
        {
            if key == "metadata" {
                let wanted: Map<String, Value> =
                    serde_json::from_str(&value.replace('\'', "\"")).unwrap_or_default();
                found.retain(|v| {
                    wanted
                        .iter()
                        .all(|(k, w)| v.metadata.get(k).map(String::as_str) == w.as_str())
                });
            } else {
                found.retain(|volume| matches(&full(ask, volume)[key.as_str()], value));
            }
        }
        let views = found.iter().map(|volume| {
            if !detail {
                return brief(ask, volume);
            }
            let mut view = full(ask, volume);
            view["os-vol-tenant-attr:tenant_id"] = volume.project_id.clone().into();
            view
        });
        let page = Page::from_query(&ask.query).map_err(|text| {
            fault(
                400,
                "badRequest",
                format!("Invalid input for field/attribute limit. Value: {text}."),
            )
        })?;
        let (views, more) = page.cut(views.collect(), "id").map_err(|marker| {
            fault(
                404,
                "itemNotFound",
                format!("Volume {marker} could not be found."),
            )
        })?;
        let last = views
            .last()
            .and_then(|item| item["id"].as_str())
            .map(str::to_owned);
        let mut body = json!({"volumes": views});
        if let (true, Some(last)) = (more, last) {
            let path = if detail { "volumes/detail" } else { "volumes" };
            let href = format!(
                "{}/v3/{}/{path}?{}",
                ask.base,
                ask.caller.project_id,
                next_query(&ask.query, &last)
            );
            body["volumes_links"] = json!([{"rel": "next", "href": href}]);
        }
        Ok(Answer::json(200, body))
    }

    fn create(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        let Some(body) = ask.object("volume") else {
            return Err(fault(
                400,
                "badRequest",
                "Missing required element 'volume' in request body.",
            ));
        };
        let size = body
            .get("size")
            .and_then(|v| v.as_i64().or_else(|| v.as_str()?.parse().ok()));
        let Some(size) = size else {
            let text = "The server could not comply with the request since it is either malformed or otherwise incorrect.";
            return Err(fault(400, "badRequest", text));
        };
        if size < 1 {
            let text = format!(
                "Invalid input for field/attribute size. Value: {size}. {size} is less than the minimum of 1"
            );
            return Err(fault(400, "badRequest", text));
        }
        let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = text("volume_type").unwrap_or_else(|| TYPES[0].1.to_owned());
        let Some((_, kind, _)) = TYPES.iter().find(|t| t.1 == kind || t.0 == kind) else {
            return Err(fault(
                404,
                "itemNotFound",
                format!("Volume type with name {kind} could not be found."),
            ));
        };
        let metadata = body
            .get("metadata")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let volume = Volume {
            id: ask.cloud.uuid(),
            name: text("name"),
            description: text("description"),
            project_id: ask.caller.project_id.clone(),
            user_id: ask.caller.user_id.clone(),
            status: "creating".to_owned(),
            size: size.unsigned_abs(),
            volume_type: (*kind).to_owned(),
            availability_zone: text("availability_zone").unwrap_or_else(|| "nova".to_owned()),
            metadata: metadata
                .iter()
                .map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()))
                .collect(),
            bootable: body.get("imageRef").is_some_and(|v| !v.is_null()),
            attachments: Vec::new(),
            created_at: ask.cloud.now(),
            updated_at: None,
        };
        let refused = self.state.write(|s| {
            let refused = s.exceeded(&volume.project_id, volume.size);
            if refused.is_none() {
                s.volumes.insert(volume.id.clone(), volume.clone());
            }
            refused
        });
        if let Some(text) = refused {
            return Ok(over_limit(&text));
        }
        self.settle(&ask.cloud, &volume.id);
        Ok(Answer::json(202, json!({"volume": full(ask, &volume)})))
    }

    fn update(&self, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        self.find(ask, id)?;
        let body = ask.object("volume").cloned().unwrap_or_default();
        let now = ask.cloud.now();
        let changed = self.state.write(|s| {
            let volume = s.volumes.get_mut(id)?;
            for (key, field) in [
                ("name", &mut volume.name),
                ("description", &mut volume.description),
            ] {
                if let Some(value) = body.get(key) {
                    *field = value.as_str().map(str::to_owned);
                }
            }
            if let Some(metadata) = body.get("metadata").and_then(Value::as_object) {
                volume.metadata = metadata
                    .iter()
                    .map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()))
                    .collect();
            }
            volume.updated_at = Some(now);
            Some(volume.clone())
        });
        let changed = changed.ok_or_else(|| lost(id))?;
        Ok(Answer::json(200, json!({"volume": full(ask, &changed)})))
    }

    fn delete(self: &Arc<Self>, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        let volume = self.find(ask, id)?;
        if !matches!(volume.status.as_str(), "available" | "creating" | "error") {
            let text = "Invalid volume: Volume status must be available or error or error_restoring or error_extending or \
                        error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a \
                        transfer, or be disassociated from snapshots after volume transfer.";
            return Err(fault(400, "badRequest", text));
        }
        self.state.write(|s| {
            if let Some(volume) = s.volumes.get_mut(id) {
                "deleting".clone_into(&mut volume.status);
            }
        });
        self.settle(&ask.cloud, id);
        Ok(Answer::empty(202))
    }

    fn metadata(&self, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        let volume = self.find(ask, id)?;
        let given = ask.object("metadata").cloned().unwrap_or_default();
        let given = given
            .iter()
            .map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()));
        let mut metadata = volume.metadata;
        match ask.method {
            Method::GET => {}
            Method::PUT => metadata = given.collect(),
            Method::POST => metadata.extend(given),
            _ => return Err(ask.unknown()),
        }
        self.state.write(|s| {
            s.volumes
                .get_mut(id)
                .map(|v| v.metadata.clone_from(&metadata))
        });
        Ok(Answer::json(200, json!({"metadata": metadata})))
    }

    fn act(&self, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        let volume = self.find(ask, id)?;
        let Some(extend) = ask.object("os-extend") else {
            return Err(ask.unknown());
        };
        let size = extend
            .get("new_size")
            .and_then(|v| v.as_u64().or_else(|| v.as_str()?.parse().ok()))
            .unwrap_or(0);
        if size <= volume.size {
            let text = format!(
                "Invalid input received: New size for extend must be greater than current size. (current: {}, extended: {size}).",
                volume.size
            );
            return Err(fault(400, "badRequest", text));
        }
        if volume.status != "available" {
            let text = format!(
                "Invalid volume: Volume {id} status must be '{{'status': 'available'}}' to extend."
            );
            return Err(fault(400, "badRequest", text));
        }
        self.state
            .write(|s| s.volumes.get_mut(id).map(|v| v.size = size));
        Ok(Answer::empty(202))
    }

    fn limits(&self, ask: &Ask) -> Answer {
        let project = &ask.caller.project_id;
        let absolute = self.state.read(|s| {
            json!({
                "maxTotalVolumes": s.limit(project, "volumes"), "maxTotalSnapshots": s.limit(project, "snapshots"),
                "maxTotalVolumeGigabytes": s.limit(project, "gigabytes"), "maxTotalBackups": s.limit(project, "backups"),
                "maxTotalBackupGigabytes": s.limit(project, "backup_gigabytes"),
                "totalVolumesUsed": s.used(project, "volumes"), "totalGigabytesUsed": s.used(project, "gigabytes"),
                "totalSnapshotsUsed": 0, "totalBackupsUsed": 0, "totalBackupGigabytesUsed": 0,
            })
        });
        Answer::json(200, json!({"limits": {"rate": [], "absolute": absolute}}))
    }

    fn quota_sets(&self, ask: &Ask, project: &str) -> Result<Answer, ApiError> {
        let project = project.split('?').next().unwrap_or(project);
        let limits = |usage: bool, id: bool| {
            let mut all: Map<String, Value> = self.state.read(|s| {
                let one = |name: &str| {
                    let limit = s.limit(project, name);
                    if usage {
                        json!({"limit": limit, "in_use": s.used(project, name), "reserved": 0})
                    } else {
                        json!(limit)
                    }
                };
                QUOTAS
                    .iter()
                    .map(|(name, _)| ((*name).to_owned(), one(name)))
                    .collect()
            });
            if id {
                all.insert("id".into(), project.into());
            }
            json!({"quota_set": all})
        };
        match ask.method {
            Method::GET if ask.caller.sees(project) => {
                let usage = ask
                    .param("usage")
                    .is_some_and(|v| v.eq_ignore_ascii_case("true"));
                Ok(Answer::json(200, limits(usage, true)))
            }
            Method::PUT if ask.caller.is_admin => {
                let wanted = ask.object("quota_set").cloned().unwrap_or_default();
                self.state.write(|s| {
                    let own = s.quotas.entry(project.to_owned()).or_default();
                    let known = wanted
                        .iter()
                        .filter(|(name, _)| QUOTAS.iter().any(|(known, _)| known == name));
                    for (name, limit) in
                        known.filter_map(|(name, value)| Some((name, value.as_i64()?)))
                    {
                        own.insert(name.clone(), limit);
                    }
                });
                Ok(Answer::json(200, limits(false, false)))
            }
            Method::GET => Err(fault(
                403,
                "forbidden",
                "Policy doesn't allow volume_extension:quotas:show to be performed.",
            )),
            Method::PUT => Err(fault(
                403,
                "forbidden",
                "Policy doesn't allow volume_extension:quotas:update to be performed.",
            )),
            _ => Err(ask.unknown()),
        }
    }
}
