//! Rotation of the authorities, node by node.

use std::fmt::Debug;

use async_trait::async_trait;

use super::cloud::MemoryCloud;
use super::memo::{ClusterMemo, GroupMemo, RotationMemo};
use super::nodes::PAUSE;
use crate::driver::{
    Advance, ClusterView, DriverContext, DriverError, MemoKey, Progress, RotationPhase,
};
use crate::secret::Secret;

/// The keys and certificates of the reference driver's clusters. The driver keeps numbers unless it is given an implementation;
/// `magnum-certs` has one with real certificates.
#[async_trait]
pub trait NodeKeys: Debug + Send + Sync + 'static {
    /// What a rotation that begins now leads to, as a text that is written down before anything is changed. One that was interrupted is
    /// gone on with: the same target again. Reads only.
    async fn plan(&self, cx: &DriverContext) -> Result<String, DriverError>;

    /// Brings what is stored of the cluster's keys to a phase of a plan. Idempotent, and without effect where the plan is past it.
    async fn enter(
        &self,
        cx: &DriverContext,
        plan: &str,
        phase: RotationPhase,
    ) -> Result<(), DriverError>;

    /// What a node must hold now: what it holds already, where that is still right.
    async fn of_node(
        &self,
        cx: &DriverContext,
        node: &str,
        held: Option<&Secret>,
    ) -> Result<Secret, DriverError>;

    /// Whether a node that holds this has shown that it works with it.
    async fn is_proven(
        &self,
        cx: &DriverContext,
        node: &str,
        held: &Secret,
    ) -> Result<bool, DriverError>;
}

/// One bounded step of a phase: the stored keys, or one node.
pub(super) async fn rotate(
    cloud: &MemoryCloud,
    keys: &dyn NodeKeys,
    cx: &DriverContext,
    view: &ClusterView,
    phase: RotationPhase,
) -> Result<Advance, DriverError> {
    let mut memo: ClusterMemo = cx.load(&MemoKey::Cluster).await?.unwrap_or_default();
    let plan = match memo.rotation.take() {
        Some(own) if own.operation == cx.operation => own.plan,
        _ => {
            let plan = keys.plan(cx).await?;
            memo.rotation = Some(RotationMemo {
                operation: cx.operation,
                plan: plan.clone(),
            });
            cx.checkpoint(&MemoKey::Cluster, &memo).await?;
            plan
        }
    };
    keys.enter(cx, &plan, phase).await?;
    bring(cloud, keys, cx, view, phase.task()).await
}

/// Gives nodes their first keys, and renews what is due.
pub(super) async fn equip(
    cloud: &MemoryCloud,
    keys: &dyn NodeKeys,
    cx: &DriverContext,
    view: &ClusterView,
) -> Result<Advance, DriverError> {
    bring(cloud, keys, cx, view, "bringing certificates to nodes").await
}

/// Lets every node of every group hold what it must, one at a time, each proven before the next.
async fn bring(
    cloud: &MemoryCloud,
    keys: &dyn NodeKeys,
    cx: &DriverContext,
    view: &ClusterView,
    task: &str,
) -> Result<Advance, DriverError> {
    let mut names = Vec::new();
    for group in &view.node_groups {
        let memo: Option<GroupMemo> = cx.load(&MemoKey::NodeGroup(group.id)).await?;
        let nodes = memo.unwrap_or_default().nodes;
        names.extend(nodes.into_iter().filter(|n| !n.leaving).map(|n| n.name));
    }
    let total = u32::try_from(names.len()).unwrap_or(u32::MAX);
    for (done, name) in (0_u32..).zip(&names) {
        let again = |step: String| Advance::Again {
            after: PAUSE,
            progress: Progress { step, done, total },
        };
        let held = cloud
            .call(|things, _, _| things.get(name).map(|thing| thing.keys.clone()))
            .await?;
        // One that is gone can be told nothing, and who takes its place is given what holds then.
        let Some(held) = held else { continue };
        let wanted = keys.of_node(cx, name, held.as_ref()).await?;
        if held.as_ref() != Some(&wanted) {
            let keys = Some(wanted);
            cloud
                .call(|things, _, _| {
                    if let Some(thing) = things.get_mut(name) {
                        thing.keys = keys;
                    }
                })
                .await?;
            return Ok(again(format!("{task}: {name}")));
        }
        if !keys.is_proven(cx, name, &wanted).await? {
            return Ok(again(format!("{task}: {name} has not shown that it works")));
        }
    }
    Ok(Advance::Done)
}

