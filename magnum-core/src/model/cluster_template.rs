//! Cluster templates: what a platform team publishes and a cluster is made from.

use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Labels, Overrides, Problems, TemplateName};
use crate::id::{ClusterTemplateId, ProjectId};

/// What kind of machine nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ServerType {
    /// Virtual machines (Nova).
    #[serde(rename = "vm")]
    Vm,
    /// Physical machines (Ironic through Nova).
    #[serde(rename = "bm")]
    BareMetal,
}

impl ServerType {
    /// Magnum's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vm => "vm",
            Self::BareMetal => "bm",
        }
    }
}

/// How clients reach the Kubernetes API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancerSettings {
    /// Whether a load balancer stands before the control plane (Magnum's `master_lb_enabled`).
    pub enabled: bool,
    /// Whether its address is also a floating one, reachable from outside.
    pub floating_ip: bool,
}

/// The values of a template that decide what a cluster looks like. A cluster keeps its own copy: template changes never reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateSpec {
    /// Container orchestration engine; only `kubernetes`.
    pub coe: String,
    /// The driver's name; where absent it is chosen by server type, distribution and engine.
    pub driver: Option<String>,
    /// The operating system of the nodes, as the image's `os_distro` says; `ubuntu` where absent.
    pub distro: String,
    /// Virtual machines or bare metal, for groups that do not say otherwise.
    pub server_type: ServerType,
    /// Node image, by name or id.
    pub image: String,
    /// Worker flavor, by name or id.
    pub flavor: String,
    /// Control-plane flavor; the worker flavor where absent.
    pub master_flavor: Option<String>,
    /// SSH key pair, by name.
    pub keypair: Option<String>,
    /// External network for the router and floating addresses.
    pub external_network: Option<String>,
    /// Network that nodes join; where absent one is made.
    pub fixed_network: Option<String>,
    /// Subnet that nodes join; where absent the network's only one, or one is made.
    pub fixed_subnet: Option<String>,
    /// Name servers of the subnet that is made. Read from a list, or from a text with commas (rule `TV-08`).
    #[serde(default, deserialize_with = "nameservers")]
    pub dns_nameservers: Vec<std::net::IpAddr>,
    /// Pod network: `flannel`, `calico`, `cilium` or `none`.
    pub network_driver: String,
    /// Load balancer before the control plane.
    pub master_lb: LoadBalancerSettings,
    /// Whether nodes get floating addresses.
    pub floating_ip_enabled: bool,
    /// Size of an extra volume for containers in GiB; none or 0 means none.
    pub docker_volume_size: Option<u32>,
    /// Everything else. Missing and null are none (rule `TV-02`).
    #[serde(default, deserialize_with = "labels_or_none")]
    pub labels: Labels,
    /// Which of these values users may set otherwise.
    #[serde(default, skip_serializing_if = "Overrides::is_empty")]
    pub overrides: Overrides,
}

impl TemplateSpec {
    /// A template of virtual machines with flannel, a load balancer with a floating address, and Magnum's defaults otherwise.
    pub fn new(image: impl Into<String>, flavor: impl Into<String>) -> Self {
        Self {
            coe: "kubernetes".to_owned(),
            driver: None,
            distro: "ubuntu".to_owned(),
            server_type: ServerType::Vm,
            image: image.into(),
            flavor: flavor.into(),
            master_flavor: None,
            keypair: None,
            external_network: None,
            fixed_network: None,
            fixed_subnet: None,
            dns_nameservers: Vec::new(),
            network_driver: "flannel".to_owned(),
            master_lb: LoadBalancerSettings {
                enabled: true,
                floating_ip: true,
            },
            floating_ip_enabled: false,
            docker_volume_size: None,
            labels: Labels::new(),
            overrides: Overrides::new(),
        }
    }

    /// Checks what can be checked without a cloud.
    ///
    /// # Errors
    /// Every field that breaks a rule.
    pub fn validate(&self) -> Result<(), Problems> {
        let mut problems = Problems::new();
        if self.coe != "kubernetes" {
            problems.add("coe", &self.coe, "must be kubernetes");
        }
        for (field, value) in [("image", &self.image), ("flavor", &self.flavor)] {
            if value.trim().is_empty() {
                problems.add(field, value, "must name one");
            }
        }
        if !matches!(
            self.network_driver.as_str(),
            "flannel" | "calico" | "cilium" | "none"
        ) {
            problems.add(
                "network_driver",
                &self.network_driver,
                "must be flannel, calico, cilium or none",
            );
        }
        if self.master_lb.floating_ip && self.master_lb.enabled && self.external_network.is_none() {
            problems.add(
                "external_network",
                "",
                "must be given where the load balancer gets a floating address",
            );
        }
        if self.server_type == ServerType::BareMetal && self.fixed_network.is_none() {
            problems.add("fixed_network", "", "must be given for bare metal");
        }
        problems.absorb(self.overrides.validate());
        problems.into_result()
    }
}

