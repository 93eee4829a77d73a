//! Members on their way out: their pods move away before their servers go, their nodes are deleted afterwards.

use std::time::Duration;

use magnum_core::MemberId;
use magnum_core::driver::DriverError;

use super::GroupWork;
use crate::fault::kubernetes_error;
use crate::kubernetes::DrainProgress;
use crate::kubernetes::drain::{AfterDeadline, DrainMemo, DrainOptions};
use crate::members::MemberStage;

/// How long an unreachable API may delay the deletion of a node whose server is gone.
const NODE_DELETION: Duration = Duration::from_secs(120);

impl GroupWork<'_> {
    pub(super) async fn move_out(&mut self) -> Result<(), DriverError> {
        self.let_outgoing_leave();
        self.drain().await?;
        self.let_later_come();
        Ok(())
    }

    /// Those that others replace leave once all others are ready.
    fn let_outgoing_leave(&mut self) {
        let Some(operation) = &self.memo.operation else {
            return;
        };
        if operation.outgoing.is_empty() || operation.given_up {
            return;
        }
        let outgoing = operation.outgoing.clone();
        let mut others = 0u32;
        for member in self.memo.counting().filter(|m| !outgoing.contains(&m.id)) {
            if matches!(
                member.stage,
                MemberStage::Planned | MemberStage::Building | MemberStage::Joining
            ) {
                return;
            }
            others += 1;
        }
        if others < operation.target {
            return;
        }
        if let Some(operation) = &mut self.memo.operation {
            operation.outgoing.clear();
        }
        for id in &outgoing {
            self.retire(id);
        }
    }

    /// Where machines are few the new ones come after the old ones are gone.
    fn let_later_come(&mut self) {
        let still_here = self.memo.members.iter().any(|member| {
            matches!(
                member.stage,
                MemberStage::Draining
                    | MemberStage::Leaving
                    | MemberStage::Failed
                    | MemberStage::Removed
            )
        });
        if still_here {
            return;
        }
        let later = self
            .memo
            .operation
            .as_mut()
            .map_or(0, |operation| std::mem::take(&mut operation.later));
        self.plan_members(later);
    }

    async fn drain(&mut self) -> Result<(), DriverError> {
        let draining: Vec<MemberId> = self
            .memo
            .members
            .iter()
            .filter(|member| member.stage == MemberStage::Draining)
            .map(|member| member.id.clone())
            .collect();
        if draining.is_empty() {
            return Ok(());
        }
        let now = self.round.now();
        let patience = self.round.config.patience.drain;
        let reachable = self.round.observed(self.cluster).await?.reachable;
        for id in draining {
            let Some(member) = self.memo.members.iter().find(|m| m.id == id) else {
                continue;
            };
            let (name, since) = (member.name.clone(), member.since);
            let waited = (now - since).to_std().unwrap_or_default();
            let done = if reachable {
                let options = DrainOptions::until(since + patience, AfterDeadline::Delete);
                let client = self.round.client(self.outputs).await?;
                let progress = client
                    .drain_step(&name, &mut DrainMemo::default(), &options, now)
                    .await
                    .map_err(kubernetes_error)?;
                match progress {
                    DrainProgress::Done | DrainProgress::Stuck(_) => true,
                    DrainProgress::Again { waiting_for, .. } => {
                        if let Some(member) = self.memo.member_mut(&id) {
                            member.reason = Some(waiting_for.join(", "));
                        }
                        waited >= patience * 2
                    }
                }
            } else {
                waited >= patience
            };
            if done && let Some(member) = self.memo.member_mut(&id) {
                member.enter(MemberStage::Leaving, now);
                member.reason = None;
                self.dirty = true;
            }
        }
        Ok(())
    }

    /// Deletes the nodes of members whose servers are gone, and forgets the members.
    pub(super) async fn finish_removals(&mut self) -> Result<(), DriverError> {
        let now = self.round.now();
        let removed: Vec<(MemberId, String, Duration)> = self
            .memo
            .members
            .iter()
            .filter(|member| member.stage == MemberStage::Removed)
            .map(|member| {
                (
                    member.id.clone(),
                    member.name.clone(),
                    (now - member.since).to_std().unwrap_or_default(),
                )
            })
            .collect();
        if removed.is_empty() {
            return Ok(());
        }
        let reachable = self.round.observed(self.cluster).await?.reachable;
        for (id, name, waited) in removed {
            if reachable {
                let client = self.round.client(self.outputs).await?;
                client.delete_node(&name).await.map_err(kubernetes_error)?;
            } else if self.cluster.api_reached && waited < NODE_DELETION {
                continue;
            }
            self.memo.members.retain(|member| member.id != id);
            self.dirty = true;
        }
        self.let_later_come();
        Ok(())
    }
}
