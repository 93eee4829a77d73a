//! The labels that the Kubernetes drivers understand, as typed values.
//!
//! | label | type | default |
//! |---|---|---|
//! | `availability_zone` | text | the cloud's own choice |
//! | `boot_volume_size` | GiB, 0 to 16384 | 0: the flavor's disk |
//! | `boot_volume_type` | text | the cloud's default type |
//! | `boot_volume_availability_zone` | text | `availability_zone` |
//! | `octavia_provider` | text | the provider that the cloud names as default |
//! | `octavia_lb_algorithm` | Octavia's names | `SOURCE_IP_PORT` with `ovn`, else `ROUND_ROBIN` |
//! | `octavia_lb_healthcheck` | true, false | true; false is refused, since every pool has a monitor |
//! | `master_lb_allowed_cidrs` (also `api_master_lb_allowed_cidrs`) | list of ranges | everybody |
//! | `api_server_cert_sans` | list of names and addresses | none |
//! | `server_group_policies` | one of Nova's policies | `soft-anti-affinity` |
//! | `container_infra_prefix` | registry prefix | the images' own registries |
//! | `cloud_provider_enabled` | true, false | true |
//! | `dns_cluster_domain` | DNS name | `cluster.local` |
//! | `node_ssh_cidrs` | list of ranges that may reach port 22 of nodes | none |
//! | `node_signals_enabled` | true, false | true |
//!
//! Ranges of nodes, pods and services are core's ([`NetworkPlan`](magnum_core::NetworkPlan)). Unknown labels are kept and reported; with `strict_labels` they are refused.

mod balancing;
mod known;
mod schema;

pub use balancing::{BalancingMethod, MethodProblem, method_for};
pub(crate) use known::known_labels;
pub use schema::DriverLabels;
