//! Ironic: nodes.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Named, Result, Session,
    request::{Query, request, segments},
    wire,
};

/// A bare metal node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Node {
    /// Id.
    pub uuid: String,
    /// Name.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub name: String,
    /// `available`, `active`, `deploying`, `error`, ...
    #[serde(default, deserialize_with = "wire::null_default")]
    pub provision_state: String,
    /// `power on`, `power off`.
    #[serde(default)]
    pub power_state: Option<String>,
    /// Resource class.
    #[serde(default)]
    pub resource_class: Option<String>,
    /// Whether it is in maintenance.
    #[serde(default)]
    pub maintenance: bool,
    /// Server that it is, by id.
    #[serde(default)]
    pub instance_uuid: Option<String>,
    /// Project that has it on lease, by id. Nova's servers lease their machines to their project.
    #[serde(default)]
    pub lessee: Option<String>,
    /// Last error.
    #[serde(default)]
    pub last_error: Option<String>,
    /// Traits.
    #[serde(default)]
    pub traits: Vec<String>,
    /// CPUs, memory, disk, capabilities.
    #[serde(default)]
    pub properties: Map<String, Value>,
}

impl Node {
    /// Whether a server can be made of it now.
    pub fn is_free(&self) -> bool {
        self.provision_state == "available" && !self.maintenance && self.instance_uuid.is_none()
    }
}

impl Named for Node {
    const KIND: &'static str = "bare metal node";
    fn id(&self) -> &str {
        &self.uuid
    }
    fn name(&self) -> &str {
        &self.name
    }
}

request! {
    /// Lists nodes with details, up to 1000.
    ListNodes {
        /// Only those of this resource class.
        resource_class: Option<String>,
    } => Vec<Node>;
    BareMetal GET "list bare metal nodes" @ "1.65";
    path: |_r| segments!["nodes", "detail"];
    query: |r| {
        let mut query = Query::new();
        query.extend(r.resource_class.iter().map(|class| ("resource_class".into(), class.clone())));
        query
    };
    decode: |answer| answer.json_at("nodes")
}

request! {
    /// Reads a node.
    ShowNode {
        /// Name or id.
        id: String,
    } => Node;
    BareMetal GET "show bare metal node" @ "1.65";
    path: |r| segments!["nodes", r.id];
    decode: |answer| answer.json()
}

/// The node that a server is.
///
/// # Errors
/// Those of [`Session::send`].
pub async fn node_of_server(session: &Session, server_id: &str) -> Result<Option<Node>> {
    let nodes = session
        .send(ListNodes {
            resource_class: None,
        })
        .await?;
    Ok(nodes
        .into_iter()
        .find(|n| n.instance_uuid.as_deref() == Some(server_id)))
}
