//! The cluster as its own API shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use chrono::{DateTime, Utc};
use magnum_core::driver::DriverError;

use crate::fault::kubernetes_error;
use crate::kubernetes::{
    KubernetesClient, KubernetesError, Node, Readiness, ServingVerdict, judge_serving_request,
};
use crate::members::{MemberRecord, MemberStage};

/// What one look at the cluster's API gave.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    /// Whether it answers and is ready.
    pub(crate) reachable: bool,
    /// Why it does not.
    pub(crate) problem: Option<String>,
    /// Its nodes by name.
    pub(crate) nodes: BTreeMap<String, Node>,
}

impl Observed {
    /// No API yet.
    pub(crate) const fn nothing() -> Self {
        Self {
            reachable: false,
            problem: None,
            nodes: BTreeMap::new(),
        }
    }

    /// Reads the nodes; that the API cannot be reached, or is not ready, is a result and no error.
    pub(crate) async fn read(client: &KubernetesClient) -> Result<Self, DriverError> {
        let unreachable = |problem: String| Self {
            problem: Some(problem),
            ..Self::nothing()
        };
        match client.readiness().await {
            Ok(Readiness::Ready) => {}
            Ok(Readiness::NotReady(why)) => return Ok(unreachable(why)),
            Err(error) => return Ok(unreachable(error.to_string())),
        }
        match client.nodes().await {
            Ok(nodes) => Ok(Self {
                reachable: true,
                problem: None,
                nodes: nodes
                    .into_iter()
                    .map(|node| (node.name.clone(), node))
                    .collect(),
            }),
            Err(error @ KubernetesError::Unreachable { .. }) => Ok(unreachable(error.to_string())),
            Err(error) => Err(kubernetes_error(error)),
        }
    }
}

/// Brings members' stages to what their nodes show. Gives whether anything changed.
pub(crate) fn follow_nodes(
    members: &mut [MemberRecord],
    observed: &Observed,
    now: DateTime<Utc>,
) -> bool {
    if !observed.reachable {
        return false;
    }
    let mut changed = false;
    for member in members {
        let Some(node) = observed.nodes.get(&member.name) else {
            if member.stage == MemberStage::Ready {
                member.reason = Some("its node is not in the cluster".to_owned());
                member.enter(MemberStage::NotReady, now);
                changed = true;
            }
            continue;
        };
        let version = Some(node.kubelet_version.clone()).filter(|version| !version.is_empty());
        if version.is_some() && member.kube_version != version {
            member.kube_version = version;
            changed = true;
        }
        let ready = node.is_ready() && !node.is_uninitialized();
        match (member.stage, ready) {
            (MemberStage::Joining | MemberStage::NotReady, true) => {
                member.enter(MemberStage::Ready, now);
                member.reason = None;
                changed = true;
            }
            (MemberStage::Ready, false) => {
                member.enter(MemberStage::NotReady, now);
                member.reason = Some("its node is not ready".to_owned());
                changed = true;
            }
            _ => {}
        }
    }
    changed
}

/// Approves the serving certificates that known members ask for; gives the members whose requests are approved now.
///
/// A member's own addresses are what the cloud gave it, not what its node says.
pub(crate) async fn approve_serving(
    client: &KubernetesClient,
    members: &BTreeMap<String, Vec<IpAddr>>,
) -> Result<BTreeSet<String>, DriverError> {
    let requests = client.signing_requests().await.map_err(kubernetes_error)?;
    let mut approved = BTreeSet::new();
    for request in &requests {
        let verdict = judge_serving_request(request, |node| members.get(node).cloned());
        match verdict {
            ServingVerdict::Approve { node } => {
                if client.approve(request).await.map_err(kubernetes_error)? {
                    tracing::debug!(%node, request = %request.name, "serving certificate approved");
                }
                approved.insert(node);
            }
            ServingVerdict::Refuse(why) => {
                tracing::debug!(request = %request.name, %why, "serving certificate not approved");
            }
            _ => {}
        }
    }
    Ok(approved)
}

/// The members whose requests are approved, with their addresses.
pub(crate) fn serving_members<'m>(
    members: impl IntoIterator<Item = &'m MemberRecord>,
) -> BTreeMap<String, Vec<IpAddr>> {
    members
        .into_iter()
        .filter(|member| member.stage.in_document() && !member.addresses.is_empty())
        .map(|member| {
            let addresses = member
                .addresses
                .iter()
                .filter_map(|address| address.parse().ok())
                .collect();
            (member.name.clone(), addresses)
        })
        .collect()
}

/// The static pods of a control-plane node that must run before the next node joins.
pub(crate) const CONTROL_PLANE_PODS: [&str; 4] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "etcd",
];

/// Which of a control-plane node's static pods are not ready.
pub(crate) async fn missing_static_pods(
    client: &KubernetesClient,
    node: &str,
) -> Result<Vec<String>, DriverError> {
    let ready: BTreeSet<String> = client
        .pods_on(node)
        .await
        .map_err(kubernetes_error)?
        .into_iter()
        .filter(|pod| pod.namespace == "kube-system" && pod.ready)
        .map(|pod| pod.name)
        .collect();
    Ok(CONTROL_PLANE_PODS
        .iter()
        .map(|component| format!("{component}-{node}"))
        .filter(|pod| !ready.contains(pod))
        .collect())
}
