//! What must hold on the embedded and on the real cloud alike.

mod bad_input;
mod barbican;
mod bare_metal;
mod departure;
mod flaky;
mod killed;
mod lifecycle;
mod quota;
mod shared;
mod token;

pub use bad_input::everything_wrong_is_said_at_once;
pub use barbican::{barbican_rotates_and_leaves_nothing, cluster_with_secrets_in_barbican};
pub use bare_metal::{bare_metal_group_in_a_vm_cluster, cluster_of_machines};
pub use departure::creator_leaves;
pub use flaky::thousand_calls_through_a_flaky_proxy;
pub use killed::{killed_engine_resumes, work_until_killed};
pub use lifecycle::three_and_five;
pub use quota::{quota_is_said_before, quota_is_said_in_one_sentence};
pub use shared::{is_asked_to_share, killed_engines_share, share_until_killed};
pub use token::one_login_for_fifty_calls;
