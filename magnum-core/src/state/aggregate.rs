//! A cluster's status from those of its node groups.

use super::{Action, Phase, Status};

/// What the aggregation sees of a node group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupState<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it came with the cluster.
    pub is_default: bool,
    /// Its status.
    pub status: Status,
}

/// The cluster's status and, where a group failed, the reason.
///
/// Running beats failed beats complete (rules `SM-02`, `SM-03`). With groups beyond the default ones, or once the cluster has left
/// `CREATE_*`, the action is `UPDATE`, unless everything is being deleted. The reason lists the failed groups (rule `SM-10`).
#[must_use]
pub fn aggregate(current: Status, groups: &[GroupState<'_>]) -> (Status, Option<String>) {
    let living = groups
        .iter()
        .filter(|group| group.is_default || group.status != Status::DELETE_COMPLETE);
    let phases = || living.clone().map(|group| group.status.phase);
    let phase = if phases().any(|phase| phase == Phase::InProgress) {
        Phase::InProgress
    } else if phases().any(|phase| phase == Phase::Failed) {
        Phase::Failed
    } else {
        Phase::Complete
    };
    let mut defaults = living.clone().filter(|group| group.is_default).peekable();
    let deleting = current.action == Action::Delete
        || (defaults.peek().is_some()
            && defaults.all(|group| group.status.action == Action::Delete));
    let action = if deleting {
        Action::Delete
    } else if current.action == Action::Create
        && living
            .clone()
            .all(|group| group.is_default && group.status.action == Action::Create)
    {
        Action::Create
    } else {
        Action::Update
    };
    let reason = (phase == Phase::Failed).then(|| {
        living
            .filter(|group| group.status.phase == Phase::Failed)
            .map(|group| format!("{} failed", group.name))
            .collect::<Vec<_>>()
            .join(", ")
    });
    (Status::new(action, phase), reason)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn group(name: &str, is_default: bool, status: Status) -> GroupState<'_> {
        GroupState {
            name,
            is_default,
            status,
        }
    }

    fn of(current: Status, groups: &[(&str, bool, Status)]) -> (Status, Option<String>) {
        let groups: Vec<_> = groups
            .iter()
            .map(|(name, is_default, status)| group(name, *is_default, *status))
            .collect();
        aggregate(current, &groups)
    }

    #[test]
    fn sm_02_a_failed_default_group_beside_a_healthy_extra_one_fails_the_cluster() {
        let (status, reason) = of(
            Status::UPDATE_IN_PROGRESS,
            &[
                ("default-master", true, Status::UPDATE_COMPLETE),
                ("default-worker", true, Status::UPDATE_FAILED),
                ("extra", false, Status::UPDATE_COMPLETE),
            ],
        );
        assert_eq!(status, Status::UPDATE_FAILED);
        assert_eq!(reason.as_deref(), Some("default-worker failed"));
    }

    #[test]
    fn sm_03_running_beats_failed_beats_complete() {
        let created = Status::CREATE_COMPLETE;
        let with =
            |current, a, b| of(current, &[("default-worker", true, a), ("extra", false, b)]).0;
        assert_eq!(
            with(created, created, Status::CREATE_IN_PROGRESS),
            Status::UPDATE_IN_PROGRESS
        );
        assert_eq!(
            with(created, created, Status::CREATE_FAILED),
            Status::UPDATE_FAILED
        );
        assert_eq!(
            with(
                Status::DELETE_IN_PROGRESS,
                Status::DELETE_IN_PROGRESS,
                Status::DELETE_FAILED
            ),
            Status::DELETE_IN_PROGRESS
        );
        let defaults = [
            ("default-master", true, Status::CREATE_FAILED),
            ("default-worker", true, Status::CREATE_FAILED),
        ];
        assert_eq!(
            of(Status::CREATE_IN_PROGRESS, &defaults).0,
            Status::CREATE_FAILED
        );
        assert_eq!(
            of(
                Status::UPDATE_IN_PROGRESS,
                &[("default-worker", true, created)]
            )
            .0,
            Status::UPDATE_COMPLETE,
            "a group was added and removed again"
        );
    }

    #[test]
    fn sm_10_several_failed_groups_are_a_readable_list() {
        let (_, reason) = of(
            Status::CREATE_IN_PROGRESS,
            &[
                ("default-master", true, Status::CREATE_FAILED),
                ("default-worker", true, Status::CREATE_FAILED),
            ],
        );
        assert_eq!(
            reason.as_deref(),
            Some("default-master failed, default-worker failed")
        );
    }

    proptest! {
        #[test]
        fn sm_02_failed_somewhere_and_nothing_running_is_failed(states in proptest::collection::vec((any::<bool>(), 0usize..12), 1..8), current in 0usize..12) {
            let groups: Vec<_> = states.iter().map(|(d, s)| group("g", *d, Status::ALL[*s])).collect();
            let (status, reason) = aggregate(Status::ALL[current], &groups);
            let running = groups.iter().any(|g| g.status.in_progress());
            let failed = groups.iter().any(|g| g.status.phase == Phase::Failed);
            prop_assert_eq!(status.in_progress(), running);
            prop_assert_eq!(status.phase == Phase::Failed, failed && !running);
            prop_assert_eq!(reason.is_some(), failed && !running);
        }
    }
}
