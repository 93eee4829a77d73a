//! Bringing one node group to its goal: deciding, editing its stacks, watching its members join and leave.
//!
//! One pass does what can be done now and says how to go on. The order inside a pass is fixed: decide once per operation, see what
//! Heat and the nodes say, move members on, edit the stacks that are at rest, judge.

mod begin;
mod edit;
mod leave;
mod stacks;
mod verdict;
mod watch;

use magnum_core::driver::{Cause, DriverError};
use magnum_core::{MemberId, NodeGroup, ServerType};

use super::round::{Round, group_text};
use super::step::Step;
use crate::members::MemberStage;
use crate::memo::{CloudFacts, ClusterMemo, GroupFacts, GroupMemo, InfraOutputs};

/// What a group shall come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Its size in the end.
    pub(crate) wanted: u32,
    /// Members that must not remain.
    pub(crate) named: Vec<MemberId>,
    /// Whether new members come before old ones go, where the kind of machine allows it.
    pub(crate) new_first: bool,
}

/// The work on one group in one advance.
pub(crate) struct GroupWork<'a> {
    round: &'a Round<'a>,
    group: &'a NodeGroup,
    cluster: &'a ClusterMemo,
    outputs: &'a InfraOutputs,
    cloud: &'a CloudFacts,
    pub(crate) memo: GroupMemo,
    /// Whether the memo has changed since it was written.
    dirty: bool,
    /// Whether the group's first member begins the cluster.
    first: bool,
    /// Whether something is going on in Heat.
    running: bool,
    /// Causes that end the operation at once.
    fatal: Vec<Cause>,
}

impl<'a> GroupWork<'a> {
    /// Takes up the work. The infrastructure must be there.
    pub(crate) async fn new(
        round: &'a Round<'a>,
        group: &'a NodeGroup,
        cluster: &'a ClusterMemo,
    ) -> Result<Self, DriverError> {
        let missing = || {
            DriverError::internal(format!(
                "the infrastructure of cluster {} is not known: it was never complete",
                round.view.cluster.name
            ))
        };
        Ok(Self {
            round,
            group,
            cluster,
            outputs: cluster.outputs.as_ref().ok_or_else(missing)?,
            cloud: cluster.facts.as_ref().ok_or_else(missing)?,
            memo: round.load_group(group).await?,
            dirty: false,
            first: false,
            running: false,
            fatal: Vec::new(),
        })
    }

    /// Says that the first member of this group begins the cluster.
    pub(crate) const fn beginning_the_cluster(mut self, first: bool) -> Self {
        self.first = first;
        self
    }

    /// Whether a member that is rendered now begins the cluster. As soon as one has been ready, all others join: a second beginning
    /// would be a second cluster behind the same address, also when the first becomes ready within the same pass.
    pub(crate) fn begins_the_cluster(&self) -> bool {
        let was_ready = |stage| matches!(stage, MemberStage::Ready | MemberStage::NotReady);
        self.first && !self.memo.counting().any(|member| was_ready(member.stage))
    }

    /// Whether this operation has begun on the group.
    pub(crate) fn has_begun(&self) -> bool {
        self.memo
            .operation
            .as_ref()
            .is_some_and(|operation| operation.id == self.round.cx.operation)
    }

    /// What was looked up for the group; none until [`set_facts`](Self::set_facts).
    pub(crate) const fn has_facts(&self) -> bool {
        self.memo.facts.is_some()
    }

    /// Notes what was looked up.
    pub(crate) fn set_facts(&mut self, facts: GroupFacts) {
        self.memo.facts = Some(facts);
        self.dirty = true;
    }

    fn facts(&self) -> Result<&GroupFacts, DriverError> {
        self.memo.facts.as_ref().ok_or_else(|| {
            DriverError::internal(format!("nothing was looked up for {}", self.text()))
        })
    }

    /// One pass towards a goal.
    pub(crate) async fn pass(&mut self, goal: &Goal) -> Result<Step, DriverError> {
        self.begin(goal).await?;
        let result = self.work().await;
        // Whatever was learned is kept, also when a later part of the pass did not work out.
        if self.dirty {
            self.save().await?;
        } else {
            self.report().await?;
        }
        result
    }

    async fn work(&mut self) -> Result<Step, DriverError> {
        self.follow_stacks().await?;
        self.follow_members().await?;
        self.move_out().await?;
        self.edit_stacks().await?;
        self.finish_removals().await?;
        Ok(self.verdict())
    }

    /// Reports the members again where the last report did not come through: a crash between the memo and the report would otherwise leave
    /// them as they were for good.
    async fn report(&self) -> Result<(), DriverError> {
        let members = self.memo.to_members();
        if members == self.group.members {
            return Ok(());
        }
        self.round.cx.report_members(self.group.id, &members).await
    }

    async fn save(&mut self) -> Result<(), DriverError> {
        self.round.save_group(self.group, &self.memo).await?;
        self.dirty = false;
        Ok(())
    }

    fn text(&self) -> String {
        group_text(self.group)
    }

    /// How a member is named in causes: `node group gpu, member gpu-7f2kq`.
    fn subject(&self, id: &MemberId) -> String {
        format!("{}, member {}-{id}", self.text(), self.group.name)
    }

    fn server_type(&self) -> ServerType {
        self.memo
            .facts
            .as_ref()
            .map_or(self.group.spec.server_type, |facts| facts.server_type)
    }
}
