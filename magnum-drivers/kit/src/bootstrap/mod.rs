//! Node bootstrap: the user-data of a Kubernetes node, rendered without any effect.
//!
//! User-data comes in two parts, because Heat limits a template to 512 KiB:
//!
//! - [`SharedText`]: everything that the members of one node group and role have in common. It goes once into the
//!   `files` of the stack under a name derived from its content, so it never changes under that name.
//! - [`MemberParameters`]: the little that belongs to one member (name, id, credential, earliest validity). Heat's
//!   `str_replace` fills it into the shared text; [`SharedText::fill`] does exactly the same for tests and size checks.
//!
//! ```text
//! NodeShared --render--> SharedText --+
//! NodeMember ------> MemberParameters +--(Heat str_replace)--> user-data of one server
//! signal map of the member's handle --+
//! ```
//!
//! What only the node itself can know (`@NODE_IP@`, `@INSTANCE_ID@`) is replaced on the node by `bootstrap.sh`.

mod cloud_config;
mod containerd;
mod error;
pub mod kubeadm;
mod limits;
mod member;
mod node;
mod node_env;
mod placeholder;
mod render;
mod role;
mod script;
mod str_replace;
mod validate;

pub use error::BootstrapError;
pub use limits::{NOVA_USER_DATA_BASE64_MAX, NOVA_USER_DATA_MAX, SIGNAL_ALLOWANCE};
pub use member::{MemberParameters, NodeMember, ParameterValue};
pub use node::{
    Cni, Endpoint, ImagePullPolicy, KubeletOptions, Networking, NodeShared, Proxy, RegistryMirror,
};
pub use placeholder::Placeholder;
pub use render::SharedText;
pub use role::{ControlPlane, EtcdOptions, NodeRole};
pub use str_replace::str_replace;
pub use validate::kubelet_may_set_label;
