//! What happens after a request was accepted: servers are built, stopped and deleted.

use std::sync::Arc;

use super::super::cinder::Cinder;
use super::super::ironic::Ironic;
use super::super::neutron::ports::OwnPort;
use super::super::neutron::{Mint, Neutron};
use super::super::{Build, Cloud};
use super::Nova;
use super::model::{Server, ServerFault};

pub(crate) const HOSTS: u64 = 8;
const NO_VALID_HOST: &str = "No valid host was found. ";

impl Nova {
    /// Starts the build of a server that is `BUILD`.
    pub(super) fn start_build(self: &Arc<Self>, cloud: &Cloud, id: &str) {
        let (nova, inner, id) = (Arc::clone(self), cloud.clone(), id.to_owned());
        cloud.spawn(async move {
            let Some(server) = nova.building(&id) else {
                return;
            };
            let bare_metal = !server.flavor.custom_classes().is_empty();
            {
                let _together = inner.hold().await;
                if let Err(message) = nova.prepare(&inner, &server) {
                    nova.fail(&inner, &id, &message);
                    return;
                }
            }
            inner
                .build(if bare_metal {
                    Build::BareMetal
                } else {
                    Build::Server
                })
                .await;
            let _together = inner.hold().await;
            nova.activate(&inner, &id);
        });
    }

    /// Finds a host and connects the server to what it needs.
    fn prepare(&self, cloud: &Cloud, server: &Server) -> Result<(), String> {
        if server.host.is_none() && server.node.is_none() {
            self.schedule(cloud, server)?;
        }
        match self.building(&server.id) {
            Some(server) => self.connect(cloud, &server),
            None => Ok(()),
        }
    }

    fn building(&self, id: &str) -> Option<Server> {
        self.state.read(|s| {
            s.servers
                .get(id)
                .filter(|s| s.vm_state == "building" && !s.is_deleting())
                .cloned()
        })
    }

    fn schedule(&self, cloud: &Cloud, server: &Server) -> Result<(), String> {
        let classes = server.flavor.custom_classes();
        if !classes.is_empty() {
            let node = cloud.service::<Ironic>().place(
                cloud,
                server,
                &classes,
                &server.flavor.required_traits(),
            );
            let node = node.ok_or_else(|| NO_VALID_HOST.to_owned())?;
            self.state.write(|s| {
                if let Some(server) = s.servers.get_mut(&server.id) {
                    (server.host, server.node) = (Some("tc-ironic-1".to_owned()), Some(node));
                }
            });
            return Ok(());
        }
        let flavor = &server.flavor;
        if flavor.vcpus > 1000 || flavor.ram > 800_000 || flavor.disk > 600_000 {
            return Err(NO_VALID_HOST.to_owned());
        }
        self.state.write(|state| {
            let load = |host: &str| {
                state
                    .servers
                    .values()
                    .filter(|s| s.host.as_deref() == Some(host))
                    .count()
            };
            let group = server.group.as_ref().and_then(|id| state.groups.get(id));
            let mates: Vec<&str> = group
                .map(|g| {
                    g.members
                        .iter()
                        .filter_map(|id| state.servers.get(id)?.host.as_deref())
                        .collect()
                })
                .unwrap_or_default();
            let hosts = (1..=HOSTS).map(|n| format!("tc-compute-{n}"));
            let policy = group.map_or("", |g| g.policy.as_str());
            let chosen = hosts
                .filter(|host| match policy {
                    "anti-affinity" => !mates.contains(&host.as_str()),
                    "affinity" => mates.is_empty() || mates.contains(&host.as_str()),
                    _ => true,
                })
                .min_by_key(|host| {
                    let near = mates.iter().filter(|mate| *mate == host).count();
                    let weight = match policy {
                        "soft-anti-affinity" => near,
                        "soft-affinity" => mates.len() - near,
                        _ => 0,
                    };
                    (weight, load(host))
                });
            let chosen = chosen.ok_or_else(|| NO_VALID_HOST.to_owned())?;
            if let Some(server) = state.servers.get_mut(&server.id) {
                server.host = Some(chosen);
                server.task_state = Some("spawning".to_owned());
            }
            Ok(())
        })
    }

