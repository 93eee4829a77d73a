//! Limits, quotas, services and hypervisors.

use http::Method;
use serde_json::{Map, Value, json};

use super::super::ApiError;
use super::super::ask::{Answer, Ask};
use super::Nova;
use super::model::{QUOTAS, bad};
use super::routes::policy;

impl Nova {
    pub(super) fn limits(&self, ask: &Ask, version: u32) -> Answer {
        let project = ask
            .param("tenant_id")
            .filter(|_| ask.caller.is_admin)
            .unwrap_or(&ask.caller.project_id);
        let absolute = self.state.read(|s| {
            let limit = |name: &str| s.limit(project, name);
            let mut all = json!({
                "maxTotalCores": limit("cores"), "maxTotalInstances": limit("instances"), "maxTotalKeypairs": limit("key_pairs"),
                "maxServerMeta": limit("metadata_items"), "maxTotalRAMSize": limit("ram"),
                "maxServerGroups": limit("server_groups"), "maxServerGroupMembers": limit("server_group_members"),
                "totalRAMUsed": s.used(project, "ram"), "totalCoresUsed": s.used(project, "cores"),
                "totalInstancesUsed": s.used(project, "instances"), "totalServerGroupsUsed": s.used(project, "server_groups"),
            });
            if version < 57 {
                all["maxPersonality"] = 5.into();
                all["maxPersonalitySize"] = 10240.into();
            }
            if version < 39 {
                all["maxImageMeta"] = 128.into();
            }
            if version < 36 {
                for key in ["maxTotalFloatingIps", "maxSecurityGroups", "maxSecurityGroupRules"] {
                    all[key] = (-1).into();
                }
                all["totalFloatingIpsUsed"] = 0.into();
                all["totalSecurityGroupsUsed"] = 0.into();
            }
            all
        });
        Answer::json(200, json!({"limits": {"rate": [], "absolute": absolute}}))
    }

    pub(super) fn quota_sets(
        &self,
        ask: &Ask,
        version: u32,
        rest: &[&str],
    ) -> Result<Answer, ApiError> {
        let shown = |recent: bool, name: &str| {
            recent || (version < 36 || (version < 57 && name.starts_with("injected")))
        };
        let limits = |project: &str, with_id: bool| -> Value {
            let mut all = Map::new();
            if with_id {
                all.insert("id".into(), project.into());
            }
            self.state.read(|s| {
                for (name, _, recent) in QUOTAS
                    .iter()
                    .filter(|(name, _, recent)| shown(*recent, name))
                {
                    let _ = recent;
                    all.insert((*name).to_owned(), s.limit(project, name).into());
                }
            });
            json!({"quota_set": all})
        };
        match (&ask.method, rest) {
            (&Method::GET, [project]) => {
                policy(ask.caller.sees(project), "os-quota-sets:show")?;
                Ok(Answer::json(200, limits(project, true)))
            }
            (&Method::GET, [project, "defaults"]) => {
                let mut all = Map::new();
                all.insert("id".into(), (*project).into());
                for (name, limit, recent) in QUOTAS {
                    if shown(recent, name) {
                        all.insert(name.to_owned(), limit.into());
                    }
                }
                Ok(Answer::json(200, json!({"quota_set": all})))
            }
            (&Method::GET, [project, "detail"]) => {
                policy(ask.caller.sees(project), "os-quota-sets:detail")?;
                let mut all = Map::new();
                all.insert("id".into(), (*project).into());
                self.state.read(|s| {
                    for (name, _, recent) in QUOTAS {
                        if shown(recent, name) {
                            let view = json!({"limit": s.limit(project, name), "in_use": s.used(project, name), "reserved": 0});
                            all.insert(name.to_owned(), view);
                        }
                    }
                });
                Ok(Answer::json(200, json!({"quota_set": all})))
            }
            (&Method::PUT, [project]) => {
                policy(ask.caller.is_admin, "os-quota-sets:update")?;
                let wanted = ask.object("quota_set").cloned().unwrap_or_default();
                let force = wanted
                    .get("force")
                    .is_some_and(|v| super::text::shown(v).eq_ignore_ascii_case("true"));
                for (name, value) in wanted
                    .iter()
                    .filter(|(name, _)| !matches!(name.as_str(), "force" | "tenant_id"))
                {
                    let limit = value
                        .as_i64()
                        .or_else(|| value.as_str().and_then(|t| t.parse().ok()));
                    let known = QUOTAS.iter().any(|(known, ..)| known == name);
                    let Some(limit) = limit.filter(|_| known) else {
                        let text = format!(
                            "Invalid input for field/attribute quota_set. Value: {}.",
                            super::text::repr(&Value::Object(wanted.clone()))
                        );
                        return Err(bad(format!(
                            "{text} Additional properties are not allowed ('{name}' was unexpected)"
                        )));
                    };
                    let used = self.state.read(|s| s.used(project, name));
                    if !force && limit >= 0 && used > limit.unsigned_abs() {
                        return Err(bad(format!(
                            "Quota limit {limit} for {name} must be greater than or equal to already used and reserved {used}."
                        )));
                    }
                    self.state.write(|s| {
                        s.quotas
                            .entry((*project).to_owned())
                            .or_default()
                            .insert(name.clone(), limit)
                    });
                }
                Ok(Answer::json(200, limits(project, false)))
            }
            (&Method::DELETE, [project]) => {
                policy(ask.caller.is_admin, "os-quota-sets:delete")?;
                self.state.write(|s| s.quotas.remove(*project));
                Ok(Answer::empty(202))
            }
            _ => Err(ask.unknown()),
        }
    }

