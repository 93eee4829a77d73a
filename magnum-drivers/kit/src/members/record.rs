//! What a group's memo keeps of each member.

use chrono::{DateTime, Utc};
use magnum_core::{Member, MemberId, MemberPhase};
use serde::{Deserialize, Serialize};

/// Where a member is, from the driver's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStage {
    /// Decided on; in no document that was sent.
    Planned,
    /// In a document that was sent; its resources are not all there.
    Building,
    /// Its server is there; the node is not ready.
    Joining,
    /// The node is a ready part of the cluster.
    Ready,
    /// The node was ready and is not now.
    NotReady,
    /// It failed; the next edit removes it.
    Failed,
    /// Chosen to go; its pods are being moved away.
    Draining,
    /// Its pods are gone or were given up; the next edit removes it.
    Leaving,
    /// Taken out of the document; its node object is still to be deleted.
    Removed,
}

impl MemberStage {
    /// Whether a member in this stage counts towards the group's size.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(
            self,
            Self::Planned | Self::Building | Self::Joining | Self::Ready | Self::NotReady
        )
    }

    /// Whether a member in this stage belongs into the document that Heat shall have.
    #[must_use]
    pub const fn in_document(self) -> bool {
        !matches!(self, Self::Failed | Self::Leaving | Self::Removed)
    }
}

/// A member as the memo keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Its id; never used again in the cluster.
    pub id: MemberId,
    /// Its server's and node's name.
    pub name: String,
    /// The stack of the group that holds it.
    pub shard: u32,
    /// Counts up with every member of the group: the larger, the newer.
    pub number: u64,
    /// Where it is.
    pub stage: MemberStage,
    /// Since when it is there.
    pub since: DateTime<Utc>,
    /// The server's id, once known.
    #[serde(default)]
    pub server_id: Option<String>,
    /// The addresses on the node network, then floating ones.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// The kubelet's version, once it has joined.
    #[serde(default)]
    pub kube_version: Option<String>,
    /// Why it failed or is not ready.
    #[serde(default)]
    pub reason: Option<String>,
    /// The last stage that the node signalled.
    #[serde(default)]
    pub signal: Option<String>,
    /// Whether its request for a serving certificate was approved once.
    #[serde(default)]
    pub served: bool,
}

impl MemberRecord {
    /// A member that was just decided on.
    #[must_use]
    pub const fn planned(
        id: MemberId,
        name: String,
        shard: u32,
        number: u64,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            id,
            name,
            shard,
            number,
            stage: MemberStage::Planned,
            since: now,
            server_id: None,
            addresses: Vec::new(),
            kube_version: None,
            reason: None,
            signal: None,
            served: false,
        }
    }

    /// Moves it to a stage, noting the time where that is a change.
    pub fn enter(&mut self, stage: MemberStage, now: DateTime<Utc>) {
        if self.stage != stage {
            self.stage = stage;
            self.since = now;
        }
    }

    /// Moves it to [`MemberStage::Failed`] with a reason.
    pub fn fail(&mut self, reason: impl Into<String>, now: DateTime<Utc>) {
        self.reason = Some(reason.into());
        self.enter(MemberStage::Failed, now);
    }

    /// The member as core shows it.
    #[must_use]
    pub fn to_member(&self) -> Member {
        Member {
            id: self.id.clone(),
            name: self.name.clone(),
            phase: match self.stage {
                MemberStage::Planned | MemberStage::Building => MemberPhase::Building,
                MemberStage::Joining => MemberPhase::Joining,
                MemberStage::Ready => MemberPhase::Ready,
                MemberStage::NotReady => MemberPhase::NotReady,
                MemberStage::Failed => MemberPhase::Failed,
                MemberStage::Draining | MemberStage::Leaving | MemberStage::Removed => {
                    MemberPhase::Leaving
                }
            },
            server_id: self.server_id.clone(),
            addresses: self.addresses.clone(),
            kube_version: self.kube_version.clone(),
            reason: self.reason.clone(),
        }
    }
}
