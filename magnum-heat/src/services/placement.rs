//! Placement: what there is room for.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::request::{Query, request, segments};

/// Something that has resources: a host, a bare metal node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ResourceProvider {
    /// Id; for bare metal that of the node.
    pub uuid: String,
    /// Name.
    #[serde(default)]
    pub name: String,
}

request! {
    /// Lists resource providers, those with this much of the resources when given (administrators).
    ListResourceProviders {
        /// Amounts by resource class: `CUSTOM_BAREMETAL` -> 1.
        resources: BTreeMap<String, u64>,
    } => Vec<ResourceProvider>;
    Placement GET "list resource providers" @ "1.10";
    path: |_r| segments!["resource_providers"];
    query: |r| amounts(&r.resources);
    decode: |answer| answer.json_at("resource_providers")
}

/// Where a server of some size could be placed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct AllocationCandidates {
    /// One entry for each possible placement.
    pub allocation_requests: Vec<Value>,
    /// Providers by id, with their use.
    pub provider_summaries: BTreeMap<String, Value>,
}

request! {
    /// Asks where a server of this size could be placed (administrators).
    GetAllocationCandidates {
        /// Amounts by resource class: `VCPU`, `MEMORY_MB`, `DISK_GB`, `CUSTOM_BAREMETAL`.
        resources: BTreeMap<String, u64>,
        /// Traits that are needed.
        required: Vec<String>,
        /// Most answers.
        limit: u32,
    } => AllocationCandidates;
    Placement GET "get allocation candidates" @ "1.29";
    path: |_r| segments!["allocation_candidates"];
    query: |r| {
        let mut query = amounts(&r.resources);
        if !r.required.is_empty() {
            query.push(("required".into(), r.required.join(",")));
        }
        query.push(("limit".into(), r.limit.to_string()));
        query
    };
    decode: |answer| answer.json()
}

fn amounts(resources: &BTreeMap<String, u64>) -> Query {
    if resources.is_empty() {
        return Query::new();
    }
    let text: Vec<String> = resources
        .iter()
        .map(|(class, amount)| format!("{class}:{amount}"))
        .collect();
    vec![("resources".into(), text.join(","))]
}
