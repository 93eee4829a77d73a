//! What is not about one stack: types, templates, validation, the service itself.

use std::fmt;

use http::Method;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Error, Result,
    hot::{Document, Files, Limits},
    request::{Answer, Body, Path, Query, Request, ServiceType, request, segments},
    wire,
};

/// Revisions of Heat's parts, as its operator set them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildInfo {
    /// Of the API.
    pub api: String,
    /// Of the engine.
    pub engine: String,
}

request! {
    /// Reads the revisions of Heat's parts.
    GetBuildInfo {} => BuildInfo;
    Orchestration GET "get build info";
    path: |_r| segments!["build_info"];
    decode: |answer| {
        let value = answer.value()?;
        let revision = |part: &str| value[part]["revision"].as_str().unwrap_or_default().to_owned();
        Ok(BuildInfo { api: revision("api"), engine: revision("engine") })
    }
}

/// One engine of Heat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct EngineService {
    /// Id.
    pub id: String,
    /// Program.
    #[serde(default)]
    pub binary: String,
    /// Host.
    #[serde(default)]
    pub host: String,
    /// `up` or `down`.
    #[serde(default)]
    pub status: String,
}

request! {
    /// Lists Heat's engines (administrators).
    ListServices {} => Vec<EngineService>;
    Orchestration GET "list engines";
    path: |_r| segments!["services"];
    decode: |answer| answer.json_at("services")
}

/// Lists the resource types that the project may use.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ListResourceTypes {
    /// Only those whose name matches this expression.
    pub name: Option<String>,
    /// Only those of this support status: `SUPPORTED`, ...
    pub support_status: Option<String>,
}

impl ListResourceTypes {
    /// Those whose name matches this expression.
    pub fn named(expression: impl Into<String>) -> Self {
        Self {
            name: Some(expression.into()),
            support_status: None,
        }
    }
}

impl Request for ListResourceTypes {
    type Output = Vec<String>;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "list resource types";

    fn path(&self) -> Path {
        segments!["resource_types"]
    }

    fn query(&self) -> Query {
        let pairs = [
            ("name", &self.name),
            ("support_status", &self.support_status),
        ];
        pairs
            .into_iter()
            .filter_map(|(k, v)| Some((k.into(), v.clone()?)))
            .collect()
    }

    fn decode(&self, answer: Answer) -> Result<Vec<String>> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Kind {
            Name(String),
            Described { resource_type: String },
        }
        let kinds: Vec<Kind> = answer.json_at("resource_types")?;
        let name = |kind| match kind {
            Kind::Name(name)
            | Kind::Described {
                resource_type: name,
            } => name,
        };
        Ok(kinds.into_iter().map(name).collect())
    }
}

/// Properties and attributes of a resource type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ResourceTypeSchema {
    /// Its name.
    pub resource_type: String,
    /// Properties by name, as Heat describes them.
    #[serde(default)]
    pub properties: IndexMap<String, Value>,
    /// Attributes by name, as Heat describes them.
    #[serde(default)]
    pub attributes: IndexMap<String, Value>,
}

request! {
    /// Reads the properties and attributes of a resource type.
    ShowResourceType {
        /// Its name.
        name: String,
    } => ResourceTypeSchema;
    Orchestration GET "show resource type";
    path: |r| segments!["resource_types", r.name];
    decode: |answer| answer.json()
}

request! {
    /// Asks for a template that has the properties of a resource type as parameters.
    GenerateTemplate {
        /// Name of the type.
        name: String,
    } => Value;
    Orchestration GET "generate template";
    path: |r| segments!["resource_types", r.name, "template"];
    query: |_r| vec![("template_type".into(), "hot".to_owned())];
    decode: |answer| answer.json()
}

/// A template version that Heat knows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct TemplateVersion {
    /// `heat_template_version.2021-04-16`, ...
    pub version: String,
    /// `hot` or `cfn`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Other names of it.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub aliases: Vec<String>,
}

request! {
    /// Lists the template versions that Heat knows.
    ListTemplateVersions {} => Vec<TemplateVersion>;
    Orchestration GET "list template versions";
    path: |_r| segments!["template_versions"];
    decode: |answer| answer.json_at("template_versions")
}

/// A function of a template version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct TemplateFunction {
    /// Its name.
    #[serde(rename = "functions")]
    pub name: String,
    /// Description.
    #[serde(default)]
    pub description: String,
}

request! {
    /// Lists the functions of a template version.
    ListTemplateFunctions {
        /// The version: `heat_template_version.2021-04-16`.
        version: String,
    } => Vec<TemplateFunction>;
    Orchestration GET "list template functions";
    path: |r| segments!["template_versions", r.version, "functions"];
    decode: |answer| answer.json_at("template_functions")
}

/// What Heat found in a template.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Validated {
    /// Description.
    #[serde(
        default,
        rename = "Description",
        deserialize_with = "wire::null_default"
    )]
    pub description: String,
    /// Parameters by name, as Heat describes them.
    #[serde(
        default,
        rename = "Parameters",
        deserialize_with = "wire::null_default"
    )]
    pub parameters: IndexMap<String, Value>,
}

/// Has Heat check a template, without making anything.
#[derive(Clone)]
#[non_exhaustive]
pub struct ValidateTemplate {
    /// Template.
    pub template: Document,
    /// Texts that `get_file` refers to.
    pub files: Files,
    /// Environment.
    pub environment: Option<Map<String, Value>>,
    /// Describe nested templates too.
    pub show_nested: bool,
    /// Numbers of errors that are to be passed over.
    pub ignore_errors: Vec<u32>,
}

impl ValidateTemplate {
    /// Checks this template.
    pub fn new(template: Document) -> Self {
        Self {
            template,
            files: Files::new(),
            environment: None,
            show_nested: false,
            ignore_errors: Vec::new(),
        }
    }

    /// With these files.
    #[must_use]
    pub fn files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }
}

impl fmt::Debug for ValidateTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidateTemplate")
            .field("template", &self.template)
            .finish_non_exhaustive()
    }
}

impl Request for ValidateTemplate {
    type Output = Validated;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "validate template";

    fn path(&self) -> Path {
        segments!["validate"]
    }

    fn query(&self) -> Query {
        let mut query = Query::new();
        if self.show_nested {
            query.push(("show_nested".into(), "True".to_owned()));
        }
        if !self.ignore_errors.is_empty() {
            let numbers: Vec<String> = self.ignore_errors.iter().map(ToString::to_string).collect();
            query.push(("ignore_errors".into(), numbers.join(",")));
        }
        query
    }

    fn body(&self) -> Result<Body> {
        self.template
            .check(&Limits::default())
            .map_err(|e| Error::invalid(Self::OPERATION, e.to_string()))?;
        let mut body = Map::new();
        body.insert("template".into(), self.template.to_json());
        body.insert("files".into(), self.files.to_json());
        if let Some(environment) = &self.environment {
            body.insert("environment".into(), Value::Object(environment.clone()));
        }
        Body::json(Self::OPERATION, &body)
    }

    fn decode(&self, answer: Answer) -> Result<Validated> {
        answer.json()
    }
}
