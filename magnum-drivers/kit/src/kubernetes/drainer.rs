//! Carrying out one step of a drain.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::client::KubernetesClient;
use super::drain::{self, Blocked, DrainMemo, DrainOptions, DrainStep};
use super::error::KubernetesError;
use super::pod::Eviction;

/// How far a drain is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrainProgress {
    /// The node is empty of what has to leave, or was not there.
    Done,
    /// Call again after this time.
    Again {
        /// The pause.
        after: Duration,
        /// What is still there, in words for an operator.
        waiting_for: Vec<String>,
    },
    /// The deadline has passed, and the options say to stop.
    Stuck(Vec<String>),
}

impl KubernetesClient {
    /// One step of a drain: cordons the node, looks at its pods, evicts or deletes what is to go now.
    ///
    /// Idempotent; `memo` remembers refusals between steps and may be lost. Cancel safety: a dropped step is simply
    /// repeated.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists. A refusal by a disruption budget is no error.
    pub async fn drain_step(
        &self,
        node: &str,
        memo: &mut DrainMemo,
        options: &DrainOptions,
        now: DateTime<Utc>,
    ) -> Result<DrainProgress, KubernetesError> {
        if self.set_unschedulable(node, true).await?.is_none() {
            return Ok(DrainProgress::Done);
        }
        let pods = self.pods_on(node).await?;
        memo.blocked
            .retain(|uid, _| pods.iter().any(|pod| pod.uid == *uid));
        let (count, soon) = match drain::plan(&pods, memo, options, now) {
            DrainStep::Done => return Ok(DrainProgress::Done),
            DrainStep::Stuck(reasons) => return Ok(DrainProgress::Stuck(reasons)),
            DrainStep::Wait(after, waiting_for) => {
                return Ok(DrainProgress::Again { after, waiting_for });
            }
            DrainStep::Evict(evict) => {
                for pod in &evict {
                    if let Eviction::Blocked(reason) = self.evict(pod).await? {
                        let until = now + options.retry_pause;
                        memo.blocked
                            .insert(pod.uid.clone(), Blocked { until, reason });
                    }
                }
                (evict.len(), "evicted")
            }
            DrainStep::Delete(delete) => {
                for pod in &delete {
                    self.delete_pod(pod, 30).await?;
                }
                (delete.len(), "deleted after the deadline")
            }
        };
        let waiting_for = vec![format!("{count} pods are being {soon}")];
        Ok(DrainProgress::Again {
            after: Duration::from_secs(2),
            waiting_for,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::drain::AfterDeadline;
    use super::super::script::Script;
    use super::*;

    const NODE: &str = r#"{"metadata":{"name":"n"}}"#;
    const PODS: &str = r#"{"items":[{"metadata":{"name":"a","namespace":"x","uid":"1"}},{"metadata":{"name":"b","namespace":"x","uid":"2"}}]}"#;

    #[tokio::test]
    async fn a_blocked_pod_is_remembered_and_the_others_go() {
        let script = Script::new([
            (200, NODE),
            (200, PODS),
            (429, r#"{"message":"budget"}"#),
            (201, "{}"),
        ]);
        let now = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        let options = DrainOptions::until(now + Duration::from_secs(60), AfterDeadline::Stop);
        let mut memo = DrainMemo::default();
        let progress = script
            .client()
            .drain_step("n", &mut memo, &options, now)
            .await
            .unwrap();
        assert!(matches!(progress, DrainProgress::Again { .. }));
        assert_eq!(memo.blocked["1"].reason, "budget");
        assert!(script.requests()[1].contains("fieldSelector=spec.nodeName%3Dn"));
    }

    #[tokio::test]
    async fn a_node_that_is_gone_is_drained() {
        let script = Script::new([(404, "{}")]);
        let now = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        let options = DrainOptions::until(now, AfterDeadline::Stop);
        let progress = script
            .client()
            .drain_step("n", &mut DrainMemo::default(), &options, now)
            .await
            .unwrap();
        assert_eq!(progress, DrainProgress::Done);
    }
}