    pub(super) fn services(&self, ask: &Ask) -> Result<Answer, ApiError> {
        policy(ask.caller.is_admin, "os-services:list")?;
        let beat = ask
            .cloud
            .now()
            .format("%Y-%m-%dT%H:%M:%S.000000")
            .to_string();
        let all = [
            ("nova-conductor", "tc-compute-1", "internal"),
            ("nova-scheduler", "tc-compute-1", "internal"),
            ("nova-compute", "tc-compute-1", "nova"),
            ("nova-compute", "tc-ironic-1", "nova"),
        ];
        let views: Vec<Value> = all
            .iter()
            .zip(2..)
            .map(|((binary, host, zone), id)| {
                json!({
                    "binary": binary, "host": host, "id": id, "zone": zone, "status": "enabled", "state": "up",
                    "updated_at": beat, "disabled_reason": null,
                })
            })
            .collect();
        Ok(Answer::json(200, json!({"services": views})))
    }

    pub(super) fn hypervisors(
        &self,
        ask: &Ask,
        version: u32,
        detail: bool,
    ) -> Result<Answer, ApiError> {
        policy(
            ask.caller.is_admin,
            if detail {
                "os-hypervisors:list-detail"
            } else {
                "os-hypervisors:list"
            },
        )?;
        let id = |n: u64| {
            if version >= 53 {
                json!(
                    uuid::Uuid::new_v5(
                        &uuid::Uuid::NAMESPACE_OID,
                        format!("hypervisor{n}").as_bytes()
                    )
                    .to_string()
                )
            } else {
                json!(n)
            }
        };
        let views: Vec<Value> = (1..=super::build::HOSTS)
            .map(|n| {
                let host = format!("tc-compute-{n}");
                let mut view = json!({"id": id(n), "hypervisor_hostname": host, "state": "up", "status": "enabled"});
                if detail {
                    let used = self.state.read(|s| s.servers.values().filter(|s| s.host.as_ref() == Some(&host)).count());
                    view["hypervisor_type"] = "fake".into();
                    view["hypervisor_version"] = 1000.into();
                    view["host_ip"] = "127.0.0.1".into();
                    view["service"] = json!({"id": id(n + 100), "host": host, "disabled_reason": null});
                    if version >= 88 {
                        view["uptime"] = Value::Null;
                    } else {
                        view["running_vms"] = used.into();
                        view["vcpus"] = 1000.into();
                        view["memory_mb"] = 800_000.into();
                        view["local_gb"] = 600_000.into();
                    }
                }
                view
            })
            .collect();
        Ok(Answer::json(200, json!({"hypervisors": views})))
    }
}