    /// Binds or makes ports and volumes.
    fn connect(&self, cloud: &Cloud, server: &Server) -> Result<(), String> {
        let neutron = cloud.service::<Neutron>();
        let mint = Mint::of(cloud);
        let host = server.host.clone().unwrap_or_default();
        let aborted = |why: &str| format!("Build of instance {} aborted: {why}", server.id);
        for (index, nic) in server.nics.iter().enumerate() {
            let port = neutron.state.write(|state| {
                let id = match (&nic.port_id, &nic.network_id) {
                    (Some(id), _) => id.clone(),
                    (None, Some(network)) => {
                        let port_security =
                            state.networks.get(network).is_some_and(|n| n.port_security);
                        let groups = server
                            .security_groups
                            .iter()
                            .filter_map(|g| state.group_id(&server.project_id, g));
                        let groups: Vec<String> = groups.collect();
                        let wish = OwnPort {
                            network_id: network.clone(),
                            project_id: server.project_id.clone(),
                            device_id: server.id.clone(),
                            device_owner: "compute:nova".to_owned(),
                            fixed_ips: nic
                                .fixed_ip
                                .iter()
                                .filter_map(|ip| Some((None, Some(ip.parse().ok()?))))
                                .collect(),
                            security_groups: (port_security && !groups.is_empty())
                                .then_some(groups),
                            ..OwnPort::default()
                        };
                        state
                            .add_port(&mint, &wish)
                            .map_err(|e| aborted(e.message()))?
                    }
                    (None, None) => return Ok(String::new()),
                };
                let Some(port) = state.ports.get_mut(&id) else {
                    return Err(aborted(&format!("Port {id} could not be found.")));
                };
                if !port.device_id.is_empty() && port.device_id != server.id {
                    return Err(aborted(&format!("Port {id} is still in use.")));
                }
                port.device_id.clone_from(&server.id);
                "compute:nova".clone_into(&mut port.device_owner);
                port.host_id.clone_from(&host);
                port.meta.touch(mint.now);
                Ok(id)
            })?;
            self.state.write(|s| {
                if let Some(nic) = s
                    .servers
                    .get_mut(&server.id)
                    .and_then(|s| s.nics.get_mut(index))
                {
                    nic.port_id = Some(port);
                }
            });
        }
        let cinder = cloud.service::<Cinder>();
        for (index, disk) in server.disks.iter().enumerate() {
            let id = cinder
                .attach(cloud, server, disk, index)
                .map_err(|why| aborted(&why))?;
            self.state.write(|s| {
                if let Some(disk) = s
                    .servers
                    .get_mut(&server.id)
                    .and_then(|s| s.disks.get_mut(index))
                {
                    disk.volume_id = Some(id);
                }
            });
        }
        Ok(())
    }

    fn activate(&self, cloud: &Cloud, id: &str) {
        let now = cloud.now();
        let node = self.state.write(|s| {
            let server = s
                .servers
                .get_mut(id)
                .filter(|s| s.vm_state == "building" && !s.is_deleting())?;
            "active".clone_into(&mut server.vm_state);
            (server.task_state, server.launched, server.updated) = (None, Some(now), now);
            server.node.clone()
        });
        if let Some(node) = node {
            cloud.service::<Ironic>().deployed(cloud, &node);
        }
    }

