//! What a request means for one cluster.

use super::change::UpgradeTarget;
use super::governance::governed_group;
use super::request::{DEFAULT_MASTER, DEFAULT_WORKER, names_group};
use super::{ChangeRequest, Engine, Upgrade, rules};
use crate::driver::{Change, ClusterDriver, ClusterView};
use crate::error::Error;
use crate::id::{MemberId, NodeGroupId};
use crate::model::{
    Labels, MemberRef, NewNodeGroup, NodeGroup, NodeGroupRole, NodeGroupSpec, Problems,
};
use crate::operation::{Draft, OnDone, Wanted, random_uuid};
use crate::state::Status;
use crate::store::{Quota, Usage};

/// A request that was understood: what the driver will be asked, and what goes with it.
#[derive(Debug)]
pub(super) struct Meant {
    pub(super) change: Change,
    pub(super) wanted: Wanted,
    pub(super) on_done: OnDone,
    pub(super) control_plane: bool,
    /// What the requester should know and that refuses nothing.
    pub(super) notes: Vec<String>,
    /// What there will be more of.
    pub(super) more: Usage,
}

impl Engine {
    /// What a request means for this cluster, with all problems of its input.
    pub(super) fn understand(
        &self,
        draft: &Draft,
        driver: &dyn ClusterDriver,
        request: &ChangeRequest,
        target: &UpgradeTarget,
        quota: &Quota,
    ) -> Result<Meant, Error> {
        let view = &draft.view;
        let mut problems = Problems::new();
        let plain = |change| Meant {
            change,
            wanted: Wanted::default(),
            on_done: OnDone::default(),
            control_plane: false,
            notes: Vec::new(),
            more: Usage::default(),
        };
        let meant = match request {
            ChangeRequest::RetryCreate => plain(Change::Create),
            ChangeRequest::RotateCa => plain(Change::ROTATE_CA),
            ChangeRequest::RotateCredential => plain(Change::RotateCredential),
            ChangeRequest::BackUpEtcd(name) => plain(Change::BackUpEtcd { name: name.clone() }),
            ChangeRequest::RestoreEtcd(name) => plain(Change::RestoreEtcd { name: name.clone() }),
            ChangeRequest::Delete => plain(Change::Delete),
            ChangeRequest::Resize(resize) => {
                let key = resize.node_group.as_deref().unwrap_or(DEFAULT_WORKER);
                let group = find_group(view, key)?;
                let control_plane = group.role == NodeGroupRole::ControlPlane;
                if control_plane {
                    rules::control_plane(resize.node_count, &view.cluster.spec, &mut problems);
                }
                let field = if control_plane {
                    "master_count"
                } else {
                    "node_count"
                };
                let overrides = &view.cluster.spec.overrides;
                overrides.check(field, resize.node_count, None, &mut problems);
                let (min, max) = (group.min_node_count, group.max_node_count);
                rules::counts(resize.node_count, min, max, &mut problems);
                let others: u32 = others(view, group.id);
                let most = self.0.config.max_nodes_per_cluster;
                if others.saturating_add(resize.node_count) > most {
                    let rule = format!("a cluster may have at most {most} nodes");
                    problems.add("node_count", resize.node_count, rule);
                }
                let remove = rules::members(group, &resize.nodes_to_remove, &mut problems);
                if remove.len() > group.node_count.max(resize.node_count) as usize {
                    let rule = format!("node group {} has only {}", group.name, group.node_count);
                    problems.add("nodes_to_remove", remove.len(), rule);
                }
                Meant {
                    more: Usage::of_nodes(
                        resize.node_count.saturating_sub(group.node_count).into(),
                        group.spec.size,
                    ),
                    control_plane,
                    ..plain(Change::Resize {
                        node_group: group.id,
                        node_count: resize.node_count,
                        remove,
                    })
                }
            }
            ChangeRequest::ReplaceNode(node) => {
                let (group, member) = find_member(view, node)?;
                Meant {
                    control_plane: group.role == NodeGroupRole::ControlPlane,
                    ..plain(Change::ReplaceNode {
                        node_group: group.id,
                        member,
                    })
                }
            }
            ChangeRequest::CreateNodeGroup(new) => {
                let group = self.new_group(draft, driver, new, quota, &mut problems)?;
                let labels = &group.spec.labels;
                let notes = match &new.labels {
                    Some(_) => rules::labels(&self.0.config, driver, labels, &mut problems),
                    None => Vec::new(),
                };
                Meant {
                    notes,
                    more: Usage {
                        node_groups: 1,
                        ..Usage::of_nodes(group.node_count.into(), group.spec.size)
                    },
                    wanted: Wanted {
                        node_group: Some(Box::new(group.clone())),
                        previous: None,
                    },
                    ..plain(Change::CreateNodeGroup {
                        node_group: group.id,
                    })
                }
            }
            ChangeRequest::UpdateNodeGroup { node_group, patch } => {
                let group = patched(find_group(view, node_group)?, patch, &mut problems);
                Meant {
                    control_plane: group.role == NodeGroupRole::ControlPlane,
                    wanted: Wanted {
                        node_group: Some(Box::new(group.clone())),
                        previous: None,
                    },
                    ..plain(Change::UpdateSettings {
                        node_group: group.id,
                    })
                }
            }
            ChangeRequest::DeleteNodeGroup(key) => {
                let group = find_group(view, key)?;
                if group.is_default {
                    let rule = "a default node group cannot be deleted";
                    problems.add("node_group", &group.name, rule);
                }
                plain(Change::DeleteNodeGroup {
                    node_group: group.id,
                })
            }
            ChangeRequest::Upgrade(upgrade) => upgrade_of(view, upgrade, target, &mut problems)?,
        };
        problems.into_result()?;
        Ok(meant)
    }

