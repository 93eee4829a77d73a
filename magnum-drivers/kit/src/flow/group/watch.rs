//! Watching members join: signals as the early word of failure, the cluster's API as the authority.

use std::collections::BTreeMap;

use magnum_core::driver::{Cause, CauseKind, DriverError};
use magnum_core::{MemberId, NodeGroupRole, ServerType};
use magnum_heat::resource::received_signals;
use magnum_heat::stack::StackRef;

use super::GroupWork;
use crate::bootstrap::kubelet_may_set_label;
use crate::fault::{cloud_error, kubernetes_error};
use crate::flow::observe::{approve_serving, follow_nodes, missing_static_pods, serving_members};
use crate::kubernetes::{NodeSettings, settings_patch};
use crate::members::MemberStage;

/// How many members' signals are read in one round.
const SIGNALS_AT_ONCE: usize = 10;

impl GroupWork<'_> {
    pub(super) async fn follow_members(&mut self) -> Result<(), DriverError> {
        let awaited = self.memo.members.iter().any(|member| {
            matches!(
                member.stage,
                MemberStage::Joining | MemberStage::NotReady | MemberStage::Ready
            )
        });
        if !awaited {
            return Ok(());
        }
        let observed = self.round.observed(self.cluster).await?;
        if observed.reachable {
            self.prepare_nodes().await?;
            let held = self.held_back().await?;
            let now = self.round.now();
            let mut observed = observed.clone();
            observed.nodes.retain(|name, _| !held.contains_key(name));
            let mut members: Vec<_> = self
                .memo
                .members
                .iter()
                .filter(|member| !held.contains_key(&member.name))
                .cloned()
                .collect();
            if follow_nodes(&mut members, &observed, now) {
                for member in members {
                    if let Some(slot) = self.memo.member_mut(&member.id) {
                        *slot = member;
                    }
                }
                self.dirty = true;
            }
            self.approve().await?;
        }
        self.read_signals().await?;
        self.overdue();
        Ok(())
    }

    /// Control-plane nodes whose static pods are not all ready: they do not count as ready yet.
    async fn held_back(&self) -> Result<BTreeMap<String, Vec<String>>, DriverError> {
        let mut held = BTreeMap::new();
        if self.group.role != NodeGroupRole::ControlPlane {
            return Ok(held);
        }
        let observed = self.round.observed(self.cluster).await?;
        for member in &self.memo.members {
            let ready = observed
                .nodes
                .get(&member.name)
                .is_some_and(crate::kubernetes::Node::is_ready);
            if member.stage == MemberStage::Joining && ready {
                let client = self.round.client(self.outputs).await?;
                let missing = missing_static_pods(client, &member.name).await?;
                if !missing.is_empty() {
                    held.insert(member.name.clone(), missing);
                }
            }
        }
        Ok(held)
    }

    /// Sets what kubelets may not set on their own nodes.
    async fn prepare_nodes(&self) -> Result<(), DriverError> {
        let mut labels: BTreeMap<String, String> = self
            .group
            .spec
            .node_labels
            .iter()
            .filter(|(key, _)| !kubelet_may_set_label(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if self.group.role == NodeGroupRole::Worker {
            labels.insert("node-role.kubernetes.io/worker".to_owned(), String::new());
        }
        if labels.is_empty() {
            return Ok(());
        }
        let observed = self.round.observed(self.cluster).await?;
        for member in &self.memo.members {
            if member.stage != MemberStage::Joining {
                continue;
            }
            let Some(node) = observed.nodes.get(&member.name) else {
                continue;
            };
            let wanted = NodeSettings {
                labels: labels.clone(),
                ..NodeSettings::default()
            };
            if let Some(patch) = settings_patch(node, &wanted) {
                let client = self.round.client(self.outputs).await?;
                client
                    .patch_node(&node.name, &patch)
                    .await
                    .map_err(kubernetes_error)?;
            }
        }
        Ok(())
    }

    async fn approve(&mut self) -> Result<(), DriverError> {
        if self.memo.members.iter().all(|member| member.served) {
            return Ok(());
        }
        let known = serving_members(&self.memo.members);
        if known.is_empty() {
            return Ok(());
        }
        let client = self.round.client(self.outputs).await?;
        let approved = approve_serving(client, &known).await?;
        for member in &mut self.memo.members {
            if approved.contains(&member.name) && !member.served {
                member.served = true;
                self.dirty = true;
            }
        }
        Ok(())
    }

    /// Reads what joining members signalled. A failure there ends the member; success is only noted.
    async fn read_signals(&mut self) -> Result<(), DriverError> {
        let now = self.round.now();
        let interval = self.round.config.polls.signals;
        let signals = self.memo.facts.as_ref().is_some_and(|f| f.labels.signals);
        let due = self
            .memo
            .signals_read
            .is_none_or(|read| (now - read).to_std().unwrap_or_default() >= interval);
        let waiting: Vec<(MemberId, usize)> = self
            .memo
            .members
            .iter()
            .filter(|member| member.stage == MemberStage::Joining)
            .map(|member| {
                (
                    member.id.clone(),
                    usize::try_from(member.shard).unwrap_or(usize::MAX),
                )
            })
            .take(SIGNALS_AT_ONCE)
            .collect();
        if !signals || !due || waiting.is_empty() {
            return Ok(());
        }
        self.memo.signals_read = Some(now);
        self.dirty = true;
        for (id, shard) in waiting {
            let Some(record) = self.memo.shards.get(shard) else {
                continue;
            };
            let Some(stack) = &record.id else { continue };
            let stack = StackRef::new(&record.name, stack);
            let handle = format!("signal_{id}");
            let received = match received_signals(&self.round.session, &stack, &handle).await {
                Ok(received) => received,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(cloud_error(error)),
            };
            let failure = received.iter().find(|signal| signal.status == "FAILURE");
            if let Some(failure) = failure {
                let cause = Cause {
                    kind: CauseKind::Bootstrap,
                    sentence: format!(
                        "the node's bootstrap failed: {}; {}",
                        failure.reason,
                        self.subject(&id)
                    ),
                    subject: Some(self.subject(&id)),
                };
                self.member_failed(&id, cause, false);
                continue;
            }
            let order = ["boot", "preflight", "kubeadm", "done"];
            let last = order
                .iter()
                .rev()
                .find(|stage| received.iter().any(|signal| signal.id == **stage));
            if let (Some(last), Some(member)) = (last, self.memo.member_mut(&id)) {
                member.signal = Some((*last).to_owned());
            }
        }
        Ok(())
    }

    /// Members that did not become ready in time have failed.
    fn overdue(&mut self) {
        let now = self.round.now();
        let patience = &self.round.config.patience;
        let limit = match self.server_type() {
            ServerType::Vm => patience.virtual_join,
            ServerType::BareMetal => patience.bare_metal_join,
        };
        let late: Vec<(MemberId, Option<String>)> = self
            .memo
            .members
            .iter()
            .filter(|member| member.stage == MemberStage::Joining)
            .filter(|member| (now - member.since).to_std().unwrap_or_default() >= limit)
            .map(|member| (member.id.clone(), member.signal.clone()))
            .collect();
        for (id, signal) in late {
            let subject = self.subject(&id);
            let last = signal.map_or_else(
                || "it never signalled".to_owned(),
                |stage| format!("its last signal was {stage:?}"),
            );
            let cause = Cause {
                kind: CauseKind::Timeout,
                sentence: format!(
                    "the node did not become ready within {} minutes, {last}; {subject}",
                    limit.as_secs() / 60
                ),
                subject: Some(subject),
            };
            self.member_failed(&id, cause, false);
        }
    }
}
