//! Glance: images, listed and shown; nothing is uploaded.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use http::{Method, StatusCode};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask::{self, Answer, Answers, Ask};
use super::listing::{Page, matches, next_query};
use super::{ApiError, Caller, Cloud, Persist, Service, ServiceKind, Store, seed};

/// An image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Image {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Owner.
    pub owner: String,
    /// `public`, `private`, `shared` or `community`.
    pub visibility: String,
    /// GiB.
    pub min_disk: u64,
    /// MiB.
    pub min_ram: u64,
    /// Bytes.
    pub size: u64,
    /// Properties beyond the schema.
    pub properties: BTreeMap<String, String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Made.
    pub created_at: DateTime<Utc>,
    /// Changed.
    pub updated_at: DateTime<Utc>,
}

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct GlanceState {
    /// Images by id.
    pub images: IndexMap<String, Image>,
}

/// The service.
#[derive(Debug)]
pub struct Glance {
    state: Store<GlanceState>,
}

impl Default for Glance {
    fn default() -> Self {
        Self::new()
    }
}

type Seed = (&'static str, u64, &'static [(&'static str, &'static str)]);

fn seeded() -> GlanceState {
    let images: [Seed; 5] = [
        (
            "ubuntu-k8s-v1.36",
            10,
            &[
                ("os_distro", "ubuntu"),
                ("os_version", "24.04"),
                ("kube_version", "v1.36.1"),
            ],
        ),
        (
            "ubuntu-k8s-v1.35",
            10,
            &[
                ("os_distro", "ubuntu"),
                ("os_version", "24.04"),
                ("kube_version", "v1.35.4"),
            ],
        ),
        (
            "ubuntu-k8s-v1.37",
            10,
            &[
                ("os_distro", "ubuntu"),
                ("os_version", "24.04"),
                ("kube_version", "v1.37.0"),
            ],
        ),
        (
            "ubuntu-k8s-bm-v1.36",
            10,
            &[
                ("os_distro", "ubuntu"),
                ("os_version", "24.04"),
                ("kube_version", "v1.36.1"),
            ],
        ),
        ("test-image", 0, &[("os_distro", "fedora-coreos")]),
    ];
    let at = DateTime::UNIX_EPOCH + TimeDelta::days(20_423);
    let mut state = GlanceState::default();
    for (name, min_disk, properties) in images {
        let image = Image {
            id: uuid::Uuid::new_v5(
                &uuid::Uuid::NAMESPACE_OID,
                format!("image {name}").as_bytes(),
            )
            .to_string(),
            name: name.to_owned(),
            owner: seed::ADMIN_PROJECT.to_owned(),
            visibility: "public".to_owned(),
            min_disk,
            min_ram: 0,
            size: 4096,
            properties: properties
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            tags: Vec::new(),
            created_at: at,
            updated_at: at,
        };
        state.images.insert(image.id.clone(), image);
    }
    state
}

fn fault(status: StatusCode, message: impl Into<String>) -> ApiError {
    ApiError::new(ServiceKind::Glance, status, "", message)
}

fn view(image: &Image) -> Value {
    let time = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let path = format!("/v2/images/{}", image.id);
    let mut view = json!(image.properties);
    let known = json!({
        "name": image.name, "disk_format": "raw", "container_format": "bare", "visibility": image.visibility,
        "size": image.size, "virtual_size": image.size, "status": "active",
        "checksum": "620f0b67a91f7f74151bc5be745b7110", "protected": false, "min_ram": image.min_ram,
        "min_disk": image.min_disk, "owner": image.owner, "os_hidden": false, "os_hash_algo": "sha512",
        "os_hash_value": "2d23913d3759ef01704a86b4bee3ac8a29002313ecc98a7424425a78170f219577822fd77e4ae96313547696ad7d5949b58e12d5063ef2ee063b595740a3a12d",
        "id": image.id, "created_at": time(image.created_at), "updated_at": time(image.updated_at), "tags": image.tags,
        "self": path, "file": format!("{path}/file"), "schema": "/v2/schemas/image", "stores": "fs",
    });
    if let (Value::Object(view), Value::Object(known)) = (&mut view, known) {
        view.extend(known);
    }
    view
}

