//! The engine's side of a driver's context.

use std::sync::Arc;

use async_trait::async_trait;

use super::Inner;
use crate::driver::{CheckpointError, MemoKey, OperationPort};
use crate::event::EventKind;
use crate::id::{ClusterId, NodeGroupId, OperationId};
use crate::model::{ClusterFacts, Member};
use crate::operation::{Draft, Lease, LockScope};
use crate::sealer::SealContext;
use crate::secret::Secret;
use crate::store::{Commit, Guard, StoreError, Write};

/// How often a report is made anew because the cluster changed under it.
const TRIES: u32 = 100;

/// Writes for one operation, under its fence.
#[derive(Debug)]
pub(super) struct LeasedPort {
    pub(super) inner: Arc<Inner>,
    pub(super) cluster: ClusterId,
    pub(super) scope: LockScope,
    /// None for readings outside an operation: nothing can be written then.
    pub(super) lease: Option<Lease>,
}

impl LeasedPort {
    fn lease(&self) -> Result<Lease, CheckpointError> {
        self.lease.ok_or(CheckpointError::LeaseLost {
            operation: OperationId::from_uuid(uuid::Uuid::nil()),
        })
    }

    fn in_scope(&self, key: &MemoKey, lease: &Lease) -> Result<(), CheckpointError> {
        let fits = match (self.scope, key) {
            (LockScope::Exclusive, _) => true,
            (LockScope::NodeGroup(own), MemoKey::NodeGroup(group)) => own == *group,
            (LockScope::NodeGroup(_), MemoKey::Cluster) => false,
        };
        if fits {
            return Ok(());
        }
        Err(CheckpointError::OutOfScope {
            operation: lease.operation,
            memo: key.as_text(),
        })
    }

    /// Makes a change of the cluster's record true, under the fence.
    async fn record(
        &self,
        change: impl Fn(&mut Draft, Lease) + Send,
    ) -> Result<(), CheckpointError> {
        let lease = self.lease()?;
        for _ in 0..TRIES {
            let record = self.inner.store.load(self.cluster).await.map_err(refused)?;
            let Some(record) = record else {
                return Err(CheckpointError::LeaseLost {
                    operation: lease.operation,
                });
            };
            let mut draft = Draft::of(record, self.inner.clock.now());
            change(&mut draft, lease);
            if draft.is_unchanged() {
                return Ok(());
            }
            draft.guard_fence(lease.operation, lease.fence);
            match self.inner.store.commit(draft.into_commit()).await {
                Err(StoreError::Stale { .. }) => {}
                other => return other.map(drop).map_err(refused),
            }
        }
        Err(CheckpointError::Store {
            reason: format!("cluster {} changes too fast", self.cluster),
        })
    }
}

fn refused(error: StoreError) -> CheckpointError {
    match error {
        StoreError::LeaseLost { operation } => CheckpointError::LeaseLost { operation },
        other => CheckpointError::Store {
            reason: other.to_string(),
        },
    }
}

fn memo_context(cluster: ClusterId, key: &MemoKey) -> SealContext {
    SealContext::new(cluster, format!("memo/{}", key.as_text()))
}

#[async_trait]
impl OperationPort for LeasedPort {
    async fn load_memo(&self, key: &MemoKey) -> Result<Option<Secret>, CheckpointError> {
        let memo = self.inner.store.memo(self.cluster, &key.as_text()).await;
        let Some(sealed) = memo.map_err(refused)? else {
            return Ok(None);
        };
        let context = memo_context(self.cluster, key);
        match self.inner.sealer.open(&context, &sealed).await {
            Ok(memo) => Ok(Some(memo)),
            Err(crate::sealer::SealError::KeyUnavailable { reason }) => {
                Err(CheckpointError::Store { reason })
            }
            Err(error) => Err(CheckpointError::Unreadable {
                memo: key.as_text(),
                reason: error.to_string(),
            }),
        }
    }

    async fn store_memo(&self, key: &MemoKey, memo: Secret) -> Result<(), CheckpointError> {
        let lease = self.lease()?;
        self.in_scope(key, &lease)?;
        let context = memo_context(self.cluster, key);
        let sealed = self.inner.sealer.seal(&context, &memo).await;
        let sealed = sealed.map_err(|error| CheckpointError::Store {
            reason: error.to_string(),
        })?;
        let commit = Commit {
            guards: vec![Guard::Fence {
                operation: lease.operation,
                fence: lease.fence,
            }],
            writes: vec![Write::Memo {
                cluster: self.cluster,
                key: key.as_text(),
                sealed,
            }],
            events: Vec::new(),
        };
        let done = self.inner.store.commit(commit).await;
        done.map(drop).map_err(refused)
    }

    async fn report_facts(&self, facts: &ClusterFacts) -> Result<(), CheckpointError> {
        self.record(|draft, _| draft.view.cluster.facts.clone_from(facts))
            .await
    }

    async fn report_members(
        &self,
        group: NodeGroupId,
        members: &[Member],
    ) -> Result<(), CheckpointError> {
        let lease = self.lease()?;
        self.in_scope(&MemoKey::NodeGroup(group), &lease)?;
        self.record(|draft, lease| draft.set_members(group, members, Some(lease.operation)))
            .await
    }

    async fn warn(&self, text: &str) -> Result<(), CheckpointError> {
        self.record(|draft, lease| {
            let text = text.to_owned();
            draft.tell(Some(lease.operation), EventKind::Warning { text });
        })
        .await
    }
}
