//! What a template's owner and the project's limits allow.

use super::Engine;
use crate::driver::ClusterView;
use crate::error::Error;
use crate::id::ProjectId;
use crate::model::{
    ClusterTemplate, FlavorSize, Labels, NewCluster, NewNodeGroup, Overrides, Problems,
    TemplateSpec,
};
use crate::store::Quota;

/// Checks a request against its template's rules, and says what its requester should know.
pub(super) fn governed(
    template: &ClusterTemplate,
    new: &NewCluster,
    problems: &mut Problems,
    warnings: &mut Vec<String>,
) {
    if let Some(deprecation) = &template.deprecation {
        let successor = deprecation
            .successor
            .map(|id| format!("; use template {id}"))
            .unwrap_or_default();
        let why = format!("is deprecated: {}{successor}", deprecation.message);
        if deprecation.closed {
            problems.add("template", &template.name, why);
        } else {
            warnings.push(format!("template {} {why}", template.name));
        }
    }
    let (spec, rules) = (&template.spec, &template.spec.overrides);
    rules.check("master_count", new.master_count, None, problems);
    rules.check("node_count", new.node_count, None, problems);
    if let Some(timeout) = new.create_timeout {
        rules.check("create_timeout", timeout.as_secs(), None, problems);
    }
    let texts = [
        ("keypair", &new.keypair, &spec.keypair),
        ("master_flavor", &new.master_flavor, &spec.master_flavor),
        ("fixed_network", &new.fixed_network, &spec.fixed_network),
        ("fixed_subnet", &new.fixed_subnet, &spec.fixed_subnet),
    ];
    for (field, given, own) in texts {
        if let Some(given) = given {
            rules.check(field, given, own.as_deref(), problems);
        }
    }
    if let Some(flavor) = &new.flavor {
        rules.check("flavor", flavor, Some(&spec.flavor), problems);
    }
    if let Some(enabled) = new.master_lb_enabled {
        let own = spec.master_lb.enabled.to_string();
        rules.check("master_lb_enabled", enabled, Some(&own), problems);
    }
    let labels = Labels::over(&spec.labels, new.labels.as_ref(), new.merge_labels);
    rules.check_labels(&labels.effective, &spec.labels, problems);
}

/// Checks a new node group against the rules that its cluster has kept from its template. Its labels are judged by
/// [`Overrides::check_labels`].
pub(super) fn governed_group(spec: &TemplateSpec, new: &NewNodeGroup, problems: &mut Problems) {
    let rules: &Overrides = &spec.overrides;
    rules.check("node_count", new.node_count, None, problems);
    if let Some(flavor) = &new.flavor {
        rules.check("flavor", flavor, Some(&spec.flavor), problems);
    }
    if let Some(image) = &new.image {
        rules.check("image", image, Some(&spec.image), problems);
    }
    if let Some(server_type) = new.server_type {
        let own = spec.server_type.as_str();
        rules.check("server_type", server_type.as_str(), Some(own), problems);
    }
}

impl Engine {
    /// What a flavor has, where somebody knows.
    pub(super) fn size_of(&self, project: &ProjectId, flavor: &str) -> Option<FlavorSize> {
        self.0.flavors.as_ref()?.size(project, flavor)
    }

    /// Fills in the sizes of groups whose flavor was not known when they were accepted.
    pub(super) fn learn_sizes(&self, view: &mut ClusterView) {
        let project = view.cluster.project_id.clone();
        for group in &mut view.node_groups {
            if group.spec.size.is_none() {
                group.spec.size = self.size_of(&project, &group.spec.flavor);
            }
        }
    }

    /// Where a project has a limit of vCPUs or memory, the sizes of all its flavors must be known.
    pub(super) fn sizes_known(&self, view: &ClusterView, quota: &Quota) -> Result<(), Error> {
        if quota.vcpus.is_none() && quota.ram_mib.is_none() {
            return Ok(());
        }
        let mut problems = Problems::new();
        for group in view.node_groups.iter().filter(|g| g.spec.size.is_none()) {
            let rule = format!(
                "has no known size, which the project's quota needs (node group {})",
                group.name
            );
            problems.add("flavor", &group.spec.flavor, rule);
        }
        Ok(problems.into_result()?)
    }
}
