//! The operations that are tried.

use super::bench::{Bench, CLUSTER};
use super::modes::Mode;
use crate::driver::Capability;
use crate::engine::{ChangeRequest, Engine, NodeGroupPatch, Resize, Upgrade};
use crate::model::{MemberRef, NewNodeGroup, NodeGroupName};
use crate::operation::Outcome;

/// An operation that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Create,
    Grow,
    Shrink,
    ToZero,
    ReplaceNode,
    GrowControlPlane,
    ReplaceControlPlaneNode,
    CreateNodeGroup,
    DeleteNodeGroup,
    UpdateSettings,
    Upgrade,
    RotateCa,
    RotateCredential,
    BackUpEtcd,
    RestoreEtcd,
    ProbeHealth,
    Delete,
}

impl Subject {
    pub(super) const ALL: [Self; 17] = [
        Self::Create,
        Self::Grow,
        Self::Shrink,
        Self::ToZero,
        Self::ReplaceNode,
        Self::GrowControlPlane,
        Self::ReplaceControlPlaneNode,
        Self::CreateNodeGroup,
        Self::DeleteNodeGroup,
        Self::UpdateSettings,
        Self::Upgrade,
        Self::RotateCa,
        Self::RotateCredential,
        Self::BackUpEtcd,
        Self::RestoreEtcd,
        Self::ProbeHealth,
        Self::Delete,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Grow => "resize to more",
            Self::Shrink => "resize to fewer without a named node",
            Self::ToZero => "resize to zero",
            Self::ReplaceNode => "replace a node",
            Self::GrowControlPlane => "resize the control plane",
            Self::ReplaceControlPlaneNode => "replace a control-plane node",
            Self::CreateNodeGroup => "create a node group",
            Self::DeleteNodeGroup => "delete a node group",
            Self::UpdateSettings => "update settings",
            Self::Upgrade => "upgrade",
            Self::RotateCa => "rotate the CA",
            Self::RotateCredential => "rotate the credential",
            Self::BackUpEtcd => "back up etcd",
            Self::RestoreEtcd => "restore etcd",
            Self::ProbeHealth => "probe health",
            Self::Delete => "delete",
        }
    }

    pub(super) const fn needs(self) -> Capability {
        match self {
            Self::Create | Self::Delete => Capability::CreateDelete,
            Self::Grow | Self::Shrink | Self::ToZero => Capability::Resize,
            Self::ReplaceNode => Capability::ReplaceNode,
            Self::GrowControlPlane => Capability::ResizeControlPlane,
            Self::ReplaceControlPlaneNode => Capability::ReplaceControlPlaneNode,
            Self::CreateNodeGroup | Self::DeleteNodeGroup => Capability::NodeGroups,
            Self::UpdateSettings => Capability::UpdateSettings,
            Self::Upgrade => Capability::Upgrade,
            Self::RotateCa => Capability::RotateCa,
            Self::RotateCredential => Capability::RotateCredential,
            Self::BackUpEtcd => Capability::BackUpEtcd,
            Self::RestoreEtcd => Capability::RestoreEtcd,
            Self::ProbeHealth => Capability::ProbeHealth,
        }
    }

    /// Whether it is done in this way: a deletion cannot be cancelled, and a look at a cluster's health is no operation.
    pub(super) fn is_tried(self, mode: Mode) -> bool {
        match self {
            Self::Delete => mode != Mode::Cancelled,
            Self::ProbeHealth => mode == Mode::Plainly,
            _ => true,
        }
    }

    /// Brings the cluster to where the operation begins.
    pub(super) async fn prepare(self, bench: &Bench) -> Result<(), String> {
        if self == Self::Create {
            return Ok(());
        }
        let (engine, _) = bench.engine(None)?;
        let created = bench.ask_to_create(&engine).await?;
        done(bench, &engine, created).await?;
        let request = match self {
            Self::DeleteNodeGroup => Self::CreateNodeGroup.request(bench, &engine).await?,
            Self::RestoreEtcd => Self::BackUpEtcd.request(bench, &engine).await?,
            Self::ReplaceControlPlaneNode if bench.can(Capability::ResizeControlPlane) => {
                Self::GrowControlPlane.request(bench, &engine).await?
            }
            _ => return Ok(()),
        };
        let id = bench.ask(&engine, request).await?;
        done(bench, &engine, id).await
    }

    pub(super) async fn request(
        self,
        bench: &Bench,
        engine: &Engine,
    ) -> Result<ChangeRequest, String> {
        let group_name = || NodeGroupName::new("extra").map_err(|error| error.to_string());
        Ok(match self {
            Self::Create => ChangeRequest::RetryCreate,
            Self::Grow => ChangeRequest::Resize(Resize::to(3)),
            Self::Shrink => {
                let node = first_node(bench, engine, "default-worker").await?;
                ChangeRequest::Resize(Resize::to(1).removing([node]))
            }
            Self::ToZero => ChangeRequest::Resize(Resize::to(0)),
            Self::ReplaceNode => {
                let node = first_node(bench, engine, "default-worker").await?;
                ChangeRequest::ReplaceNode(MemberRef::new(node))
            }
            Self::GrowControlPlane => {
                ChangeRequest::Resize(Resize::to(3).of_group("default-master"))
            }
            Self::ReplaceControlPlaneNode => {
                let node = first_node(bench, engine, "default-master").await?;
                ChangeRequest::ReplaceNode(MemberRef::new(node))
            }
            Self::CreateNodeGroup => {
                ChangeRequest::CreateNodeGroup(NewNodeGroup::new(group_name()?))
            }
            Self::DeleteNodeGroup => ChangeRequest::DeleteNodeGroup("extra".to_owned()),
            Self::UpdateSettings => ChangeRequest::UpdateNodeGroup {
                node_group: "default-worker".to_owned(),
                patch: NodeGroupPatch::default()
                    .node_labels([("example.org/tier".to_owned(), "x".to_owned())].into()),
            },
            Self::Upgrade => {
                let target = bench.rig.upgrade();
                let (version, image) =
                    target.ok_or("the driver claims upgrades and the rig names no version")?;
                ChangeRequest::Upgrade(Upgrade::to_version(version, image))
            }
            Self::RotateCa => ChangeRequest::RotateCa,
            Self::RotateCredential => ChangeRequest::RotateCredential,
            Self::BackUpEtcd => ChangeRequest::BackUpEtcd("first".to_owned()),
            Self::RestoreEtcd => ChangeRequest::RestoreEtcd("first".to_owned()),
            Self::Delete => ChangeRequest::Delete,
            Self::ProbeHealth => return Err("a look at health is no request".to_owned()),
        })
    }
}

impl Bench {
    pub(super) fn can(&self, capability: Capability) -> bool {
        self.rig.driver().capabilities().has(capability)
    }
}

async fn first_node(bench: &Bench, engine: &Engine, group: &str) -> Result<String, String> {
    let group = engine.node_group(&bench.cx, CLUSTER, group).await;
    let group = group.map_err(|error| error.to_string())?;
    let first = group
        .members
        .first()
        .ok_or("the group reports no members")?;
    Ok(first.name.clone())
}

/// Demands that an operation succeeds.
pub(super) async fn done(
    bench: &Bench,
    engine: &Engine,
    id: crate::id::OperationId,
) -> Result<(), String> {
    let operation = bench.finish(engine, id).await?;
    if operation.outcome == Some(Outcome::Succeeded) {
        return Ok(());
    }
    let causes: Vec<_> = operation
        .causes
        .iter()
        .map(|c| c.sentence.as_str())
        .collect();
    let kind = operation.change.kind();
    Err(format!("{kind} ended otherwise than asked: {causes:?}"))
}
