//! Cinder: volumes, their types and quotas.

use std::sync::Arc;

use axum::Router;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::nova::model::{Disk, Server};
use super::{Build, Cloud, Microversion, Persist, Service, ServiceKind, Store, ask};

pub mod model;
mod routes;

#[cfg(test)]
mod tests;

use model::{Attachment, CinderState, Volume};

/// The service.
#[derive(Debug, Default)]
pub struct Cinder {
    state: Store<CinderState>,
}

impl Cinder {
    /// A service without volumes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Attaches the volume of a server's disk, made first when the disk asks for a new one. Returns the volume's id.
    ///
    /// # Errors
    /// A sentence: the volume is not there or not free, or the quota is exceeded.
    pub fn attach(
        &self,
        cloud: &Cloud,
        server: &Server,
        disk: &Disk,
        index: usize,
    ) -> Result<String, String> {
        let now = cloud.now();
        let letter = "abcdefghijklmnopqrstuvwxyz"
            .chars()
            .nth(index)
            .unwrap_or('z');
        let device = format!("/dev/vd{letter}");
        let attachment = Attachment {
            id: cloud.uuid(),
            server_id: server.id.clone(),
            device,
            at: now,
        };
        self.state.write(|state| {
            if let Some(id) = &disk.volume_id {
                let volume = state
                    .volumes
                    .get_mut(id)
                    .filter(|v| v.project_id == server.project_id);
                let volume = volume.ok_or_else(|| format!("Volume {id} could not be found."))?;
                if volume.attachments.iter().any(|a| a.server_id == server.id) {
                    return Ok(id.clone());
                }
                if volume.status != "available" {
                    return Err(format!(
                        "Invalid volume: volume {id} status must be 'available'. Currently in '{}'",
                        volume.status
                    ));
                }
                "in-use".clone_into(&mut volume.status);
                volume.attachments.push(attachment);
                volume.updated_at = Some(now);
                return Ok(id.clone());
            }
            if let Some(text) = state.exceeded(&server.project_id, disk.size) {
                return Err(text);
            }
            let volume = Volume {
                id: cloud.uuid(),
                name: Some(String::new()),
                description: Some(String::new()),
                project_id: server.project_id.clone(),
                user_id: server.user_id.clone(),
                status: "in-use".to_owned(),
                size: disk.size,
                volume_type: disk
                    .volume_type
                    .clone()
                    .unwrap_or_else(|| model::TYPES[0].1.to_owned()),
                availability_zone: "nova".to_owned(),
                metadata: std::collections::BTreeMap::new(),
                bootable: disk.image_id.is_some(),
                attachments: vec![attachment],
                created_at: now,
                updated_at: Some(now),
            };
            let id = volume.id.clone();
            state.volumes.insert(id.clone(), volume);
            Ok(id)
        })
    }

    /// Attaches a free volume to a server that runs. Returns the device.
    ///
    /// # Errors
    /// `None` when there is no such volume; else why it is refused.
    pub fn attach_running(
        &self,
        cloud: &Cloud,
        server: &Server,
        id: &str,
    ) -> Result<String, Option<String>> {
        let now = cloud.now();
        self.state.write(|state| {
            let volume = state
                .volumes
                .get_mut(id)
                .filter(|v| v.project_id == server.project_id)
                .ok_or(None)?;
            if let Some(other) = volume.attachments.first() {
                let text = format!(
                    "Invalid volume: volume {id} is already attached to instances: {}",
                    other.server_id
                );
                return Err(Some(text));
            }
            if volume.status != "available" {
                let status = &volume.status;
                let text =
                    format!("Invalid volume: status must be available or in-use, but is {status}");
                return Err(Some(text));
            }
            let letter = "bcdefghijklmnopqrstuvwxyz"
                .chars()
                .nth(server.disks.len())
                .unwrap_or('z');
            let device = format!("/dev/sd{letter}");
            "in-use".clone_into(&mut volume.status);
            volume.updated_at = Some(now);
            let (server_id, id) = (server.id.clone(), cloud.uuid());
            volume.attachments.push(Attachment {
                id,
                server_id,
                device: device.clone(),
                at: now,
            });
            Ok(device)
        })
    }

    /// Where a volume is attached to a server: the attachment's id and the device.
    #[must_use]
    pub fn attachment(&self, server_id: &str, id: &str) -> Option<(String, String)> {
        self.state.read(|state| {
            let found = state
                .volumes
                .get(id)?
                .attachments
                .iter()
                .find(|a| a.server_id == server_id)?;
            Some((found.id.clone(), found.device.clone()))
        })
    }

    /// Detaches a volume from a server and deletes it if it ends with the server.
    pub fn detach(&self, cloud: &Cloud, server_id: &str, volume: &str, delete: bool) {
        let now = cloud.now();
        self.state.write(|state| {
            if delete {
                state.volumes.shift_remove(volume);
            } else if let Some(volume) = state.volumes.get_mut(volume) {
                volume.attachments.retain(|a| a.server_id != server_id);
                if volume.attachments.is_empty() {
                    "available".clone_into(&mut volume.status);
                }
                volume.updated_at = Some(now);
            }
        });
    }

    /// Ends the creation or deletion of a volume after the time it takes.
    fn settle(self: &Arc<Self>, cloud: &Cloud, id: &str) {
        let (cinder, inner, id) = (Arc::clone(self), cloud.clone(), id.to_owned());
        cloud.spawn(async move {
            inner.build(Build::Volume).await;
            let now = inner.now();
            cinder
                .state
                .write(|state| match state.volumes.get_mut(&id) {
                    Some(volume) if volume.status == "creating" => {
                        "available".clone_into(&mut volume.status);
                        volume.updated_at = Some(now);
                    }
                    Some(volume) if volume.status == "deleting" => {
                        state.volumes.shift_remove(&id);
                    }
                    _ => {}
                });
        });
    }
}

impl Service for Cinder {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Cinder
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        ask::router(&self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        let volumes: Vec<Value> = self.state.read(|s| {
            let seen = s.volumes.values().filter(|v| project.is_none_or(|p| p == v.project_id));
            seen.map(|v| json!({"id": v.id, "name": v.name, "project_id": v.project_id, "status": v.status})).collect()
        });
        json!({"volumes": volumes})
    }

    fn resume(self: Arc<Self>, cloud: &Cloud) {
        let flying: Vec<String> = self.state.read(|s| {
            let flying = s
                .volumes
                .values()
                .filter(|v| matches!(v.status.as_str(), "creating" | "deleting"));
            flying.map(|v| v.id.clone()).collect()
        });
        for id in flying {
            self.settle(cloud, &id);
        }
    }
}

fn stamp(version: Microversion, headers: &mut HeaderMap) {
    let shown = if version.latest {
        format!("volume 3.{}", routes::NEWEST)
    } else if version == Microversion::default() {
        "volume 3.0".to_owned()
    } else {
        format!("volume {}.{}", version.major, version.minor)
    };
    if let Ok(value) = HeaderValue::from_str(&shown) {
        headers.insert("openstack-api-version", value);
    }
    headers.insert("vary", HeaderValue::from_static("OpenStack-API-Version"));
}
