//! How the group stands after a pass.

use magnum_core::driver::{Cause, CauseKind};

use super::GroupWork;
use crate::flow::step::Step;
use crate::members::MemberStage;

impl GroupWork<'_> {
    /// Judges the group. A failure counts only when nothing is in flight any more.
    pub(super) fn verdict(&self) -> Step {
        let polls = &self.round.config.polls;
        let in_flight = self.running || self.memo.shards.iter().any(|shard| shard.intent.is_some());
        let target = self.memo.operation.as_ref().map_or(0, |o| o.target);
        let progress = |after, text: String| Step::Wait {
            after,
            text,
            done: (self.memo.ready().min(target), target),
        };
        if !self.fatal.is_empty() && !in_flight {
            return Step::Failed(self.fatal.clone());
        }
        if in_flight {
            return progress(polls.stack, self.progress_text(target));
        }
        if let Some(kind) = self.cancelled() {
            return Step::failed(Cause {
                kind,
                sentence: format!("cancelled while {} was being changed", self.text()),
                subject: Some(self.text()),
            });
        }
        if let Some(operation) = &self.memo.operation
            && operation.given_up
        {
            return Step::Failed(operation.causes.clone());
        }
        if let Some(slowest) = self.unfinished() {
            let after = match slowest {
                MemberStage::Draining => polls.drain,
                MemberStage::Planned | MemberStage::Failed | MemberStage::Leaving => polls.stack,
                _ => polls.nodes,
            };
            return progress(after, self.progress_text(target));
        }
        if self.awaits_serving() {
            return progress(
                polls.nodes,
                format!("{}: waiting for serving certificates", self.text()),
            );
        }
        let counting = u32::try_from(self.memo.counting().count()).unwrap_or(u32::MAX);
        if counting == target {
            return Step::Done;
        }
        Step::failed(Cause {
            kind: CauseKind::Unknown,
            sentence: format!(
                "{} ended with {counting} members instead of {target}",
                self.text()
            ),
            subject: Some(self.text()),
        })
    }

    /// The stage of a member that is not yet where it shall be.
    fn unfinished(&self) -> Option<MemberStage> {
        let outgoing = self
            .memo
            .operation
            .as_ref()
            .is_some_and(|operation| !operation.outgoing.is_empty() || operation.later > 0);
        self.memo
            .members
            .iter()
            .map(|member| member.stage)
            .find(|stage| !matches!(stage, MemberStage::Ready | MemberStage::NotReady))
            .or_else(|| outgoing.then_some(MemberStage::Ready))
    }

    /// Whether a node that has become ready lately may still ask for its serving certificate.
    fn awaits_serving(&self) -> bool {
        let now = self.round.now();
        let patience = self.round.config.patience.serving;
        self.memo.members.iter().any(|member| {
            member.stage == MemberStage::Ready
                && !member.served
                && (now - member.since).to_std().unwrap_or_default() < patience
        })
    }

    fn progress_text(&self, target: u32) -> String {
        let leaving = self
            .memo
            .members
            .iter()
            .filter(|member| {
                matches!(
                    member.stage,
                    MemberStage::Draining | MemberStage::Leaving | MemberStage::Removed
                )
            })
            .count();
        let ready = self.memo.ready();
        if leaving > 0 {
            format!(
                "{}: {ready} of {target} ready, {leaving} leaving",
                self.text()
            )
        } else {
            format!("{} {ready} of {target} ready", self.text())
        }
    }
}
