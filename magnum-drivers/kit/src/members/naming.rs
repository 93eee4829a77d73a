//! Names of everything that is made for a cluster. All are derived from ids, so that a lost answer can be found again by name.

use magnum_core::{Cluster, ClusterId, ClusterName, MemberId, NodeGroupName};

/// The longest server name that Heat takes (its `max_server_name_length`, which cannot be raised).
pub const SERVER_NAME_MAX: usize = 53;

/// What the cluster's part of a name may take, so that the longest group name and a member id still fit.
const LABEL_MAX: usize = SERVER_NAME_MAX - 24 - 1 - MemberId::LENGTH - 1;

/// Derives names from a cluster's name and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    label: String,
    cluster: ClusterId,
}

impl Names {
    /// The names of a cluster.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
        Self::new(&cluster.name, cluster.id)
    }

    /// The names of a cluster of that name and id.
    #[must_use]
    pub fn new(name: &ClusterName, cluster: ClusterId) -> Self {
        Self {
            label: name.to_dns_label(LABEL_MAX),
            cluster,
        }
    }

    /// The cluster's part of every name: a DNS label of at most 22 characters.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The mark that everything made for the cluster carries: `magnum-cluster-<uuid>`.
    #[must_use]
    pub fn mark(&self) -> String {
        format!("magnum-cluster-{}", self.cluster)
    }

    /// The server's and node's name: `<cluster>-<group>-<member>`, at most 53 characters, a DNS label (rule `TV-06`).
    #[must_use]
    pub fn server(&self, group: &NodeGroupName, member: &MemberId) -> String {
        format!("{}-{group}-{member}", self.label)
    }

    /// The stack with network, security groups and load balancer.
    #[must_use]
    pub fn infrastructure_stack(&self) -> String {
        format!("{}-{}-infra", self.label, self.short_id())
    }

    /// One stack of a node group; groups are spread over several when they are large.
    #[must_use]
    pub fn group_stack(&self, group: &NodeGroupName, shard: u32) -> String {
        format!("{}-{}-{group}-{shard}", self.label, self.short_id())
    }

    /// A resource of the infrastructure, such as `prod-1a2b3c4d-network`.
    #[must_use]
    pub fn resource(&self, what: &str) -> String {
        format!("{}-{}-{what}", self.label, self.short_id())
    }

    /// The cluster's application credential; it carries the whole id since its name is the only mark it can have.
    #[must_use]
    pub fn credential(&self, generation: u32) -> String {
        format!("{}-{generation}", self.mark())
    }

    /// The name under which the cloud controller knows the cluster; its load balancers begin with `kube_service_<this>_`.
    #[must_use]
    pub fn cloud_controller(&self) -> String {
        self.cluster.to_string()
    }

    fn short_id(&self) -> String {
        self.cluster.to_string().chars().take(8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> Names {
        Names::new(
            &ClusterName::new(name).unwrap(),
            "1a2b3c4d-0000-4000-8000-000000000001".parse().unwrap(),
        )
    }

    #[test]
    fn tv_06_server_names_are_dns_labels_of_at_most_53_characters() {
        let group = NodeGroupName::new("a".repeat(24)).unwrap();
        let member = MemberId::new("7f2kq");
        for name in [
            "My_Cluster.Prod",
            &"x".repeat(240),
            "a",
            "a-b-c-d-e-f-g-h-i-j-k-l-m-n",
        ] {
            let server = names(name).server(&group, &member);
            assert!(server.len() <= SERVER_NAME_MAX, "{server}");
            assert!(!server.contains("--") && !server.contains('.'), "{server}");
            assert!(server.ends_with("-7f2kq"));
        }
        let worker = NodeGroupName::new("default-worker").unwrap();
        assert_eq!(
            names("My_Cluster.Prod").server(&worker, &member),
            "my-cluster-prod-default-worker-7f2kq"
        );
    }

    #[test]
    fn stacks_of_clusters_with_one_label_differ_by_id() {
        assert_eq!(names("prod").infrastructure_stack(), "prod-1a2b3c4d-infra");
        let worker = NodeGroupName::new("default-worker").unwrap();
        assert_eq!(
            names("prod").group_stack(&worker, 2),
            "prod-1a2b3c4d-default-worker-2"
        );
        assert_eq!(
            names("prod").mark(),
            "magnum-cluster-1a2b3c4d-0000-4000-8000-000000000001"
        );
    }
}
