//! Volumes of a running server.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::super::ApiError;
use super::super::ask::{Answer, Ask};
use super::super::cinder::Cinder;
use super::Nova;
use super::model::{Disk, Server, bad, conflict, missing};
use super::views::View;

fn show(cinder: &Cinder, view: View<'_>, server: &Server, disk: &Disk) -> Option<Value> {
    let volume = disk.volume_id.as_ref()?;
    let (attachment, device) = cinder.attachment(&server.id, volume)?;
    let mut shown = json!({"volumeId": volume, "serverId": server.id, "device": device});
    if view.version < 89 {
        shown["id"] = volume.clone().into();
    } else {
        shown["attachment_id"] = attachment.clone().into();
        shown["bdm_uuid"] = attachment.into();
    }
    if view.version >= 70 {
        shown["tag"] = Value::Null;
    }
    if view.version >= 79 {
        shown["delete_on_termination"] = disk.delete_on_termination.into();
    }
    Some(shown)
}

pub(super) fn answer(
    nova: &Arc<Nova>,
    ask: &Ask,
    view: View<'_>,
    server: &Server,
    rest: &[&str],
) -> Result<Answer, ApiError> {
    let cinder = ask.cloud.service::<Cinder>();
    let find = |id: &str| {
        server
            .disks
            .iter()
            .find(|disk| disk.volume_id.as_deref() == Some(id))
    };
    let lost = |id: &str| {
        missing(format!(
            "Instance {} is not attached to volume {id}",
            server.id
        ))
    };
    match (&ask.method, rest) {
        (&Method::GET, []) => {
            let all = server
                .disks
                .iter()
                .filter_map(|disk| show(&cinder, view, server, disk));
            Ok(Answer::json(
                200,
                json!({"volumeAttachments": all.collect::<Vec<_>>()}),
            ))
        }
        (&Method::GET, [id]) => {
            let shown = find(id).and_then(|disk| show(&cinder, view, server, disk));
            let shown = shown.ok_or_else(|| lost(id))?;
            Ok(Answer::json(200, json!({"volumeAttachment": shown})))
        }
        (&Method::POST, []) => {
            if !matches!(server.vm_state.as_str(), "active" | "stopped") {
                let (id, state) = (&server.id, &server.vm_state);
                let text =
                    format!("Cannot 'attach_volume' instance {id} while it is in vm_state {state}");
                return Err(conflict(text));
            }
            let wanted = &ask.body["volumeAttachment"];
            let id = wanted["volumeId"].as_str().unwrap_or_default();
            let attached = cinder.attach_running(&ask.cloud, server, id);
            attached.map_err(|why| match why {
                Some(text) => bad(text),
                None => missing(format!("Volume {id} could not be found.")),
            })?;
            let disk = Disk {
                volume_id: Some(id.to_owned()),
                image_id: None,
                size: 0,
                volume_type: None,
                delete_on_termination: wanted["delete_on_termination"].as_bool().unwrap_or(false),
                boot_index: -1,
            };
            let shown = show(&cinder, view, server, &disk);
            nova.state.write(|s| {
                s.servers
                    .get_mut(&server.id)
                    .map(|server| server.disks.push(disk))
            });
            Ok(Answer::json(200, json!({"volumeAttachment": shown})))
        }
        (&Method::DELETE, [id]) => {
            find(id).ok_or_else(|| lost(id))?;
            cinder.detach(&ask.cloud, &server.id, id, false);
            nova.state.write(|s| {
                if let Some(server) = s.servers.get_mut(&server.id) {
                    server
                        .disks
                        .retain(|disk| disk.volume_id.as_deref() != Some(*id));
                }
            });
            Ok(Answer::empty(202))
        }
        _ => Err(ask.unknown()),
    }
}