impl Glance {
    /// A service with its seeded objects: node images of Kubernetes 1.35 to 1.37, one for bare metal, and `test-image`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Store::new(seeded()),
        }
    }

    /// An image the caller may use.
    #[must_use]
    pub fn image(&self, caller: &Caller, id: &str) -> Option<Image> {
        self.state.read(|s| {
            s.images
                .get(id)
                .filter(|i| i.visibility != "private" || caller.sees(&i.owner))
                .cloned()
        })
    }

    fn list(&self, ask: &Ask) -> Result<Answer, ApiError> {
        const CONTROL: [&str; 8] = [
            "limit",
            "marker",
            "sort",
            "sort_key",
            "sort_dir",
            "member_status",
            "os_hidden",
            "created_at",
        ];
        let mut images: Vec<Image> = self.state.read(|s| {
            let seen = s
                .images
                .values()
                .filter(|i| i.visibility != "private" || ask.caller.sees(&i.owner));
            seen.cloned().collect()
        });
        images.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        let mut views: Vec<Value> = images.iter().map(view).collect();
        for (key, value) in ask
            .query
            .iter()
            .filter(|(key, _)| !CONTROL.contains(&key.as_str()))
        {
            let list = value.strip_prefix("in:");
            views.retain(|item| match (key.as_str(), list) {
                ("tag", _) => matches(&item["tags"], value),
                ("visibility", _) if value == "all" => true,
                (key, Some(list)) => list
                    .split(',')
                    .any(|one| matches(&item[key], one.trim_matches('"'))),
                (key, None) => matches(&item[key], value),
            });
        }
        let page = Page::from_query(&ask.query)
            .map_err(|_| fault(StatusCode::BAD_REQUEST, "limit param must be an integer"))?;
        let (views, more) = page.cut(views, "id").map_err(|marker| {
            fault(StatusCode::BAD_REQUEST, format!("Invalid marker: {marker}"))
        })?;
        let mut first = "/v2/images".to_owned();
        let query: Vec<_> = ask
            .query
            .iter()
            .filter(|(key, _)| key != "marker")
            .cloned()
            .collect();
        if !query.is_empty() {
            let text = url::form_urlencoded::Serializer::new(String::new())
                .extend_pairs(&query)
                .finish();
            first = format!("{first}?{text}");
        }
        let last = views
            .last()
            .and_then(|item| item["id"].as_str())
            .map(str::to_owned);
        let mut body = json!({"images": views, "first": first, "schema": "/v2/schemas/images"});
        if let (true, Some(last)) = (more, last) {
            body["next"] = format!("/v2/images?{}", next_query(&ask.query, &last)).into();
        }
        Ok(Answer::json(200, body))
    }
}

impl Answers for Glance {
    fn open(&self, base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        if method != Method::GET || !matches!(path, [] | ["versions"]) {
            return None;
        }
        let newest = 17;
        let versions: Vec<Value> = (0..=newest)
            .rev()
            .filter(|n| !matches!(n, 14 | 16))
            .map(|n| {
                let status = if n == newest { "CURRENT" } else { "SUPPORTED" };
                json!({"id": format!("v2.{n}"), "status": status, "links": [{"rel": "self", "href": format!("{base}/v2/")}]})
            })
            .collect();
        Some(Answer::json(300, json!({"versions": versions})))
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        match (&ask.method, ask.segments().as_slice()) {
            (&Method::GET, ["v2", "images"]) => self.list(ask),
            (&Method::GET, ["v2", "images", id]) => match self.image(&ask.caller, id) {
                Some(image) => Ok(Answer::json(200, view(&image))),
                None => Err(fault(
                    StatusCode::NOT_FOUND,
                    format!("No image found with ID {id}"),
                )),
            },
            _ => Err(ask.unknown()),
        }
    }
}

impl Service for Glance {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Glance
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        ask::router(&self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        let images: Vec<Value> = self.state.read(|s| {
            let seen = s
                .images
                .values()
                .filter(|i| project.is_none_or(|p| p == i.owner));
            seen.map(|i| json!({"id": i.id, "name": i.name, "project_id": i.owner}))
                .collect()
        });
        json!({"images": images})
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::{Value, json};

    use crate::openstack::tried::{Tried, same_keys};

    #[tokio::test]
    async fn images_are_listed_by_property_and_shown() {
        let cloud = Tried::start().await;
        let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
        let one = cloud.get("/image/v2/images?name=test-image").await;
        same_keys("image", &sample["image"], &one["images"][0]);
        let ubuntu = cloud.get("/image/v2/images?os_distro=ubuntu&limit=3").await;
        assert_eq!(ubuntu["images"].as_array().unwrap().len(), 3);
        let rest = cloud
            .get(&format!("/image{}", ubuntu["next"].as_str().unwrap()))
            .await;
        assert_eq!(rest["images"].as_array().unwrap().len(), 1);
        let wanted = cloud.get("/image/v2/images?name=ubuntu-k8s-v1.36").await["images"][0].clone();
        assert_eq!(wanted["kube_version"], "v1.36.1");
        assert_eq!(wanted["min_disk"], json!(10));
        let path = "/image/v2/images/00000000-0000-0000-0000-000000000000";
        assert_eq!(
            cloud
                .call(&cloud.demo, Method::GET, path, None)
                .await
                .status,
            404
        );
        let versions = cloud
            .cloud
            .call(Method::GET, "/image", None, &[], None)
            .await
            .unwrap();
        assert_eq!(
            (
                versions.status.as_u16(),
                &versions.body["versions"][0]["id"]
            ),
            (300, &json!("v2.17"))
        );
    }
}
