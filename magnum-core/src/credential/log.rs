//! What the engine remembers of a cluster's credentials: pure decisions, made before and after each call of the provider.

use serde::{Deserialize, Serialize};

use super::CredentialRef;
use crate::id::{ClusterId, OperationId};

/// Everything that was ever named for a cluster and may still exist. A name is in here before the call that makes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CredentialLog {
    /// The last number given.
    generation: u32,
    /// The one in force, and the operation for which it was made.
    current: Option<(CredentialRef, OperationId)>,
    /// The one that is about to be made.
    intent: Option<CredentialRef>,
    /// Those that were replaced and are to be removed.
    outgoing: Vec<CredentialRef>,
}

impl CredentialLog {
    /// The credential that has to be made now, if one has: for a cluster that has none, and, with `replace`, once for each operation. A
    /// name that an earlier try has written down is used again.
    pub(crate) fn wanted(
        &mut self,
        cluster: ClusterId,
        operation: OperationId,
        replace: bool,
    ) -> Option<CredentialRef> {
        if self.intent.is_none() {
            let there = self
                .current
                .as_ref()
                .is_some_and(|(_, made_for)| !replace || *made_for == operation);
            if there {
                return None;
            }
            self.generation += 1;
            self.intent = Some(CredentialRef {
                name: format!("magnum-work-{cluster}-{}", self.generation),
                id: None,
            });
        }
        self.intent.clone()
    }

    /// Notes that the wanted one is in force; the one before has to go.
    pub(crate) fn issued(&mut self, id: String, operation: OperationId) {
        let Some(mut made) = self.intent.take() else {
            return;
        };
        made.id = Some(id);
        if let Some((old, _)) = self.current.replace((made, operation)) {
            self.outgoing.push(old);
        }
    }

    /// Those that were replaced.
    pub(crate) fn outgoing(&self) -> Vec<CredentialRef> {
        self.outgoing.clone()
    }

    /// Everything that may exist.
    pub(crate) fn all(&self) -> Vec<CredentialRef> {
        let current = self.current.iter().map(|(credential, _)| credential);
        let all = current.chain(&self.intent).chain(&self.outgoing);
        all.cloned().collect()
    }

    /// Notes that one is gone.
    pub(crate) fn removed(&mut self, name: &str) {
        self.current.take_if(|(current, _)| current.name == name);
        self.intent.take_if(|intent| intent.name == name);
        self.outgoing.retain(|credential| credential.name != name);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn operation(n: u128) -> OperationId {
        OperationId::from_uuid(Uuid::from_u128(n))
    }

    #[test]
    fn a_name_is_given_once_and_a_rotation_replaces_once() {
        let cluster = ClusterId::from_uuid(Uuid::from_u128(7));
        let mut log = CredentialLog::default();
        let first = log.wanted(cluster, operation(1), false).unwrap();
        assert!(first.name.ends_with("-1") && first.id.is_none());
        assert_eq!(
            log.all(),
            std::slice::from_ref(&first),
            "known before it is made"
        );
        let again = log.wanted(cluster, operation(2), false).unwrap();
        assert_eq!(again, first, "a crashed try goes on under its name");
        log.issued("a".to_owned(), operation(2));
        assert_eq!(log.wanted(cluster, operation(3), false), None);
        let second = log.wanted(cluster, operation(4), true).unwrap();
        assert!(second.name.ends_with("-2"));
        assert!(log.outgoing().is_empty(), "the old one stays in force");
        log.issued("b".to_owned(), operation(4));
        assert_eq!(log.wanted(cluster, operation(4), true), None);
        assert_eq!(log.outgoing()[0].id.as_deref(), Some("a"));
        assert_eq!(log.all().len(), 2);
        log.removed(&first.name);
        log.removed(&first.name);
        assert_eq!(log.all().len(), 1);
        let text = serde_json::to_string(&log).unwrap();
        assert_eq!(serde_json::from_str::<CredentialLog>(&text).unwrap(), log);
        log.removed(&second.name);
        assert_eq!(
            log,
            CredentialLog {
                generation: 2,
                ..CredentialLog::default()
            }
        );
    }
}
