//! Draining a node, as a decision over its pods.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::pod::Pod;

/// How a drain goes about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainOptions {
    /// When patience ends.
    pub deadline: DateTime<Utc>,
    /// What happens then.
    pub after_deadline: AfterDeadline,
    /// Pause after a disruption budget said no. Default 5 s.
    pub retry_pause: Duration,
    /// Evictions in one step. Default 20, so that one node's pods do not flood the API.
    pub batch: usize,
}

impl DrainOptions {
    /// A drain until `deadline`.
    #[must_use]
    pub const fn until(deadline: DateTime<Utc>, after_deadline: AfterDeadline) -> Self {
        Self {
            deadline,
            after_deadline,
            retry_pause: Duration::from_secs(5),
            batch: 20,
        }
    }
}

/// What happens to pods that are still there at the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterDeadline {
    /// The drain ends as stuck, and names them: the node is kept.
    Stop,
    /// They are deleted without asking disruption budgets.
    Delete,
    /// They are left: the node goes with them, as when it is dead.
    Abandon,
}

/// What a drain remembers between its steps. Belongs into the memo of the operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrainMemo {
    /// When pods (by uid) may be asked for again, and why they were refused.
    pub blocked: BTreeMap<String, Blocked>,
}

/// A refusal by a disruption budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// When to ask again.
    pub until: DateTime<Utc>,
    /// The cluster's words.
    pub reason: String,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrainStep {
    /// Nothing is left that has to go.
    Done,
    /// Ask for the eviction of these pods.
    Evict(Vec<Pod>),
    /// Delete these pods: the deadline has passed.
    Delete(Vec<Pod>),
    /// Look again after this time; the pods that are waited for.
    Wait(Duration, Vec<String>),
    /// The deadline has passed and these pods are left; the reason of each.
    Stuck(Vec<String>),
}

/// Whether a drain has to move this pod.
///
/// Pods of DaemonSets come back at once, static pods are not the API's, and finished pods do not run.
#[must_use]
pub fn must_leave(pod: &Pod) -> bool {
    !pod.mirror && !pod.finished && !matches!(pod.controller.as_deref(), Some("DaemonSet" | "Node"))
}

/// Decides the next step of a drain.
#[must_use]
pub fn plan(
    pods: &[Pod],
    memo: &DrainMemo,
    options: &DrainOptions,
    now: DateTime<Utc>,
) -> DrainStep {
    let left: Vec<&Pod> = pods.iter().filter(|pod| must_leave(pod)).collect();
    if left.is_empty() {
        return DrainStep::Done;
    }
    let name = |pod: &&Pod| format!("{}/{}", pod.namespace, pod.name);
    if now >= options.deadline {
        return match options.after_deadline {
            AfterDeadline::Abandon => DrainStep::Done,
            AfterDeadline::Delete => {
                let alive: Vec<Pod> = left
                    .iter()
                    .filter(|pod| pod.deleting_since.is_none())
                    .map(|pod| (*pod).clone())
                    .collect();
                if alive.is_empty() {
                    DrainStep::Wait(options.retry_pause, left.iter().map(name).collect())
                } else {
                    DrainStep::Delete(alive)
                }
            }
            AfterDeadline::Stop => {
                DrainStep::Stuck(left.iter().map(|pod| reason(pod, memo)).collect())
            }
        };
    }
    let free = |pod: &&&Pod| {
        pod.deleting_since.is_none()
            && memo
                .blocked
                .get(&pod.uid)
                .is_none_or(|blocked| blocked.until <= now)
    };
    let evict: Vec<Pod> = left
        .iter()
        .filter(free)
        .take(options.batch)
        .map(|pod| (*pod).clone())
        .collect();
    if evict.is_empty() {
        DrainStep::Wait(options.retry_pause, left.iter().map(name).collect())
    } else {
        DrainStep::Evict(evict)
    }
}

