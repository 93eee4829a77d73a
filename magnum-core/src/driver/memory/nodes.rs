//! Bringing the nodes of one group to what is wanted.

use super::cloud::{LedgerEntry, MemoryCloud, Thing};
use super::memo::GroupMemo;
use crate::driver::{
    Advance, CauseKind, ClusterView, DriverContext, DriverError, Failure, MemoKey,
};
use crate::id::{ClusterId, MemberId};
use crate::model::{Member, MemberPhase, NodeGroup};

/// The pause between looks.
pub(super) const PAUSE: std::time::Duration = std::time::Duration::from_secs(5);

/// What a look at a node says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Look {
    Absent,
    Building,
    Ready(String),
    Broken(String),
}

/// Makes a thing unless it is there: found again by its name and mark.
pub(super) async fn ensure(
    cloud: &MemoryCloud,
    name: &str,
    mut thing: Thing,
) -> Result<(), DriverError> {
    cloud
        .call(|things, ledger, limits| {
            if things.contains_key(name) {
                return;
            }
            thing.waits = limits.polls_until_ready;
            if thing.kind == "node" {
                if limits.breaks {
                    thing.broken = Some("no valid host was found".to_owned());
                } else if let Some(full) = limits.full {
                    let sentence = format!("quota exceeded: instances {full} of {full}");
                    thing.broken = Some(sentence);
                }
            }
            things.insert(name.to_owned(), thing);
            ledger.push(LedgerEntry::Created(name.to_owned()));
        })
        .await
}

/// Removes a thing; none there is success.
pub(super) async fn remove(cloud: &MemoryCloud, name: &str) -> Result<(), DriverError> {
    cloud
        .call(|things, ledger, _| {
            if things.remove(name).is_some() {
                ledger.push(LedgerEntry::Deleted(name.to_owned()));
            }
        })
        .await
}

async fn look(cloud: &MemoryCloud, name: &str) -> Result<Look, DriverError> {
    cloud
        .call(|things, _, _| match things.get_mut(name) {
            None => Look::Absent,
            Some(Thing {
                broken: Some(why), ..
            }) => Look::Broken(why.clone()),
            Some(thing) if thing.waits > 0 => {
                thing.waits -= 1;
                Look::Building
            }
            Some(thing) => Look::Ready(thing.version.clone()),
        })
        .await
}

/// One bounded step of a group towards `count` nodes without those in `without`. `Done` when it is there.
pub(super) async fn converge(
    cloud: &MemoryCloud,
    cx: &DriverContext,
    view: &ClusterView,
    group: &NodeGroup,
    count: u32,
    without: &[MemberId],
) -> Result<Advance, DriverError> {
    let key = MemoKey::NodeGroup(group.id);
    let before: GroupMemo = cx.load(&key).await?.unwrap_or_default();
    let mut memo = before.clone();
    let prefix = view.cluster.name.to_dns_label(20);
    let mut rng = cx.rng();
    memo.aim(count, without, || {
        let id = MemberId::random(&mut rng);
        (id.clone(), format!("{prefix}-{}-{id}", group.name))
    });
    if memo != before && !cloud.is_forgetful() {
        cx.checkpoint(&key, &memo).await?;
    }
    let version = group
        .spec
        .labels
        .get("kube_tag")
        .map_or_else(|| view.cluster.kube_version.to_string(), str::to_owned);
    for node in memo.nodes.iter().filter(|node| !node.leaving) {
        let thing = node_thing(cx.cluster, group, &version);
        ensure(cloud, &node.name, thing).await?;
    }
    if memo != before && cloud.is_forgetful() {
        cx.checkpoint(&key, &memo).await?;
    }
    for node in memo.nodes.iter().filter(|node| node.leaving) {
        remove(cloud, &node.name).await?;
    }
    if memo.nodes.iter().any(|node| node.leaving) {
        memo.nodes.retain(|node| !node.leaving);
        cx.checkpoint(&key, &memo).await?;
    }
    let members = members(cloud, &memo).await?;
    cx.report_members(group.id, &members).await?;
    let failed: Vec<_> = members
        .iter()
        .filter(|m| m.phase == MemberPhase::Failed)
        .collect();
    if let Some(first) = failed.first() {
        for node in &mut memo.nodes {
            node.leaving |= failed.iter().any(|member| member.id == node.id);
        }
        cx.checkpoint(&key, &memo).await?;
        let why = first.reason.clone().unwrap_or_default();
        let kind = if why.contains("quota") {
            CauseKind::Quota
        } else {
            CauseKind::Capacity
        };
        let subject = format!("node group {}, member {}", group.name, first.name);
        let mut failure = Failure::new(kind, format!("{why}; {subject}"));
        failure.causes[0].subject = Some(subject);
        return Ok(Advance::Failed(failure));
    }
    let total = u32::try_from(members.len()).unwrap_or(u32::MAX);
    let ready = members.iter().filter(|m| m.phase == MemberPhase::Ready);
    let ready = u32::try_from(ready.count()).unwrap_or(u32::MAX);
    if ready == total {
        return Ok(Advance::Done);
    }
    let step = format!("waiting for nodes of {}", group.name);
    Ok(Advance::again(PAUSE, step, ready, total))
}

pub(super) fn node_thing(cluster: ClusterId, group: &NodeGroup, version: &str) -> Thing {
    Thing {
        kind: "node",
        cluster,
        group: Some(group.id),
        version: version.to_owned(),
        broken: None,
        waits: 0,
        keys: None,
    }
}

/// The members that the memo knows, as the cloud shows them.
pub(super) async fn members(
    cloud: &MemoryCloud,
    memo: &GroupMemo,
) -> Result<Vec<Member>, DriverError> {
    let mut members = Vec::with_capacity(memo.nodes.len());
    for node in &memo.nodes {
        let (phase, kube_version, reason) = match look(cloud, &node.name).await? {
            Look::Absent => (MemberPhase::NotReady, None, Some("is gone".to_owned())),
            Look::Building => (MemberPhase::Building, None, None),
            Look::Ready(version) => (MemberPhase::Ready, Some(version), None),
            Look::Broken(why) => (MemberPhase::Failed, None, Some(why)),
        };
        members.push(Member {
            id: node.id.clone(),
            name: node.name.clone(),
            phase,
            server_id: Some(node.name.clone()),
            addresses: Vec::new(),
            kube_version,
            reason,
        });
    }
    Ok(members)
}