    fn new_group(
        &self,
        draft: &Draft,
        driver: &dyn ClusterDriver,
        new: &NewNodeGroup,
        quota: &Quota,
        problems: &mut Problems,
    ) -> Result<NodeGroup, Error> {
        let view = &draft.view;
        let cluster = &view.cluster;
        let coming = draft.operations.iter().filter(|o| o.is_active());
        let names = coming
            .filter_map(|o| o.wanted.node_group.as_deref())
            .chain(&view.node_groups);
        let groups = names
            .clone()
            .filter(|g| !view.node_groups.iter().any(|o| o.id == g.id));
        let count = (groups.count() + view.node_groups.len()) as u64;
        if names.clone().any(|group| group.name == new.name) {
            let name = new.name.to_string();
            let kind = "node group";
            return Err(Error::NameTaken { kind, name });
        }
        if matches!(
            new.name.as_str(),
            "master" | DEFAULT_WORKER | DEFAULT_MASTER
        ) {
            problems.add("name", &new.name, "is reserved");
        }
        if let Some(limit) = quota.node_groups_per_cluster
            && count >= limit
        {
            return Err(Error::QuotaReached {
                resource: "node groups per cluster",
                used: count,
                limit,
            });
        }
        let (min, max) = (new.min_node_count, new.max_node_count);
        rules::counts(new.node_count, min, max, problems);
        let most = self.0.config.max_nodes_per_cluster;
        let have: u32 = view.node_groups.iter().map(|g| g.node_count).sum();
        if have.saturating_add(new.node_count) > most {
            let rule = format!("a cluster may have at most {most} nodes");
            problems.add("node_count", new.node_count, rule);
        }
        let worker = NodeGroupRole::Worker;
        rules::node_settings(worker, &new.node_labels, &new.taints, problems);
        let server_type = new.server_type.unwrap_or(cluster.spec.server_type);
        rules::server_type(driver, view, server_type)?;
        let own = &cluster.labels.effective;
        let labels = Labels::over(own, new.labels.as_ref(), new.merge_labels);
        governed_group(&cluster.spec, new, problems);
        let rules = &cluster.spec.overrides;
        rules.check_labels(&labels.effective, own, problems);
        let flavor = new
            .flavor
            .clone()
            .unwrap_or_else(|| cluster.spec.flavor.clone());
        let now = self.0.clock.now();
        Ok(NodeGroup {
            id: NodeGroupId::from_uuid(random_uuid(&*self.0.clock)),
            cluster_id: cluster.id,
            name: new.name.clone(),
            role: worker,
            is_default: false,
            node_count: new.node_count,
            min_node_count: min,
            max_node_count: max,
            spec: NodeGroupSpec {
                size: self.size_of(&cluster.project_id, &flavor),
                flavor,
                image: new
                    .image
                    .clone()
                    .unwrap_or_else(|| cluster.spec.image.clone()),
                server_type,
                labels: labels.effective,
                node_labels: new.node_labels.clone(),
                taints: new.taints.clone(),
            },
            status: Status::CREATE_IN_PROGRESS,
            status_reason: None,
            members: Vec::new(),
            created_at: now,
            updated_at: now,
        })
    }
}

