//! What a flavor has, for quotas.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::id::ProjectId;

/// What one node of a flavor uses up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlavorSize {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory in MiB.
    pub ram_mib: u64,
}

/// Says what flavors have. Asked at acceptance, so an implementation answers from memory and never calls a cloud.
///
/// Quotas of vCPUs and memory need one: where a project has such a limit, a flavor that is not known here is refused.
pub trait FlavorSizes: Debug + Send + Sync + 'static {
    /// The size of a flavor, named by name or id, as the project sees it.
    fn size(&self, project: &ProjectId, flavor: &str) -> Option<FlavorSize>;
}

/// A fixed list, the same for all projects.
impl FlavorSizes for BTreeMap<String, FlavorSize> {
    fn size(&self, _: &ProjectId, flavor: &str) -> Option<FlavorSize> {
        self.get(flavor).copied()
    }
}
