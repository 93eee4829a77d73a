//! When clusters' credentials are made, replaced and removed. Every name is written down before the call that makes it, under the lease.

use super::step::Lost;
use super::{Engine, RequestContext};
use crate::credential::{
    CredentialError, CredentialLog, CredentialProvider, CredentialRequest, WORK_CREDENTIAL,
    WorkCredential,
};
use crate::driver::{Change, ClusterView, Leftover};
use crate::error::Error;
use crate::id::{ClusterId, OperationId};
use crate::model::Problems;
use crate::operation::{Draft, Lease, Operation, StepResult, token_memo};
use crate::sealer::SealContext;
use crate::secret::Secret;
use crate::store::{Commit, Guard, StoreError, Write};

/// The memo in which a cluster's credentials are noted.
const LOG: &str = "credentials";

/// Why a step ends before its driver is called.
#[derive(Debug)]
pub(super) enum Halt {
    /// The lease is another's.
    Lost,
    /// Something has to be told of the operation.
    With(StepResult),
}

impl From<Lost> for Halt {
    fn from(_: Lost) -> Self {
        Self::Lost
    }
}

impl From<StepResult> for Halt {
    fn from(result: StepResult) -> Self {
        Self::With(result)
    }
}

impl From<CredentialError> for Halt {
    fn from(error: CredentialError) -> Self {
        Self::With(error.into())
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost { .. } => Self::Lost,
            other => Self::With(StepResult::later(other.to_string())),
        }
    }
}

/// Whether a change makes or replaces a credential.
const fn concerns(change: &Change) -> bool {
    matches!(
        change,
        Change::Create | Change::Adopt { .. } | Change::RotateCredential
    )
}

impl Engine {
    /// Keeps the requester's token, sealed, with an accepted operation that will need it.
    pub(super) async fn keep_token(
        &self,
        cx: &RequestContext,
        draft: &mut Draft,
        operation: OperationId,
    ) -> Result<(), Error> {
        let needed = self.0.credentials.as_ref().filter(|p| p.needs_token());
        let change = draft.operation(operation).map(|o| &o.change);
        let (Some(provider), Some(true)) = (needed, change.map(concerns)) else {
            return Ok(());
        };
        let Some(token) = &cx.token else {
            let rule = format!("must be given: {} are made with it", provider.name());
            return Err(Problems::one("token", "", rule).into());
        };
        let cluster = draft.view.cluster.id;
        let key = token_memo(operation);
        let sealed = self
            .0
            .sealer
            .seal(&memo_context(cluster, &key), token)
            .await;
        let sealed = sealed.map_err(|error| StoreError::Unavailable {
            reason: error.to_string(),
            source: None,
        })?;
        draft.write(Write::Memo {
            cluster,
            key,
            sealed,
        });
        Ok(())
    }

    /// Makes sure of the cluster's credential before its driver is called.
    pub(super) async fn provide_credential(
        &self,
        operation: &Operation,
        lease: Lease,
        view: &ClusterView,
    ) -> Result<(), Halt> {
        let Some(provider) = &self.0.credentials else {
            return Ok(());
        };
        if !concerns(&operation.change) {
            return Ok(());
        }
        let cluster = view.cluster.id;
        let mut log = self.credential_log(cluster).await?;
        let before = log.clone();
        let replace = operation.change == Change::RotateCredential;
        let Some(wanted) = log.wanted(cluster, operation.id, replace) else {
            return Ok(());
        };
        if log != before {
            self.save_log(lease, cluster, &log, None).await?;
        }
        let secrets = &*self.0.secrets;
        let stored = WorkCredential::load(secrets, cluster).await?;
        let credential = match stored.filter(|stored| stored.name == wanted.name) {
            Some(stored) => stored,
            None => {
                let key = token_memo(operation.id);
                let request = CredentialRequest {
                    cluster: &view.cluster,
                    name: wanted.name.clone(),
                    token: self.sealed_memo(cluster, &key).await?,
                };
                let issued = self
                    .bounded(provider.name(), provider.issue(&request))
                    .await?;
                let credential = WorkCredential::new(wanted.name, issued.id, issued.secret);
                credential.save(secrets, cluster).await?;
                credential
            }
        };
        log.issued(credential.id, operation.id);
        self.save_log(lease, cluster, &log, Some(operation.id))
            .await
    }

