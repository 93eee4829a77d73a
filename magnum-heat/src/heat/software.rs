//! Software configs and deployments.

use std::fmt;

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Result,
    request::{Answer, Body, Path, Query, Request, ServiceType, request, segments},
    wire,
};

/// A software config. `Debug` does not show its text.
#[derive(Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct SoftwareConfig {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub name: String,
    /// What applies it: `script`, ...
    #[serde(default, deserialize_with = "wire::null_default")]
    pub group: String,
    /// Text; absent in lists.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub config: String,
    /// Inputs.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub inputs: Vec<Value>,
    /// Outputs.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub outputs: Vec<Value>,
}

impl fmt::Debug for SoftwareConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SoftwareConfig")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Creates a software config. `Debug` does not show its text.
#[derive(Clone)]
#[non_exhaustive]
pub struct CreateConfig {
    /// Name.
    pub name: String,
    /// What applies it: `script`, ...
    pub group: String,
    /// Text.
    pub config: String,
    /// Inputs: maps of `name`, `type`, ...
    pub inputs: Vec<Value>,
    /// Outputs: maps of `name`, `type`, ...
    pub outputs: Vec<Value>,
    /// Options for what applies it.
    pub options: Map<String, Value>,
}

impl CreateConfig {
    /// An empty config.
    pub fn new(name: impl Into<String>, group: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            group: group.into(),
            config: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            options: Map::new(),
        }
    }

    /// With this text.
    #[must_use]
    pub fn config(mut self, text: impl Into<String>) -> Self {
        self.config = text.into();
        self
    }
}

impl fmt::Debug for CreateConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateConfig")
            .field("name", &self.name)
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

impl Request for CreateConfig {
    type Output = SoftwareConfig;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "create software config";

    fn path(&self) -> Path {
        segments!["software_configs"]
    }

    fn body(&self) -> Result<Body> {
        let body = json!({
            "name": self.name, "group": self.group, "config": self.config,
            "inputs": self.inputs, "outputs": self.outputs, "options": self.options,
        });
        Body::json(Self::OPERATION, &body)
    }

    fn decode(&self, answer: Answer) -> Result<SoftwareConfig> {
        answer.json_at("software_config")
    }
}

request! {
    /// Lists software configs.
    ListConfigs {} => Vec<SoftwareConfig>;
    Orchestration GET "list software configs";
    path: |_r| segments!["software_configs"];
    decode: |answer| answer.json_at("software_configs")
}

request! {
    /// Reads a software config.
    ShowConfig {
        /// Id.
        id: String,
    } => SoftwareConfig;
    Orchestration GET "show software config";
    path: |r| segments!["software_configs", r.id];
    decode: |answer| answer.json_at("software_config")
}

request! {
    /// Deletes a software config.
    DeleteConfig {
        /// Id.
        id: String,
    } => ();
    Orchestration DELETE "delete software config";
    path: |r| segments!["software_configs", r.id];
    decode: |answer| answer.ignore()
}

/// The application of a config to a server. `Debug` does not show its values.
#[derive(Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct SoftwareDeployment {
    /// Id.
    pub id: String,
    /// Server.
    #[serde(default)]
    pub server_id: String,
    /// Config.
    #[serde(default)]
    pub config_id: Option<String>,
    /// `IN_PROGRESS`, `COMPLETE`, `FAILED`.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub status: String,
    /// Reason of the status.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub status_reason: String,
    /// What is done: `CREATE`, ...
    #[serde(default, deserialize_with = "wire::null_default")]
    pub action: String,
    /// Values of inputs.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub input_values: Map<String, Value>,
    /// Values of outputs.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub output_values: Map<String, Value>,
}

impl fmt::Debug for SoftwareDeployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SoftwareDeployment")
            .field("id", &self.id)
            .field("server_id", &self.server_id)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

request! {
    /// Lists deployments.
    ListDeployments {
        /// Only those of this server.
        server: Option<String>,
    } => Vec<SoftwareDeployment>;
    Orchestration GET "list software deployments";
    path: |_r| segments!["software_deployments"];
    query: |r| r.server.iter().map(|id| ("server_id".into(), id.clone())).collect::<Query>();
    decode: |answer| answer.json_at("software_deployments")
}

request! {
    /// Applies a config to a server.
    CreateDeployment {
        /// Config, by id.
        config: String,
        /// Server, by id.
        server: String,
        /// What is done: `CREATE`, ...
        action: String,
        /// Status to begin with: `IN_PROGRESS`, `COMPLETE`.
        status: String,
    } => SoftwareDeployment;
    Orchestration POST "create software deployment";
    path: |_r| segments!["software_deployments"];
    body: |r| json!({"config_id": r.config, "server_id": r.server, "action": r.action, "status": r.status});
    decode: |answer| answer.json_at("software_deployment")
}

request! {
    /// Reads a deployment.
    ShowDeployment {
        /// Id.
        id: String,
    } => SoftwareDeployment;
    Orchestration GET "show software deployment";
    path: |r| segments!["software_deployments", r.id];
    decode: |answer| answer.json_at("software_deployment")
}

request! {
    /// Changes a deployment: `status`, `status_reason`, `output_values`, `config_id`, ...
    UpdateDeployment {
        /// Id.
        id: String,
        /// What changes.
        changes: Map<String, Value>,
    } => SoftwareDeployment;
    Orchestration PUT "update software deployment";
    path: |r| segments!["software_deployments", r.id];
    body: |r| r.changes;
    decode: |answer| answer.json_at("software_deployment")
}

request! {
    /// Deletes a deployment.
    DeleteDeployment {
        /// Id.
        id: String,
    } => ();
    Orchestration DELETE "delete software deployment";
    path: |r| segments!["software_deployments", r.id];
    decode: |answer| answer.ignore()
}

request! {
    /// Reads what the agent of a server reads: its deployments.
    GetServerDeployments {
        /// Server, by id.
        server: String,
    } => Vec<Value>;
    Orchestration GET "get deployments of a server";
    path: |r| segments!["software_deployments", "metadata", r.server];
    decode: |answer| answer.json_at("metadata")
}
