//! Which changes each status allows (rule `SM-11`).

use super::{Action, Phase, Status};
use crate::driver::ChangeKind;

/// What a status says to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may start, as far as the status is concerned; the locks of running operations are looked at besides.
    Allowed,
    /// Not while this runs.
    Busy,
    /// Not from here.
    Refused,
}

/// What `status` says to a change of kind `kind`. `usable` says whether the cluster's API has been seen: a creation that failed
/// before that leaves nothing that could be changed, only retried or deleted.
///
/// Deletion is allowed always, except where the cluster is gone already; a second deletion joins the first.
#[must_use]
#[allow(
    clippy::match_same_arms,
    reason = "the arms are read from top to bottom"
)]
pub const fn verdict(status: Status, kind: ChangeKind, usable: bool) -> Verdict {
    match (status.action, status.phase, kind) {
        (Action::Delete, Phase::Complete, _) => Verdict::Refused,
        (_, _, ChangeKind::Delete) => Verdict::Allowed,
        (Action::Delete, Phase::InProgress, _) => Verdict::Busy,
        (Action::Delete, Phase::Failed, _) => Verdict::Refused,
        (Action::Create, Phase::Failed, ChangeKind::Create | ChangeKind::Adopt) => Verdict::Allowed,
        (_, _, ChangeKind::Create | ChangeKind::Adopt) => Verdict::Refused,
        (Action::Create | Action::Rollback, Phase::InProgress, _) => Verdict::Busy,
        (Action::Create, Phase::Failed, _) if !usable => Verdict::Refused,
        _ => Verdict::Allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Trigger, apply};

    const KINDS: [ChangeKind; 13] = [
        ChangeKind::Create,
        ChangeKind::Resize,
        ChangeKind::ReplaceNode,
        ChangeKind::CreateNodeGroup,
        ChangeKind::DeleteNodeGroup,
        ChangeKind::UpdateSettings,
        ChangeKind::Upgrade,
        ChangeKind::RotateCa,
        ChangeKind::RotateCredential,
        ChangeKind::BackUpEtcd,
        ChangeKind::RestoreEtcd,
        ChangeKind::Adopt,
        ChangeKind::Delete,
    ];

    #[test]
    fn sm_11_what_each_state_allows() {
        let resize = |status| verdict(status, ChangeKind::Resize, true);
        assert_eq!(resize(Status::UPDATE_FAILED), Verdict::Allowed);
        assert_eq!(resize(Status::CREATE_FAILED), Verdict::Allowed);
        assert_eq!(
            verdict(Status::CREATE_FAILED, ChangeKind::Resize, false),
            Verdict::Refused
        );
        assert_eq!(resize(Status::CREATE_IN_PROGRESS), Verdict::Busy);
        assert_eq!(resize(Status::DELETE_IN_PROGRESS), Verdict::Busy);
        for kind in KINDS {
            let retried = verdict(Status::UPDATE_FAILED, kind, true);
            let creation = matches!(kind, ChangeKind::Create | ChangeKind::Adopt);
            assert_eq!(
                retried == Verdict::Allowed,
                !creation,
                "UPDATE_FAILED blocks nothing: {kind}"
            );
        }
        for status in Status::ALL {
            let delete = verdict(status, ChangeKind::Delete, true);
            assert_eq!(
                delete == Verdict::Allowed,
                status != Status::DELETE_COMPLETE,
                "{status}"
            );
        }
    }

    #[test]
    fn sm_11_whatever_is_allowed_the_table_can_do() {
        for status in Status::ALL {
            for kind in KINDS {
                if verdict(status, kind, true) != Verdict::Allowed {
                    continue;
                }
                let trigger = match kind {
                    ChangeKind::Delete => Trigger::DeleteAccepted,
                    ChangeKind::Create | ChangeKind::Adopt => Trigger::CreateAccepted,
                    _ => Trigger::UpdateAccepted,
                };
                assert!(apply(status, trigger).is_ok(), "{status} {kind}");
            }
        }
    }
}
