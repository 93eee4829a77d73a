//! Servers, flavors and the rest as JSON, by microversion.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::super::Cloud;
use super::super::neutron::Neutron;
use super::model::{Flavor, Keypair, Server, ServerGroup};
use super::routes::links;

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn long_time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S.000000").to_string()
}

/// Who looks, and through which version.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub cloud: &'a Cloud,
    pub base: &'a str,
    pub version: u32,
    pub admin: bool,
}

impl View<'_> {
    pub(super) fn server_brief(&self, server: &Server) -> Value {
        json!({"id": server.id, "name": server.name, "links": links(self.base, "servers", &server.id)})
    }

    pub(super) fn server(&self, server: &Server, single: bool) -> Value {
        let status = server.status();
        let bookmark = |kind: &str, id: &str| json!([{"rel": "bookmark", "href": format!("{}/{kind}/{id}", self.base)}]);
        let image = if server.image.is_empty() {
            json!("")
        } else {
            let mut image = json!({"id": server.image, "links": bookmark("images", &server.image)});
            if self.version >= 98 {
                image["properties"] = json!(server.image_properties);
            }
            image
        };
        let flavor = &server.flavor;
        let flavor = if self.version >= 47 {
            json!({
                "vcpus": flavor.vcpus, "ram": flavor.ram, "disk": flavor.disk, "ephemeral": 0, "swap": 0,
                "original_name": flavor.name, "extra_specs": flavor.extra_specs,
            })
        } else {
            json!({"id": flavor.id, "links": bookmark("flavors", &flavor.id)})
        };
        let (addresses, groups) = self.addresses(server);
        let host_id = server
            .host
            .as_deref()
            .map(|host| host_id(&server.project_id, host))
            .unwrap_or_default();
        let zone = if server.host.is_some() { "nova" } else { "" };
        let power = match server.vm_state.as_str() {
            "active" => 1,
            "stopped" => 4,
            _ => 0,
        };
        let mut view = json!({
            "accessIPv4": "", "accessIPv6": "", "addresses": addresses, "created": time(server.created), "flavor": flavor,
            "hostId": host_id, "id": server.id, "image": image, "links": links(self.base, "servers", &server.id),
            "metadata": server.metadata, "name": server.name, "status": status, "tenant_id": server.project_id,
            "user_id": server.user_id, "updated": time(server.updated), "OS-DCF:diskConfig": "MANUAL",
            "OS-EXT-AZ:availability_zone": zone, "config_drive": if server.config_drive { "True" } else { "" },
            "key_name": server.key_name, "OS-SRV-USG:launched_at": server.launched.map(long_time),
            "OS-SRV-USG:terminated_at": null, "OS-EXT-STS:task_state": server.task_state,
            "OS-EXT-STS:vm_state": server.vm_state, "OS-EXT-STS:power_state": power,
            "os-extended-volumes:volumes_attached": self.volumes(server),
        });
        if let Value::Object(map) = &mut view {
            self.add_versioned(map, server, single);
            if matches!(status, "ACTIVE" | "BUILD" | "REBOOT") {
                map.insert("progress".into(), 0.into());
            }
            if let Some(fault) = server.fault.as_ref().filter(|_| status == "ERROR") {
                let fault = json!({"code": fault.code, "created": time(fault.created), "message": fault.message});
                map.insert("fault".into(), fault);
            }
            if !groups.is_empty() {
                map.insert("security_groups".into(), groups.into());
            }
        }
        view
    }

    fn add_versioned(&self, map: &mut Map<String, Value>, server: &Server, single: bool) {
        let version = self.version;
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        if self.admin {
            let hypervisor = server.node.as_ref().or(server.host.as_ref());
            put("OS-EXT-SRV-ATTR:host", json!(server.host));
            put(
                "OS-EXT-SRV-ATTR:instance_name",
                format!("instance-{:08x}", server.number).into(),
            );
            put("OS-EXT-SRV-ATTR:hypervisor_hostname", json!(hypervisor));
            if version >= 3 {
                put("OS-EXT-SRV-ATTR:kernel_id", "".into());
                put("OS-EXT-SRV-ATTR:launch_index", 0.into());
                put("OS-EXT-SRV-ATTR:ramdisk_id", "".into());
                put(
                    "OS-EXT-SRV-ATTR:reservation_id",
                    server.reservation_id.clone().into(),
                );
                put(
                    "OS-EXT-SRV-ATTR:root_device_name",
                    if server.host.is_some() {
                        "/dev/sda".into()
                    } else {
                        Value::Null
                    },
                );
                put("OS-EXT-SRV-ATTR:user_data", json!(server.user_data));
            }
            if version >= 16 {
                put(
                    "host_status",
                    if server.host.is_some() { "UP" } else { "" }.into(),
                );
            }
        }
        if version >= 90 || (self.admin && version >= 3) {
            put("OS-EXT-SRV-ATTR:hostname", hostname(&server.name).into());
        }
        if version >= 9 {
            put("locked", false.into());
        }
        if version >= 19 {
            put("description", json!(server.description));
        }
        if version >= 26 {
            put("tags", json!(server.tags));
        }
        if version >= 63 {
            put("trusted_image_certificates", Value::Null);
        }
        if version >= 71 && single {
            put(
                "server_groups",
                json!(server.group.iter().collect::<Vec<_>>()),
            );
        }
        if version >= 73 {
            put("locked_reason", Value::Null);
        }
        if version >= 96 {
            put("pinned_availability_zone", json!(server.wanted_zone));
        }
        if version >= 100 {
            let hints = server
                .group
                .as_ref()
                .map_or_else(|| json!({}), |group| json!({"group": [group]}));
            put("scheduler_hints", hints);
        }
    }

    fn volumes(&self, server: &Server) -> Vec<Value> {
        let attached = server
            .disks
            .iter()
            .filter_map(|disk| disk.volume_id.as_ref().map(|id| (id, disk)));
        attached
            .map(|(id, disk)| {
                if self.version >= 3 {
                    json!({"id": id, "delete_on_termination": disk.delete_on_termination})
                } else {
                    json!({"id": id})
                }
            })
            .collect()
    }

    /// Addresses by network name and the security groups' names, from the ports that carry the server.
    pub(super) fn addresses(&self, server: &Server) -> (Map<String, Value>, Vec<Value>) {
        let neutron = self.cloud.service::<Neutron>();
        let mut addresses: Map<String, Value> = Map::new();
        let mut groups: Vec<Value> = Vec::new();
        if server.vm_state == "building" {
            return (addresses, groups);
        }
        neutron.state.read(|state| {
            let ports = server.nics.iter().filter_map(|nic| state.ports.get(nic.port_id.as_ref()?));
            for port in ports.filter(|port| port.device_id == server.id) {
                let name = state.networks.get(&port.network_id).map(|n| n.meta.name.clone()).unwrap_or_default();
                let mut add = |kind: &str, ip: std::net::IpAddr| {
                    let entry = json!({
                        "version": if ip.is_ipv4() { 4 } else { 6 }, "addr": ip, "OS-EXT-IPS:type": kind,
                        "OS-EXT-IPS-MAC:mac_addr": port.mac_address,
                    });
                    if let Some(list) = addresses.entry(name.clone()).or_insert_with(|| json!([])).as_array_mut() {
                        list.push(entry);
                    }
                };
                for fixed in &port.fixed_ips {
                    add("fixed", fixed.ip_address);
                }
                for floating in state.floating_ips.values().filter(|f| f.port_id.as_ref() == Some(&port.meta.id)) {
                    add("floating", floating.address);
                }
                for id in &port.security_groups {
                    let name = state.groups.get(id).map(|g| g.meta.name.clone()).unwrap_or_default();
                    let named = json!({"name": name});
                    if !groups.contains(&named) {
                        groups.push(named);
                    }
                }
            }
        });
        (addresses, groups)
    }

    pub(super) fn flavor(&self, flavor: &Flavor, full: bool) -> Value {
        let links = links(self.base, "flavors", &flavor.id);
        if !full {
            let mut view = json!({"id": flavor.id, "name": flavor.name, "links": links});
            if self.version >= 55 {
                view["description"] = Value::Null;
            }
            return view;
        }
        let mut view = json!({
            "id": flavor.id, "name": flavor.name, "ram": flavor.ram, "disk": flavor.disk,
            "swap": if self.version >= 75 { json!(0) } else { json!("") }, "OS-FLV-EXT-DATA:ephemeral": 0,
            "OS-FLV-DISABLED:disabled": false, "vcpus": flavor.vcpus, "os-flavor-access:is_public": flavor.public,
            "rxtx_factor": 1.0, "links": links,
        });
        if self.version >= 55 {
            view["description"] = Value::Null;
        }
        if self.version >= 61 {
            view["extra_specs"] = json!(flavor.extra_specs);
        }
        view
    }

    pub(super) fn keypair(&self, keypair: &Keypair) -> Value {
        let mut view = json!({"name": keypair.name, "public_key": keypair.public_key, "fingerprint": keypair.fingerprint});
        if self.version >= 2 {
            view["type"] = keypair.kind.clone().into();
        }
        view
    }

    pub(super) fn keypair_full(&self, keypair: &Keypair) -> Value {
        let mut view = self.keypair(keypair);
        view["user_id"] = keypair.user_id.clone().into();
        view["created_at"] = long_time(keypair.created_at).into();
        view["deleted"] = false.into();
        view["deleted_at"] = Value::Null;
        view["id"] = keypair.id.into();
        view["updated_at"] = Value::Null;
        view
    }

    pub(super) fn group(&self, group: &ServerGroup) -> Value {
        let mut view = json!({"id": group.id, "name": group.name, "members": group.members});
        if self.version >= 64 {
            view["policy"] = group.policy.clone().into();
            view["rules"] = group.rules.clone();
        } else {
            view["policies"] = json!([group.policy]);
            view["metadata"] = json!({});
        }
        if self.version >= 13 {
            view["project_id"] = group.project_id.clone().into();
            view["user_id"] = group.user_id.clone().into();
        }
        view
    }
}

fn host_id(project: &str, host: &str) -> String {
    let id = uuid::Uuid::new_v5(
        &uuid::Uuid::NAMESPACE_OID,
        format!("{project}{host}").as_bytes(),
    )
    .simple()
    .to_string();
    format!("{id}{}", &id[..24])
}

fn hostname(name: &str) -> String {
    let clean: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '-'
            }
        })
        .collect();
    clean.trim_matches('-').to_owned()
}
