//! Who may do what.

use std::fmt::Debug;

use super::RequestContext;
use crate::driver::ChangeKind;
use crate::id::ProjectId;

/// What a caller wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Deed {
    /// Read templates.
    ReadTemplates,
    /// Make a template.
    CreateTemplate,
    /// Change or remove a template.
    ChangeTemplate,
    /// Make a template public or hidden.
    PublishTemplate,
    /// Read clusters, node groups, operations and events.
    ReadClusters,
    /// Change a cluster.
    Change(ChangeKind),
    /// Report a cluster's health from inside it.
    ReportHealth,
    /// End an operation early.
    Cancel,
    /// Read a cluster's secrets.
    ReadSecrets,
    /// Read quotas of the own project.
    ReadQuota,
    /// Set quotas.
    SetQuota,
}

/// Decides who may do what with objects that the caller can see. What the caller cannot see looks absent before this is asked.
pub trait Policy: Debug + Send + Sync + 'static {
    /// Whether `cx` may do `deed` to an object of project `owner`.
    fn allows(&self, cx: &RequestContext, deed: Deed, owner: &ProjectId) -> bool;
}

/// Magnum's defaults: operators may do everything; members of the owning project read and write; readers read; publishing and quotas are the operators'.
#[derive(Debug, Default, Clone, Copy)]
pub struct MagnumPolicy;

impl Policy for MagnumPolicy {
    fn allows(&self, cx: &RequestContext, deed: Deed, owner: &ProjectId) -> bool {
        if cx.is_admin {
            return true;
        }
        let own = *owner == cx.project_id;
        let member = own && cx.has_role("member");
        match deed {
            Deed::ReadTemplates => member || cx.has_role("reader"),
            Deed::ReadClusters | Deed::ReadQuota => member || (own && cx.has_role("reader")),
            Deed::CreateTemplate
            | Deed::ChangeTemplate
            | Deed::Change(_)
            | Deed::ReportHealth
            | Deed::Cancel
            | Deed::ReadSecrets => member,
            Deed::PublishTemplate | Deed::SetQuota => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_01_magnums_defaults() {
        let policy = MagnumPolicy;
        let member = RequestContext::new("a", "u");
        let reader = RequestContext::new("a", "u").with_roles(["reader"]);
        let (own, foreign) = (ProjectId::new("a"), ProjectId::new("b"));
        let change = Deed::Change(ChangeKind::Resize);
        assert!(policy.allows(&member, change, &own));
        assert!(!policy.allows(&reader, change, &own));
        assert!(policy.allows(&reader, Deed::ReadClusters, &own));
        assert!(policy.allows(&member, Deed::ReadTemplates, &foreign));
        assert!(!policy.allows(&member, Deed::ChangeTemplate, &foreign));
        assert!(!policy.allows(&member, Deed::PublishTemplate, &own));
        assert!(policy.allows(&member.as_admin(), Deed::PublishTemplate, &foreign));
    }
}
