//! Volumes and their attachments.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Context, Created};
use crate::openstack::heat::failure::Failure;

fn volumes(cx: &Context<'_>) -> String {
    format!("/volume/v3/{}/volumes", cx.home.project_id)
}

fn is_volume(cx: &Context<'_>) -> bool {
    cx.resource.kind == "OS::Cinder::Volume"
}

pub(super) async fn create(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    if !is_volume(cx) {
        let mut attachment = json!({"volumeId": cx.text("volume_id")});
        if let Some(device) = cx.get("mountpoint").filter(|d| **d != json!("")) {
            attachment["device"] = device.clone();
        }
        let path = format!(
            "/compute/v2.1/servers/{}/os-volume_attachments",
            cx.text("instance_uuid")
        );
        cx.client
            .post(&path, json!({"volumeAttachment": attachment}))
            .await?;
        // Newer Nova shows no attachment id of its own; the volume's id names the attachment in its API.
        return Ok(Created::id(cx.text("volume_id")));
    }
    let body = cx
        .body(&[
            ("size", "size", ""),
            ("image", "imageRef", "glance.image"),
            ("volume_type", "volume_type", ""),
            ("availability_zone", "availability_zone", ""),
            ("description", "description", ""),
            ("metadata", "metadata", ""),
            ("snapshot_id", "snapshot_id", ""),
            ("source_volid", "source_volid", ""),
        ])
        .await?;
    let mut volume = Value::Object(body);
    volume["name"] = json!(cx.name());
    Created::of(
        &cx.client
            .post(&volumes(cx), json!({"volume": volume}))
            .await?,
        "volume",
    )
}

async fn status(cx: &Context<'_>, id: &str) -> Result<String, Failure> {
    let body = cx.client.get(&format!("{}/{id}", volumes(cx))).await?;
    Ok(body["volume"]["status"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

pub(super) async fn created(cx: &Context<'_>) -> Result<bool, Failure> {
    let (id, wanted) = if is_volume(cx) {
        (cx.id(), "available")
    } else {
        (cx.text("volume_id"), "in-use")
    };
    match status(cx, id).await?.as_str() {
        found if found == wanted => Ok(true),
        "in-use" if is_volume(cx) => Ok(true),
        found if found.starts_with("error") => Err(Failure::new(
            "ResourceInError",
            format!("Went to status {found} due to \"Unknown\""),
        )),
        _ => Ok(false),
    }
}

pub(super) async fn update(cx: &Context<'_>, changed: &[&str]) -> Result<(), Failure> {
    if !is_volume(cx) {
        return Err(Failure::unsupported(
            "an in-place update of OS::Cinder::VolumeAttachment",
        ));
    }
    let path = format!("{}/{}", volumes(cx), cx.id());
    for name in changed {
        match *name {
            "name" | "description" => {
                let body = json!({"name": cx.name(), "description": cx.text("description")});
                cx.client.put(&path, json!({"volume": body})).await?;
            }
            "metadata" => {
                let metadata = cx.get("metadata").cloned().unwrap_or_else(|| json!({}));
                cx.client
                    .put(&format!("{path}/metadata"), json!({"metadata": metadata}))
                    .await?;
            }
            "size" => {
                let body = json!({"os-extend": {"new_size": cx.get("size")}});
                cx.client.post(&format!("{path}/action"), body).await?;
            }
            other => {
                return Err(Failure::unsupported(format!(
                    "an in-place update of {other} of OS::Cinder::Volume"
                )));
            }
        }
    }
    Ok(())
}

pub(super) async fn delete(cx: &Context<'_>) -> Result<bool, Failure> {
    let path = if is_volume(cx) {
        format!("{}/{}", volumes(cx), cx.id())
    } else {
        format!(
            "/compute/v2.1/servers/{}/os-volume_attachments/{}",
            cx.text("instance_uuid"),
            cx.text("volume_id")
        )
    };
    cx.client.delete(&path).await.map(|_| true)
}

pub(super) async fn deleted(cx: &Context<'_>) -> Result<bool, Failure> {
    let id = if is_volume(cx) {
        cx.id()
    } else {
        cx.text("volume_id")
    };
    match status(cx, id).await {
        Ok(found) => Ok(!is_volume(cx) && found != "in-use" && found != "detaching"),
        Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok(true),
        Err(failure) => Err(failure),
    }
}

pub(super) async fn live(cx: &Context<'_>) -> Result<Value, Failure> {
    if !is_volume(cx) {
        return Ok(json!({}));
    }
    let volume = cx
        .client
        .get(&format!("{}/{}", volumes(cx), cx.id()))
        .await?["volume"]
        .clone();
    Ok(volume)
}
