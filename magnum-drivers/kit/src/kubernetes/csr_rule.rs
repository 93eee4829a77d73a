//! Which requests for a kubelet's serving certificate are approved.

use std::net::IpAddr;

use magnum_certs::{AltNames, Csr, NODE_USER_PREFIX, NODES_GROUP};

use super::csr::SigningRequest;

/// The signer of kubelets' serving certificates. Kubernetes itself never approves its requests.
pub const KUBELET_SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";

/// Usages that a serving certificate may have; the last one it must have.
const USAGES: [&str; 3] = ["digital signature", "key encipherment", "server auth"];

/// The judgement on a signing request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServingVerdict {
    /// Ours to approve: the node of that name asks for itself.
    Approve {
        /// Name of the node.
        node: String,
    },
    /// Not ours: another signer, or decided already.
    Ignore,
    /// Not approved. Left pending, never denied: a person may know better.
    Refuse(String),
}

/// Judges a request for a serving certificate.
///
/// Approved is a request of `system:node:N` with the group `system:nodes`, where N is a member that we created,
/// for the subject of that node, with names out of N and the member's own addresses, and with the usages of a server.
/// `addresses` gives the addresses of a member by its node name, or `None` for an unknown name.
pub fn judge_serving_request<F>(request: &SigningRequest, addresses: F) -> ServingVerdict
where
    F: FnOnce(&str) -> Option<Vec<IpAddr>>,
{
    if request.signer != KUBELET_SERVING_SIGNER || request.decided {
        return ServingVerdict::Ignore;
    }
    judge(request, addresses).map_or_else(ServingVerdict::Refuse, |node| ServingVerdict::Approve {
        node,
    })
}

fn judge<F>(request: &SigningRequest, addresses: F) -> Result<String, String>
where
    F: FnOnce(&str) -> Option<Vec<IpAddr>>,
{
    let node = request
        .username
        .strip_prefix(NODE_USER_PREFIX)
        .ok_or_else(|| format!("{} is no node", request.username))?;
    if !request.groups.iter().any(|group| group == NODES_GROUP) {
        return Err(format!(
            "{} is not in the group {NODES_GROUP}",
            request.username
        ));
    }
    let addresses =
        addresses(node).ok_or_else(|| format!("{node} is no member of this cluster"))?;
    if let Some(usage) = request
        .usages
        .iter()
        .find(|usage| !USAGES.contains(&usage.as_str()))
    {
        return Err(format!("usage {usage:?} is not for a serving certificate"));
    }
    if !request.usages.iter().any(|usage| usage == USAGES[2]) {
        return Err("the usage \"server auth\" is missing".to_owned());
    }
    let csr = Csr::from_pem(&request.request).map_err(|error| error.to_string())?;
    if csr.common_name() != Some(request.username.as_str()) || csr.organizations() != [NODES_GROUP]
    {
        return Err(format!("the subject is not that of {}", request.username));
    }
    if csr.names().is_empty() {
        return Err("no names are asked for".to_owned());
    }
    let mut allowed = AltNames::new()
        .with(node)
        .map_err(|error| error.to_string())?;
    for address in addresses {
        allowed = allowed.with_ip(address);
    }
    let beyond = csr.names().beyond(&allowed);
    if beyond.is_empty() {
        Ok(node.to_owned())
    } else {
        Err(format!("{} do not belong to {node}", beyond.join(", ")))
    }
}

#[cfg(test)]
mod tests;
