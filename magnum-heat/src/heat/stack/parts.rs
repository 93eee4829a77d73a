//! Parts of a stack: template, environment, files, outputs.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::model::{Output, StackRef};
use crate::{hot::Document, request::request};

request! {
    /// Reads the template of a stack.
    GetTemplate {
        /// Which.
        stack: StackRef,
    } => Document;
    Orchestration GET "get template";
    path: |r| r.stack.path().join("template");
    decode: |answer| Document::from_value(answer.value()?).map_err(|e| answer.unexpected(e.to_string()))
}

request! {
    /// Reads the environment of a stack.
    GetEnvironment {
        /// Which.
        stack: StackRef,
    } => Map<String, Value>;
    Orchestration GET "get environment";
    path: |r| r.stack.path().join("environment");
    decode: |answer| answer.json()
}

request! {
    /// Reads the files of a stack.
    GetFiles {
        /// Which.
        stack: StackRef,
    } => IndexMap<String, String>;
    Orchestration GET "get files";
    path: |r| r.stack.path().join("files");
    decode: |answer| answer.json()
}

/// An output without its value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct OutputSummary {
    /// Its name.
    #[serde(rename = "output_key")]
    pub key: String,
    /// Description.
    #[serde(default)]
    pub description: String,
}

request! {
    /// Lists the outputs of a stack without their values.
    ListOutputs {
        /// Which.
        stack: StackRef,
    } => Vec<OutputSummary>;
    Orchestration GET "list outputs";
    path: |r| r.stack.path().join("outputs");
    decode: |answer| answer.json_at("outputs")
}

request! {
    /// Reads one output.
    ShowOutput {
        /// Which stack.
        stack: StackRef,
        /// Which output.
        key: String,
    } => Output;
    Orchestration GET "show output";
    path: |r| r.stack.path().join("outputs").join(r.key.clone());
    decode: |answer| answer.json_at("output")
}