    fn fail(&self, cloud: &Cloud, id: &str, message: &str) {
        let now = cloud.now();
        let server = self.state.write(|s| {
            let server = s.servers.get_mut(id).filter(|s| !s.is_deleting())?;
            "error".clone_into(&mut server.vm_state);
            (server.task_state, server.updated) = (None, now);
            server.fault = Some(ServerFault {
                code: 500,
                message: message.to_owned(),
                created: now,
            });
            Some(server.clone())
        });
        if let Some(server) = server {
            self.disconnect(cloud, &server);
            self.state.write(|s| {
                if let Some(server) = s.servers.get_mut(id) {
                    (server.host, server.node) = (None, None);
                }
            });
        }
    }

    /// Gives ports, volumes and the node back.
    fn disconnect(&self, cloud: &Cloud, server: &Server) {
        let neutron = cloud.service::<Neutron>();
        let mint = Mint::of(cloud);
        neutron.state.write(|state| {
            for nic in &server.nics {
                let Some(id) = nic.port_id.as_ref().filter(|id| !id.is_empty()) else {
                    continue;
                };
                if nic.own {
                    state.drop_port(&mint, id);
                } else if let Some(port) =
                    state.ports.get_mut(id).filter(|p| p.device_id == server.id)
                {
                    port.device_id.clear();
                    port.device_owner.clear();
                    port.host_id.clear();
                    port.meta.touch(mint.now);
                }
            }
            let rest: Vec<String> = state
                .ports
                .values()
                .filter(|p| p.device_id == server.id)
                .map(|p| p.meta.id.clone())
                .collect();
            for id in rest {
                state.drop_port(&mint, &id);
            }
        });
        let cinder = cloud.service::<Cinder>();
        for disk in &server.disks {
            if let Some(volume) = &disk.volume_id {
                cinder.detach(cloud, &server.id, volume, disk.delete_on_termination);
            }
        }
        if let Some(node) = &server.node {
            cloud.service::<Ironic>().release(cloud, node, &server.id);
        }
    }

    /// Starts or goes on with the deletion of a server.
    pub(super) fn start_delete(self: &Arc<Self>, cloud: &Cloud, id: &str) {
        let (nova, inner, id) = (Arc::clone(self), cloud.clone(), id.to_owned());
        cloud.spawn(async move {
            inner.build(Build::ServerDelete).await;
            let server = nova.state.read(|s| s.servers.get(&id).cloned());
            let Some(server) = server else { return };
            let _together = inner.hold().await;
            nova.disconnect(&inner, &server);
            nova.state.write(|state| {
                state.servers.shift_remove(&id);
                for group in state.groups.values_mut() {
                    group.members.retain(|member| *member != id);
                }
            });
        });
    }

    /// Ends a power action after the time it takes: `task_state` is cleared and the state becomes `vm_state`.
    pub(super) fn start_power(self: &Arc<Self>, cloud: &Cloud, id: &str, vm_state: &'static str) {
        let (nova, inner, id) = (Arc::clone(self), cloud.clone(), id.to_owned());
        cloud.spawn(async move {
            inner.build(Build::ServerDelete).await;
            let now = inner.now();
            nova.state.write(|s| {
                if let Some(server) = s
                    .servers
                    .get_mut(&id)
                    .filter(|s| s.task_state.is_some() && !s.is_deleting())
                {
                    vm_state.clone_into(&mut server.vm_state);
                    (server.task_state, server.updated) = (None, now);
                }
            });
        });
    }

    /// Goes on with everything that was in flight.
    pub(super) fn resume_all(self: &Arc<Self>, cloud: &Cloud) {
        let flying: Vec<Server> = self.state.read(|s| {
            s.servers
                .values()
                .filter(|s| s.task_state.is_some())
                .cloned()
                .collect()
        });
        for server in flying {
            match server.task_state.as_deref() {
                Some("deleting") => self.start_delete(cloud, &server.id),
                Some("powering-off") => self.start_power(cloud, &server.id, "stopped"),
                Some("powering-on" | "rebooting") => self.start_power(cloud, &server.id, "active"),
                _ => self.start_build(cloud, &server.id),
            }
        }
    }
}
