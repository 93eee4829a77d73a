//! Glance: images.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    Named, Result, Session, pick,
    request::{Query, request, segments},
};

/// An image.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Image {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: Option<String>,
    /// `active`, `queued`, `deactivated`, ...
    #[serde(default)]
    pub status: String,
    /// `public`, `private`, `shared`, `community`.
    #[serde(default)]
    pub visibility: String,
    /// Smallest disk, in GiB.
    #[serde(default)]
    pub min_disk: u64,
    /// Smallest memory, in MiB.
    #[serde(default)]
    pub min_ram: u64,
    /// Size, in bytes.
    #[serde(default)]
    pub size: Option<u64>,
    /// `raw`, `qcow2`, ...
    #[serde(default)]
    pub disk_format: Option<String>,
    /// Project.
    #[serde(default)]
    pub owner: Option<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Everything else, the properties of the image among them.
    #[serde(flatten)]
    pub properties: BTreeMap<String, Value>,
}

impl Image {
    /// A property that is text: `os_distro`, `kube_version`, ...
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).and_then(Value::as_str)
    }

    /// Whether servers can be made of it.
    pub fn is_active(&self) -> bool {
        self.status == "active"
    }
}

impl Named for Image {
    const KIND: &'static str = "image";
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

request! {
    /// Reads an image.
    ShowImage {
        /// Id.
        id: String,
    } => Image;
    Image GET "show image";
    path: |r| segments!["images", r.id];
    decode: |answer| answer.json()
}

request! {
    /// Lists images.
    ListImages {
        /// Only those of this name.
        name: Option<String>,
    } => Vec<Image>;
    Image GET "list images";
    path: |_r| segments!["images"];
    query: |r| {
        let mut query: Query = vec![("limit".into(), "500".to_owned())];
        if let Some(name) = &r.name {
            query.push(("name".into(), name.clone()));
        }
        query
    };
    decode: |answer| answer.json_at("images")
}

/// Finds an image by name or id.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find_image(session: &Session, name_or_id: &str) -> Result<Image> {
    let looks_like_id = uuid::Uuid::try_parse(name_or_id).is_ok();
    if looks_like_id {
        match session
            .send(ShowImage {
                id: name_or_id.to_owned(),
            })
            .await
        {
            Err(error) if error.is_not_found() => {}
            other => return other,
        }
    }
    // Glance reads `in:a,b` as a list and takes a quoted name as it is.
    let name = if name_or_id.contains([':', ',', '"']) {
        format!("in:\"{name_or_id}\"")
    } else {
        name_or_id.to_owned()
    };
    let found = session.send(ListImages { name: Some(name) }).await?;
    Ok(pick(name_or_id, found)?)
}
