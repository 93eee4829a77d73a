//! Seeing how the group's stacks go, and what became of their members.

use std::collections::{BTreeMap, BTreeSet};

use magnum_core::MemberId;
use magnum_core::driver::{Cause, CauseKind, DriverError};
use magnum_heat::services::neutron::{self, ListItems, Port};

use super::GroupWork;
use crate::fault::cloud_error;
use crate::members::{MemberStage, RetryVerdict};
use crate::memo::StackIntent;
use crate::stack_ops::{
    MemberResources, ResourceView, StackLook, StackProblem, describe, is_follow_up, look,
    prove_physical, read_resources, submit, vanished,
};
use crate::stacks::{member_resources, members_of, remove_member};

impl GroupWork<'_> {
    /// Looks once at every stack that is being changed (rule `SP-02`).
    pub(super) async fn follow_stacks(&mut self) -> Result<(), DriverError> {
        for index in 0..self.memo.shards.len() {
            if self.memo.shards[index].intent.is_some() {
                self.follow_stack(index).await?;
            }
        }
        Ok(())
    }

    async fn follow_stack(&mut self, index: usize) -> Result<(), DriverError> {
        if !self.memo.shards[index].accepted && !self.send(index, false).await? {
            return Ok(());
        }
        let by = self.round.submission(self.server_type());
        let record = &mut self.memo.shards[index];
        let seen_before = record.seen_in_progress;
        let verdict = look(&by, record).await?;
        self.dirty |= record.seen_in_progress != seen_before;
        match (verdict, record.intent) {
            (StackLook::Running, _) => self.running = true,
            (StackLook::Gone, Some(StackIntent::Delete)) => self.stack_gone(index),
            (StackLook::Gone, _) => {
                self.fatal.push(vanished(record));
                record.settle(true);
                self.dirty = true;
            }
            (StackLook::Failed(reason), Some(StackIntent::Delete)) => {
                self.deletion_failed(index, &reason).await?;
            }
            (StackLook::Complete, _) => self.settle(index, None).await?,
            (StackLook::Failed(reason), _) => self.settle(index, Some(reason)).await?,
        }
        Ok(())
    }

    /// Sends what a stack's record intends; gives whether Heat took it.
    pub(super) async fn send(&mut self, index: usize, fresh: bool) -> Result<bool, DriverError> {
        let by = self.round.submission(self.server_type());
        let record = &mut self.memo.shards[index];
        self.dirty = true;
        match submit(&by, record, fresh).await {
            Ok(()) => {
                self.running = true;
                Ok(true)
            }
            Err(StackProblem::Driver(error)) => Err(error),
            Err(StackProblem::TooLarge(text)) => {
                self.too_large(index, &text)?;
                Ok(false)
            }
            Err(StackProblem::Refused(cause)) => {
                record.settle(true);
                let text = self.text();
                let now = self.round.now();
                let shard = u32::try_from(index).unwrap_or(u32::MAX);
                for member in &mut self.memo.members {
                    if member.shard == shard
                        && member.stage == MemberStage::Building
                        && member.server_id.is_none()
                    {
                        member.fail(cause.sentence.clone(), now);
                    }
                }
                self.fatal.push(Cause {
                    subject: Some(text),
                    ..cause
                });
                Ok(false)
            }
        }
    }

    /// Heat takes less than was sent: the new members go back to the plan and are spread anew within lower limits.
    fn too_large(&mut self, index: usize, text: &str) -> Result<(), DriverError> {
        let limits = self.memo.limits.unwrap_or_default().learned_down();
        let record = &mut self.memo.shards[index];
        record.settle(false);
        let shard = u32::try_from(index).unwrap_or(u32::MAX);
        let mut returned = 0;
        for member in &mut self.memo.members {
            if member.shard == shard
                && member.stage == MemberStage::Building
                && member.server_id.is_none()
            {
                remove_member(&mut record.template, &member.id)
                    .map_err(|error| DriverError::internal(error.to_string()))?;
                member.stage = MemberStage::Planned;
                returned += 1;
            }
        }
        record.files.retain_used(&record.template);
        if returned <= 1 {
            self.fatal.push(Cause {
                kind: CauseKind::Limit,
                sentence: format!("Heat takes no stack with even one member: {text}"),
                subject: Some(self.text()),
            });
        }
        tracing::info!(group = %self.group.name, ?limits, "Heat takes less in one stack than was thought");
        self.memo.limits = Some(limits);
        self.running = true;
        Ok(())
    }

    fn stack_gone(&mut self, index: usize) {
        let now = self.round.now();
        let shard = u32::try_from(index).unwrap_or(u32::MAX);
        let record = &mut self.memo.shards[index];
        record.settle(false);
        record.id = None;
        record.physical.clear();
        record.seen_updated = None;
        record.delete_attempts = 0;
        for member in &mut self.memo.members {
            if member.shard == shard && !member.stage.in_document() {
                member.enter(MemberStage::Removed, now);
            }
        }
        self.dirty = true;
    }

    async fn deletion_failed(&mut self, index: usize, reason: &str) -> Result<(), DriverError> {
        let now = self.round.now();
        let record = &mut self.memo.shards[index];
        record.delete_attempts += 1;
        if record.delete_attempts >= 3 {
            let cause = describe(&record.name, reason, &format!("stack {}", record.name));
            record.settle(true);
            self.fatal.push(cause);
            self.dirty = true;
            return Ok(());
        }
        record.intend(StackIntent::Delete, now);
        self.save().await?;
        self.send(index, true).await?;
        Ok(())
    }

    /// A stack has come to rest: reads its resources once and judges its members.
    ///
    /// After a failure other members may still be in flight (they complete by themselves); then it is not at rest.
    async fn settle(&mut self, index: usize, failed: Option<String>) -> Result<(), DriverError> {
        let record = &self.memo.shards[index];
        let views = read_resources(&self.round.session, record).await?;
        let ids = members_of(&record.template);
        let verdicts: Vec<(MemberId, MemberResources)> = ids
            .iter()
            .map(|id| {
                let wanted = member_resources(&record.template, id);
                let verdict = MemberResources::judge(id, &wanted, &views);
                let verdict = match failed {
                    Some(_) => verdict.after_failure(),
                    None => verdict,
                };
                (id.clone(), verdict)
            })
            .collect();
        let in_flight = views.values().any(|view| view.status.is_in_progress())
            || verdicts.iter().any(|(_, verdict)| {
                matches!(
                    verdict,
                    MemberResources::Building | MemberResources::NotStarted { .. }
                )
            });
        if in_flight {
            self.running = true;
            return Ok(());
        }
        let after: BTreeMap<String, String> = views
            .values()
            .map(|view| (view.name.clone(), view.physical.clone()))
            .collect();
        if let Err(problem) = prove_physical(&record.name, &record.physical, &after) {
            self.fatal.push(Cause {
                kind: CauseKind::Unknown,
                sentence: problem.to_string(),
                subject: Some(self.text()),
            });
        }
        let record = &mut self.memo.shards[index];
        record.physical = after
            .into_iter()
            .filter(|(name, id)| !id.is_empty() && record.template.has_resource(name))
            .collect();
        let members_failed = verdicts
            .iter()
            .any(|(_, verdict)| matches!(verdict, MemberResources::Failed { .. }));
        self.dirty = true;
        if let Some(reason) = failed.as_deref().filter(|_| !members_failed) {
            return self.other_failure(index, reason, &views).await;
        }
        self.memo.shards[index].settle(failed.is_some());
        self.members_out(index, &ids);
        self.members_built(verdicts);
        self.read_addresses().await
    }

    /// Something beside the members failed, such as the removal of an old one: the same document is submitted again, a few times.
    async fn other_failure(
        &mut self,
        index: usize,
        reason: &str,
        views: &BTreeMap<String, ResourceView>,
    ) -> Result<(), DriverError> {
        let now = self.round.now();
        let failed = views
            .values()
            .filter(|view| view.status.is_failed() && !view.reason.is_empty())
            .min_by_key(|view| is_follow_up(&view.reason));
        let cause = match failed {
            Some(view) => describe(&view.name, &view.reason, &self.text()),
            None => describe(&self.memo.shards[index].name, reason, &self.text()),
        };
        let verdict = self
            .memo
            .operation
            .as_mut()
            .map_or(RetryVerdict::GiveUp, |operation| {
                operation.budget.judge(cause.kind)
            });
        let record = &mut self.memo.shards[index];
        if verdict == RetryVerdict::GiveUp || record.id.is_none() {
            record.settle(true);
            self.fatal.push(cause);
            return Ok(());
        }
        record.intend(StackIntent::Update, now);
        self.save().await?;
        self.send(index, true).await?;
        Ok(())
    }

    /// Members that the document no longer has are gone with the update.
    fn members_out(&mut self, index: usize, in_document: &BTreeSet<MemberId>) {
        let now = self.round.now();
        let shard = u32::try_from(index).unwrap_or(u32::MAX);
        for member in &mut self.memo.members {
            if member.shard == shard
                && !in_document.contains(&member.id)
                && matches!(member.stage, MemberStage::Failed | MemberStage::Leaving)
            {
                member.enter(MemberStage::Removed, now);
            }
        }
    }

    fn members_built(&mut self, verdicts: Vec<(MemberId, MemberResources)>) {
        let now = self.round.now();
        let mut failures: Vec<(MemberId, Cause, bool)> = Vec::new();
        for (id, verdict) in verdicts {
            let subject = self.subject(&id);
            let Some(member) = self.memo.member_mut(&id) else {
                continue;
            };
            match verdict {
                MemberResources::Complete { server_id } => {
                    member.server_id = Some(server_id);
                    if member.stage == MemberStage::Building {
                        member.enter(MemberStage::Joining, now);
                    }
                }
                MemberResources::Failed { resource, reason } => {
                    let cause = describe(&resource, &reason, &subject);
                    failures.push((id, cause, is_follow_up(&reason)));
                }
                MemberResources::Building | MemberResources::NotStarted { .. } => {}
            }
        }
        // Real failures first: what was cancelled because of them is no cause of its own (rule `OP-02`).
        failures.sort_by_key(|(_, _, follow_up)| *follow_up);
        let real = failures.iter().any(|(_, _, follow_up)| !follow_up);
        for (id, cause, follow_up) in failures {
            self.member_failed(&id, cause, real && follow_up);
        }
    }

    /// Marks a member as failed and decides whether another takes its place.
    pub(super) fn member_failed(&mut self, id: &MemberId, cause: Cause, follow_up: bool) {
        let now = self.round.now();
        let Some(member) = self.memo.member_mut(id) else {
            return;
        };
        let counted = member.stage.counts();
        if member.stage == MemberStage::Failed {
            return;
        }
        tracing::info!(member = %member.name, cause = %cause.sentence, "a member failed");
        member.fail(cause.sentence.clone(), now);
        self.dirty = true;
        let Some(operation) = &mut self.memo.operation else {
            return;
        };
        if !counted {
            return;
        }
        let verdict = if follow_up {
            if operation.given_up {
                RetryVerdict::GiveUp
            } else {
                RetryVerdict::Replace
            }
        } else {
            operation.budget.judge(cause.kind)
        };
        if !follow_up {
            operation.causes.push(cause);
        }
        if verdict == RetryVerdict::GiveUp {
            operation.given_up = true;
        } else {
            self.plan_members(1);
        }
    }

    /// Reads the addresses of members that have none yet, in one request.
    async fn read_addresses(&mut self) -> Result<(), DriverError> {
        let missing = self
            .memo
            .members
            .iter()
            .any(|member| member.server_id.is_some() && member.addresses.is_empty());
        if !missing {
            return Ok(());
        }
        let ports: Vec<Port> = neutron::list(
            &self.round.session,
            ListItems::<Port>::new().with_tag(self.round.mark.as_str()),
        )
        .await
        .map_err(cloud_error)?;
        for member in &mut self.memo.members {
            if !member.addresses.is_empty() {
                continue;
            }
            let Some(server) = member.server_id.as_deref() else {
                continue;
            };
            member.addresses = ports
                .iter()
                .filter(|port| port.device_id == server)
                .flat_map(|port| &port.fixed_ips)
                .map(|fixed| fixed.ip_address.clone())
                .collect();
        }
        Ok(())
    }
}