/// Reads name servers from a text: blanks around items are ignored, each item must be an address (rule `TV-08`).
///
/// # Errors
/// Every item that is no address, an empty one too.
pub fn parse_nameservers(text: &str) -> Result<Vec<std::net::IpAddr>, Problems> {
    let mut problems = Problems::new();
    let mut servers = Vec::new();
    for item in text.split(',').map(str::trim) {
        match item.parse() {
            Ok(server) => servers.push(server),
            Err(_) => {
                let rule = "must be addresses such as 8.8.8.8, separated by commas";
                problems.add("dns_nameserver", item, rule);
            }
        }
    }
    problems.into_result()?;
    Ok(servers)
}

fn nameservers<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<std::net::IpAddr>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        List(Vec<std::net::IpAddr>),
        Text(String),
    }
    match Option::deserialize(d)? {
        None => Ok(Vec::new()),
        Some(Form::List(servers)) => Ok(servers),
        Some(Form::Text(text)) => parse_nameservers(&text).map_err(D::Error::custom),
    }
}

fn labels_or_none<'de, D: Deserializer<'de>>(d: D) -> Result<Labels, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

/// A cluster template, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterTemplate {
    /// Its id.
    pub id: ClusterTemplateId,
    /// Its name; not necessarily unique.
    pub name: TemplateName,
    /// The project that owns it.
    pub project_id: ProjectId,
    /// The user who made it.
    pub user_id: String,
    /// Whether every project may read and use it.
    pub public: bool,
    /// Whether it is left out of lists.
    pub hidden: bool,
    /// What a cluster made from it looks like.
    pub spec: TemplateSpec,
    /// The first template of its lineage; none where it is the first itself. See [`lineage`](Self::lineage).
    #[serde(default)]
    pub first_version: Option<ClusterTemplateId>,
    /// Its number in the lineage, from 1.
    #[serde(default = "first")]
    pub version: u32,
    /// A word for this version, such as `2026-q4`; unique in the lineage, never moved.
    #[serde(default)]
    pub version_tag: Option<String>,
    /// Whether, and for what, it should not be used any more.
    #[serde(default)]
    pub deprecation: Option<Deprecation>,
    /// Counts its changes.
    #[serde(default)]
    pub revision: u64,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

const fn first() -> u32 {
    1
}

impl ClusterTemplate {
    /// The id that all versions of one template share: that of the first.
    #[must_use]
    pub fn lineage(&self) -> ClusterTemplateId {
        self.first_version.unwrap_or(self.id)
    }

    /// Whether a text names this version: its tag, or its number as `v3`.
    #[must_use]
    pub fn has_version(&self, text: &str) -> bool {
        self.version_tag.as_deref() == Some(text) || format!("v{}", self.version) == text
    }
}

/// That a template should not be used for new clusters. Clusters made from it live on unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecation {
    /// Why, in a sentence for users.
    pub message: String,
    /// The template to use instead.
    #[serde(default)]
    pub successor: Option<ClusterTemplateId>,
    /// Whether new clusters are refused; where not, they are made with a warning.
    #[serde(default)]
    pub closed: bool,
}

/// What a caller says to publish another version of a template. Name, owner and visibility stay those of the latest version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTemplateVersion {
    /// What clusters made from it look like.
    pub spec: TemplateSpec,
    /// A word for it, of 1 to 63 letters, digits, `-`, `_` and `.`, and not of the form `v3`.
    #[serde(default)]
    pub tag: Option<String>,
    /// Deprecates the version before in the same step, with this message and the new one as its successor.
    #[serde(default)]
    pub deprecate_previous: Option<String>,
}

/// What a caller says to make a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewClusterTemplate {
    /// Its name.
    pub name: TemplateName,
    /// What clusters made from it look like.
    pub spec: TemplateSpec,
    /// Whether every project may read and use it; only an operator may say so.
    pub public: bool,
    /// Whether it is left out of lists.
    pub hidden: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tv_02_missing_and_null_labels_are_no_labels() {
        let mut json = serde_json::to_value(TemplateSpec::new("i", "f")).unwrap();
        let read = |json: &serde_json::Value| -> TemplateSpec {
            serde_json::from_value(json.clone()).unwrap()
        };
        json["labels"] = serde_json::Value::Null;
        assert!(read(&json).labels.is_empty());
        json.as_object_mut().unwrap().remove("labels");
        assert!(read(&json).labels.is_empty());
        assert_eq!(read(&json), TemplateSpec::new("i", "f"));
    }

    #[test]
    fn tv_08_name_servers_are_read_from_text_item_by_item() {
        assert_eq!(parse_nameservers("8.8.8.8, 8.8.4.4").unwrap().len(), 2);
        assert_eq!(parse_nameservers("2001:4860:4860::8888").unwrap().len(), 1);
        let error = parse_nameservers("8.8.8, 1.1.1.1,").unwrap_err();
        let values: Vec<_> = error.iter().map(|p| p.value.as_str()).collect();
        assert_eq!(values, ["8.8.8", ""]);
        let mut json = serde_json::to_value(TemplateSpec::new("i", "f")).unwrap();
        json["dns_nameservers"] = "8.8.8.8, 8.8.4.4".into();
        let spec: TemplateSpec = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(spec.dns_nameservers.len(), 2);
        json["dns_nameservers"] = "8.8.8".into();
        let error = serde_json::from_value::<TemplateSpec>(json).unwrap_err();
        assert!(error.to_string().contains("8.8.8"), "{error}");
    }
}