/// Numbers instead of keys: `2+1` is a second generation that signs beside a first that is trusted as well.
#[derive(Debug)]
pub(super) struct NumberedKeys;

/// Where [`NumberedKeys`] are stored.
const PURPOSE: &str = "pki.ca";

/// The generation that signs, and the other one that is trusted.
type Numbers = (u32, Option<u32>);

impl NumberedKeys {
    async fn load(cx: &DriverContext) -> Result<Numbers, DriverError> {
        let Some(stored) = cx.secrets().get(cx.cluster, PURPOSE).await? else {
            return Ok((1, None));
        };
        let text = String::from_utf8_lossy(stored.expose()).into_owned();
        let read = match text.split_once('+') {
            None => text.parse().map(|signing| (signing, None)),
            Some((signing, other)) => signing
                .parse()
                .and_then(|signing| Ok((signing, Some(other.parse()?)))),
        };
        let what =
            "the stored authorities are not numbers: give the driver keys that can read them";
        read.map_err(|_| DriverError::internal(what))
    }

    async fn store(cx: &DriverContext, numbers: Numbers) -> Result<(), DriverError> {
        let secret = Secret::new(text(numbers));
        Ok(cx.secrets().put(cx.cluster, PURPOSE, secret).await?)
    }
}

fn text((signing, other): Numbers) -> String {
    match other {
        None => signing.to_string(),
        Some(other) => format!("{signing}+{other}"),
    }
}

/// Where the numbers stand in a phase that leads to `target`.
fn entered((signing, other): Numbers, target: u32, phase: RotationPhase) -> Numbers {
    match (phase, other) {
        (RotationPhase::TrustBoth, None) if signing < target => (signing, Some(target)),
        (RotationPhase::Reissue, Some(new)) if signing < new => (new, Some(signing)),
        (RotationPhase::TrustNew, Some(old)) if signing > old => (signing, None),
        _ => (signing, other),
    }
}

#[async_trait]
impl NodeKeys for NumberedKeys {
    async fn plan(&self, cx: &DriverContext) -> Result<String, DriverError> {
        let (signing, other) = Self::load(cx).await?;
        let target = other.map_or(signing + 1, |other| other.max(signing));
        Ok(target.to_string())
    }

    async fn enter(
        &self,
        cx: &DriverContext,
        plan: &str,
        phase: RotationPhase,
    ) -> Result<(), DriverError> {
        let target: u32 = plan
            .parse()
            .map_err(|_| DriverError::internal("the plan of the rotation is not a number"))?;
        let before = Self::load(cx).await?;
        let after = entered(before, target, phase);
        if after != before {
            Self::store(cx, after).await?;
        }
        Ok(())
    }

    async fn of_node(
        &self,
        cx: &DriverContext,
        _: &str,
        _: Option<&Secret>,
    ) -> Result<Secret, DriverError> {
        Ok(Secret::new(text(Self::load(cx).await?)))
    }

    async fn is_proven(&self, _: &DriverContext, _: &str, _: &Secret) -> Result<bool, DriverError> {
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ck_09_numbers_go_through_the_phases_and_repeat_harmlessly() {
        let mut numbers = (1, None);
        let mut seen = Vec::new();
        for phase in RotationPhase::ALL {
            for _ in 0..2 {
                numbers = entered(numbers, 2, phase);
            }
            seen.push(text(numbers));
        }
        assert_eq!(seen, ["1+2", "2+1", "2"]);
        for phase in RotationPhase::ALL {
            assert_eq!(entered(numbers, 2, phase), (2, None), "{phase:?} is past");
        }
    }
}