/// The cluster as it would be once the change has started.
pub(super) fn preview(view: &ClusterView, meant: &Meant) -> ClusterView {
    let mut view = view.clone();
    match (&meant.change, &meant.wanted.node_group) {
        (Change::CreateNodeGroup { .. }, Some(group)) => view.node_groups.push((**group).clone()),
        (Change::Resize { .. } | Change::UpdateSettings { .. }, wanted) => {
            for group in &mut view.node_groups {
                if let Change::Resize {
                    node_group,
                    node_count,
                    ..
                } = &meant.change
                    && group.id == *node_group
                {
                    group.node_count = *node_count;
                }
                if let Some(wanted) = wanted
                    && group.id == wanted.id
                {
                    group.adopt_settings(wanted);
                }
            }
        }
        _ => {}
    }
    view
}

/// The group of that name or id.
pub(super) fn find_group<'a>(view: &'a ClusterView, key: &str) -> Result<&'a NodeGroup, Error> {
    let mut groups = view.node_groups.iter();
    groups
        .find(|group| names_group(key, group))
        .ok_or_else(|| Error::not_found("node group", key))
}

fn others(view: &ClusterView, id: NodeGroupId) -> u32 {
    let groups = view.node_groups.iter().filter(|group| group.id != id);
    groups.map(|group| group.node_count).sum()
}

fn find_member<'a>(
    view: &'a ClusterView,
    node: &MemberRef,
) -> Result<(&'a NodeGroup, MemberId), Error> {
    let all = view
        .node_groups
        .iter()
        .flat_map(|group| group.members.iter().map(move |member| (group, member)));
    let found: Vec<_> = all.filter(|(_, member)| node.names(member)).collect();
    match found.as_slice() {
        [] => Err(Error::not_found("node", node.as_str())),
        [(group, member)] => Ok((group, member.id.clone())),
        several => Err(Error::Ambiguous {
            kind: "node",
            name: node.as_str().to_owned(),
            ids: several.iter().map(|(_, m)| m.id.to_string()).collect(),
        }),
    }
}

/// A group with a patch applied, checked as a whole.
pub(super) fn patched(
    group: &NodeGroup,
    patch: &super::NodeGroupPatch,
    problems: &mut Problems,
) -> NodeGroup {
    let mut group = group.clone();
    group.min_node_count = patch.min_node_count.unwrap_or(group.min_node_count);
    group.max_node_count = patch.max_node_count.unwrap_or(group.max_node_count);
    let (min, max) = (group.min_node_count, group.max_node_count);
    rules::counts(group.node_count, min, max, problems);
    let labels = patch.node_labels.clone().unwrap_or_default();
    let taints = patch.taints.clone().unwrap_or_default();
    rules::node_settings(group.role, &labels, &taints, problems);
    if let Some(labels) = &patch.node_labels {
        group.spec.node_labels.clone_from(labels);
    }
    if let Some(taints) = &patch.taints {
        group.spec.taints.clone_from(taints);
    }
    group
}

fn upgrade_of(
    view: &ClusterView,
    upgrade: &Upgrade,
    target: &UpgradeTarget,
    problems: &mut Problems,
) -> Result<Meant, Error> {
    let cluster = &view.cluster;
    let to = target
        .version
        .clone()
        .unwrap_or_else(|| cluster.kube_version.clone());
    let image = target
        .image
        .clone()
        .unwrap_or_else(|| cluster.spec.image.clone());
    let node_group = match upgrade.node_group.as_deref() {
        Some(key) => Some(find_group(view, key)?),
        None => None,
    };
    match node_group {
        Some(group) if group.role == NodeGroupRole::Worker => {
            rules::worker_version(&cluster.kube_version, &to, problems);
        }
        _ => rules::version_step(&cluster.kube_version, &to, problems),
    }
    if let Some(image) = &upgrade.image {
        let own = Some(cluster.spec.image.as_str());
        cluster.spec.overrides.check("image", image, own, problems);
    }
    if upgrade.template.is_none() && upgrade.kube_version.is_none() && upgrade.image.is_none() {
        problems.add("upgrade", "", "must name a template, a version or an image");
    }
    let max_batch_size = upgrade.max_batch_size.unwrap_or(1);
    if max_batch_size == 0 {
        problems.add("max_batch_size", 0, "must be at least 1");
    }
    Ok(Meant {
        control_plane: node_group.is_none(),
        on_done: OnDone {
            template_id: target.template,
        },
        wanted: Wanted::default(),
        notes: Vec::new(),
        more: Usage::default(),
        change: Change::Upgrade {
            to,
            image,
            node_group: node_group.map(|group| group.id),
            max_batch_size,
        },
    })
}
