//! Editing the stacks that are at rest: members that left come out, planned ones go in.

use std::collections::BTreeSet;

use magnum_core::driver::{CauseKind, DriverError};
use magnum_core::{MemberId, NodeGroupRole};
use magnum_heat::hot::{Document, Files};

use super::GroupWork;
use crate::flow::render::Renderer;
use crate::members::{MemberCost, MemberStage, ShardLoad, place};
use crate::memo::{StackIntent, StackRecord};
use crate::stack_ops::prove_edit;
use crate::stacks::{member_resources, members_of, remove_member};

impl GroupWork<'_> {
    /// Renders and submits every edit that is due.
    ///
    /// The memo with the new documents is written before the first request, so that a request whose answer is lost is found again.
    pub(super) async fn edit_stacks(&mut self) -> Result<(), DriverError> {
        let given_up = !self.fatal.is_empty()
            || self.round.cx.cancelled
            || self
                .memo
                .operation
                .as_ref()
                .is_some_and(|operation| operation.given_up);
        if given_up {
            let before = self.memo.members.len();
            self.memo
                .members
                .retain(|member| member.stage != MemberStage::Planned);
            self.dirty |= self.memo.members.len() != before;
            // What failed on a control plane stays for inspection; failed workers go, so that they hold no quota.
            if self.group.role == NodeGroupRole::ControlPlane || !self.fatal.is_empty() {
                return Ok(());
            }
        }
        let planned: Vec<MemberId> = self
            .memo
            .members
            .iter()
            .filter(|member| member.stage == MemberStage::Planned)
            .map(|member| member.id.clone())
            .collect();
        let leaving = self
            .memo
            .members
            .iter()
            .any(|member| matches!(member.stage, MemberStage::Failed | MemberStage::Leaving));
        if planned.is_empty() && !leaving {
            return Ok(());
        }
        let facts = self.facts()?.clone();
        let renderer = if planned.is_empty() {
            None
        } else {
            Some(
                Renderer::new(
                    self.round,
                    self.group,
                    &facts,
                    self.cloud,
                    self.outputs,
                    self.begins_the_cluster(),
                )
                .await?,
            )
        };
        if let Some(renderer) = &renderer {
            self.spread(&planned, renderer)?;
        }
        let mut to_send = Vec::new();
        for index in 0..self.memo.shards.len() {
            if self.memo.shards[index].intent.is_none()
                && self.edit_stack(index, renderer.as_ref())?
            {
                to_send.push(index);
            }
        }
        if to_send.is_empty() {
            return Ok(());
        }
        self.save().await?;
        for index in to_send {
            self.send(index, true).await?;
        }
        Ok(())
    }

    /// Chooses a stack for every planned member, making new ones where the present ones are full.
    fn spread(&mut self, planned: &[MemberId], renderer: &Renderer<'_>) -> Result<(), DriverError> {
        let Some(sample) = self
            .memo
            .members
            .iter()
            .find(|member| Some(&member.id) == planned.first())
        else {
            return Ok(());
        };
        let empty = renderer.empty(&self.round.names.group_stack(&self.group.name, 0))?;
        let (mut document, mut files) = (empty.clone(), Files::new());
        renderer.add(&mut document, &mut files, sample, self.begins_the_cluster())?;
        let fresh = ShardLoad {
            template_bytes: empty.to_text().len(),
            file_bytes: StackRecord::new("", Document::new(), files).file_bytes(),
            resources: empty.resources().len(),
        };
        let cost = MemberCost {
            template_bytes: document.to_text().len() - fresh.template_bytes,
            resources: document.resources().len() - fresh.resources,
        };
        let loads: Vec<ShardLoad> = self
            .memo
            .shards
            .iter()
            .map(|record| ShardLoad {
                template_bytes: record.template_bytes(),
                file_bytes: record.file_bytes().max(fresh.file_bytes),
                resources: record.template.resources().len(),
            })
            .collect();
        let limits = self.memo.limits.unwrap_or_default();
        let shards = place(&loads, fresh, cost, planned.len(), &limits);
        for (id, shard) in planned.iter().zip(shards) {
            while self.memo.shards.len() <= usize::try_from(shard).unwrap_or(usize::MAX) {
                let number = u32::try_from(self.memo.shards.len()).unwrap_or(u32::MAX);
                let name = self.round.names.group_stack(&self.group.name, number);
                let document = renderer.empty(&name)?;
                self.memo
                    .shards
                    .push(StackRecord::new(name, document, Files::new()));
            }
            if let Some(member) = self.memo.member_mut(id) {
                member.shard = shard;
            }
        }
        self.dirty = true;
        Ok(())
    }

    /// Makes the new document of one stack; gives whether it is to be sent.
    fn edit_stack(
        &mut self,
        index: usize,
        renderer: Option<&Renderer<'_>>,
    ) -> Result<bool, DriverError> {
        let now = self.round.now();
        let shard = u32::try_from(index).unwrap_or(u32::MAX);
        let record = &self.memo.shards[index];
        let (mut document, mut files) = (record.template.clone(), record.files.clone());
        let mut named = BTreeSet::new();
        let document_error =
            |error: magnum_heat::hot::DocumentError| DriverError::internal(error.to_string());
        for id in members_of(&document) {
            let stays = self
                .memo
                .members
                .iter()
                .any(|member| member.id == id && member.stage.in_document());
            if !stays {
                named.extend(remove_member(&mut document, &id).map_err(document_error)?);
            }
        }
        let mut first = self.begins_the_cluster();
        let mut added = Vec::new();
        for member in &self.memo.members {
            let (Some(renderer), MemberStage::Planned, true) =
                (renderer, member.stage, member.shard == shard)
            else {
                continue;
            };
            renderer.add(&mut document, &mut files, member, first)?;
            first = false;
            named.extend(member_resources(&document, &member.id));
            added.push(member.id.clone());
        }
        if named.is_empty() {
            return self.reset_unmade(index);
        }
        let exists = record.id.is_some();
        if exists {
            prove_edit(
                &record.name,
                (&record.template, &record.files),
                (&document, &files),
                &named,
            )
            .map_err(|problem| DriverError::Internal {
                what: problem.to_string(),
                source: Some(Box::new(problem)),
            })?;
        }
        files.retain_used(&document);
        let empty = members_of(&document).is_empty();
        for id in &added {
            if let Some(member) = self.memo.member_mut(id) {
                member.enter(MemberStage::Building, now);
            }
        }
        let record = &mut self.memo.shards[index];
        record.template = document;
        record.files = files;
        self.dirty = true;
        if exists {
            // A stack without members holds nothing; Heat takes no empty document.
            record.intend(
                if empty {
                    StackIntent::Delete
                } else {
                    StackIntent::Update
                },
                now,
            );
            return Ok(true);
        }
        if empty {
            return self.reset_unmade(index);
        }
        record.intend(StackIntent::Create, now);
        Ok(true)
    }

    /// Members of a stack that was never made and that no longer count are gone at once.
    fn reset_unmade(&mut self, index: usize) -> Result<bool, DriverError> {
        let now = self.round.now();
        let shard = u32::try_from(index).unwrap_or(u32::MAX);
        if self.memo.shards[index].id.is_some() {
            return Ok(false);
        }
        for member in &mut self.memo.members {
            if member.shard == shard
                && matches!(member.stage, MemberStage::Failed | MemberStage::Leaving)
            {
                member.enter(MemberStage::Removed, now);
                self.dirty = true;
            }
        }
        Ok(false)
    }

    /// Whether the operation ended early on request, with nothing in flight.
    pub(super) fn cancelled(&self) -> Option<CauseKind> {
        (self.round.cx.cancelled && !self.running).then_some(CauseKind::Cancelled)
    }
}