    /// Removes the credentials that a rotation has replaced.
    pub(super) async fn retire_credentials(
        &self,
        lease: Lease,
        view: &ClusterView,
    ) -> Result<(), Halt> {
        if let Some(provider) = &self.0.credentials {
            let mut log = self.credential_log(view.cluster.id).await?;
            let outgoing = log.outgoing();
            self.remove_noted(&**provider, lease, view, &mut log, outgoing)
                .await?;
        }
        Ok(())
    }

    /// Removes every credential of a cluster whose driver has nothing left to do, and says what could not be.
    pub(super) async fn withdraw_credentials(
        &self,
        lease: Lease,
        view: &ClusterView,
    ) -> Result<Vec<Leftover>, Halt> {
        let cluster = view.cluster.id;
        let mut log = self.credential_log(cluster).await?;
        let all = log.all();
        let Some(provider) = &self.0.credentials else {
            let left = all.into_iter().map(|credential| Leftover {
                kind: "credential".to_owned(),
                id: String::new(),
                name: credential.name,
            });
            return Ok(left.collect());
        };
        self.remove_noted(&**provider, lease, view, &mut log, all)
            .await?;
        let secrets = &self.0.secrets;
        let deleted = secrets.delete(cluster, WORK_CREDENTIAL).await;
        deleted.map_err(CredentialError::from)?;
        Ok(self
            .bounded(provider.name(), provider.list(&view.cluster))
            .await?)
    }

    async fn remove_noted(
        &self,
        provider: &dyn CredentialProvider,
        lease: Lease,
        view: &ClusterView,
        log: &mut CredentialLog,
        credentials: Vec<crate::credential::CredentialRef>,
    ) -> Result<(), Halt> {
        for credential in credentials {
            let call = provider.remove(&view.cluster, &credential);
            self.bounded(provider.name(), call).await?;
            log.removed(&credential.name);
            self.save_log(lease, view.cluster.id, log, None).await?;
        }
        Ok(())
    }

    async fn credential_log(&self, cluster: ClusterId) -> Result<CredentialLog, Halt> {
        let Some(memo) = self.sealed_memo(cluster, LOG).await? else {
            return Ok(CredentialLog::default());
        };
        serde_json::from_slice(memo.expose()).map_err(|error| {
            let reason = format!("the list of the cluster's credentials cannot be read: {error}");
            Halt::from(CredentialError::refused(reason))
        })
    }

    async fn sealed_memo(&self, cluster: ClusterId, key: &str) -> Result<Option<Secret>, Halt> {
        let Some(sealed) = self.0.store.memo(cluster, key).await? else {
            return Ok(None);
        };
        let context = memo_context(cluster, key);
        match self.0.sealer.open(&context, &sealed).await {
            Ok(memo) => Ok(Some(memo)),
            Err(crate::sealer::SealError::KeyUnavailable { reason }) => {
                Err(StepResult::later(reason).into())
            }
            Err(error) => Err(CredentialError::refused(error.to_string()).into()),
        }
    }

    async fn save_log(
        &self,
        lease: Lease,
        cluster: ClusterId,
        log: &CredentialLog,
        used: Option<OperationId>,
    ) -> Result<(), Halt> {
        let bytes = serde_json::to_vec(log).expect("names and ids are always JSON");
        let context = memo_context(cluster, LOG);
        let sealed = self.0.sealer.seal(&context, &Secret::new(bytes)).await;
        let sealed = sealed.map_err(|error| StepResult::later(error.to_string()))?;
        let mut writes = vec![Write::Memo {
            cluster,
            key: LOG.to_owned(),
            sealed,
        }];
        writes.extend(used.map(|operation| Write::RemoveMemo {
            cluster,
            key: token_memo(operation),
        }));
        let commit = Commit {
            guards: vec![Guard::Fence {
                operation: lease.operation,
                fence: lease.fence,
            }],
            writes,
            events: Vec::new(),
        };
        self.0.store.commit(commit).await?;
        Ok(())
    }
}

fn memo_context(cluster: ClusterId, key: &str) -> SealContext {
    SealContext::new(cluster, format!("memo/{key}"))
}
