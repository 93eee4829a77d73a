//! The documents of a cluster's stacks, rendered without any effect.
//!
//! Three kinds: the [infrastructure](InfrastructureInput), the control plane and one or more per node group. The latter two are
//! [flat documents of explicit members](MemberInput): a member's resources are added and removed by name and never changed.

mod balancer;
mod group;
mod infrastructure;
mod mark;
mod member;
mod outputs;
mod security;
#[cfg(test)]
mod tests;

pub use group::{add_member, group_document, member_resources, members_of, remove_member};
pub use infrastructure::{InfrastructureInput, render_infrastructure};
pub use mark::Mark;
pub use member::{MemberInput, MemberPort};
pub use outputs::{OutputProblem, read_outputs};
pub use security::{Ingress, control_plane_rules, worker_rules};

/// The port of the Kubernetes API.
pub const API_PORT: u16 = 6443;
