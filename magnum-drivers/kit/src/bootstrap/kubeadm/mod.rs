//! kubeadm's configuration, API version `kubeadm.k8s.io/v1beta4`, as types.
//!
//! Only what the library writes is here. Unknown fields are a compile error instead of a warning on a node.

mod cluster;
mod component;
mod documents;
mod init;
mod join;
mod registration;

pub use cluster::{
    ApiServer, ClusterConfiguration, ControlPlaneComponent, Etcd, HostPathMount, LocalEtcd,
    NetworkingSpec, ProxyAddon,
};
pub use component::{
    KubeProxyConfiguration, KubeletAnonymousAuthentication, KubeletAuthentication,
    KubeletAuthorization, KubeletConfiguration, KubeletWebhookAuthentication,
};
pub use init::{BootstrapToken, InitConfiguration};
pub use join::{Discovery, FileDiscovery, JoinConfiguration, JoinControlPlane};
pub use registration::{
    Arg, LocalApiEndpoint, NodeRegistration, Patches, RegistrationTaint, Timeouts,
};

pub(crate) use documents::documents;
use serde::Serialize;

use super::error::BootstrapError;

/// The API version of the documents.
pub const API_VERSION: &str = "kubeadm.k8s.io/v1beta4";

/// Writes one YAML document, strings in block style never folded.
pub(crate) fn to_yaml<T: Serialize>(
    document: &'static str,
    value: &T,
) -> Result<String, BootstrapError> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let mut text = String::new();
    serde_saphyr::to_fmt_writer_with_options(&mut text, value, options).map_err(|error| {
        BootstrapError::Serialize {
            document,
            reason: error.to_string(),
        }
    })?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}