fn reason(pod: &Pod, memo: &DrainMemo) -> String {
    let name = format!("{}/{}", pod.namespace, pod.name);
    match (memo.blocked.get(&pod.uid), pod.deleting_since) {
        (_, Some(since)) => format!("{name} (ending since {since})"),
        (Some(blocked), None) => format!("{name} ({})", blocked.reason),
        (None, None) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_790_000_000 + seconds, 0).unwrap()
    }

    fn pod(name: &str) -> Pod {
        Pod {
            namespace: "n".into(),
            name: name.into(),
            uid: format!("uid-{name}"),
            controller: Some("ReplicaSet".into()),
            mirror: false,
            finished: false,
            ready: true,
            deleting_since: None,
        }
    }

    fn options(after_deadline: AfterDeadline) -> DrainOptions {
        DrainOptions::until(at(600), after_deadline)
    }

    #[test]
    fn what_cannot_or_need_not_leave_is_left_alone() {
        let pods = [
            Pod {
                controller: Some("DaemonSet".into()),
                ..pod("a")
            },
            Pod {
                mirror: true,
                controller: Some("Node".into()),
                ..pod("b")
            },
            Pod {
                finished: true,
                ..pod("c")
            },
        ];
        assert_eq!(
            plan(
                &pods,
                &DrainMemo::default(),
                &options(AfterDeadline::Stop),
                at(0)
            ),
            DrainStep::Done
        );
    }

    #[test]
    fn pods_without_a_controller_leave_too() {
        let pods = [Pod {
            controller: None,
            ..pod("a")
        }];
        let step = plan(
            &pods,
            &DrainMemo::default(),
            &options(AfterDeadline::Stop),
            at(0),
        );
        assert!(matches!(step, DrainStep::Evict(evict) if evict.len() == 1));
    }

    #[test]
    fn evictions_come_in_batches_and_leave_out_the_blocked_and_the_ending() {
        let mut memo = DrainMemo::default();
        memo.blocked.insert(
            "uid-a".into(),
            Blocked {
                until: at(5),
                reason: "budget".into(),
            },
        );
        let pods = [
            pod("a"),
            Pod {
                deleting_since: Some(at(-1)),
                ..pod("b")
            },
            pod("c"),
            pod("d"),
        ];
        let options = DrainOptions {
            batch: 1,
            ..options(AfterDeadline::Stop)
        };
        assert_eq!(
            plan(&pods, &memo, &options, at(0)),
            DrainStep::Evict(vec![pod("c")])
        );
        assert_eq!(
            plan(&pods, &memo, &options, at(5)),
            DrainStep::Evict(vec![pod("a")])
        );
        let waiting = plan(&pods[..2], &memo, &options, at(0));
        assert_eq!(
            waiting,
            DrainStep::Wait(options.retry_pause, vec!["n/a".into(), "n/b".into()])
        );
    }

    #[test]
    fn the_deadline_is_kept_in_three_ways() {
        let mut memo = DrainMemo::default();
        memo.blocked.insert(
            "uid-a".into(),
            Blocked {
                until: at(900),
                reason: "budget x needs 2".into(),
            },
        );
        let pods = [pod("a")];
        assert_eq!(
            plan(&pods, &memo, &options(AfterDeadline::Abandon), at(600)),
            DrainStep::Done
        );
        assert_eq!(
            plan(&pods, &memo, &options(AfterDeadline::Delete), at(600)),
            DrainStep::Delete(vec![pod("a")])
        );
        assert_eq!(
            plan(&pods, &memo, &options(AfterDeadline::Stop), at(600)),
            DrainStep::Stuck(vec!["n/a (budget x needs 2)".into()])
        );
        let ending = [Pod {
            deleting_since: Some(at(599)),
            ..pod("a")
        }];
        assert!(matches!(
            plan(&ending, &memo, &options(AfterDeadline::Delete), at(600)),
            DrainStep::Wait(..)
        ));
    }
}
