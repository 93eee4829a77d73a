//! Ready-made kubeconfigs from a cluster's authorities.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::bundle::{DISCOVERY_PATH, NodeFile};
use crate::kubeconfig::{ApiEndpoint, Kubeconfig, UserAuth};
use crate::{AuthorityKind, ClusterPki, Error, KeyAlgorithm, Profile};

impl ClusterPki {
    /// The endpoint that trusts this cluster's Kubernetes authority, both generations of it during a rotation.
    /// `control_plane_endpoint` is `host:port`, IPv6 in brackets.
    #[must_use]
    pub fn endpoint(&self, control_plane_endpoint: &str) -> ApiEndpoint {
        ApiEndpoint::new(
            control_plane_endpoint,
            self.trust_bundle(AuthorityKind::Kubernetes),
        )
    }

    /// A kubeconfig with a fresh client certificate of `profile` (P-256). `cluster` names the cluster in the file; the user's entry
    /// is named after the certificate's common name, slashes replaced by hyphens. Life as in [`crate::Authority::issue`]: `None` is the profile's default.
    ///
    /// # Errors
    /// As [`crate::Authority::issue`] and [`Kubeconfig::single`]; [`Error::NotAllowed`] for a profile that is no client of the Kubernetes API.
    pub fn kubeconfig(
        &self,
        cluster: &str,
        endpoint: &ApiEndpoint,
        profile: &Profile,
        life: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Kubeconfig, Error> {
        let grant = profile.grant()?;
        if grant.authority != AuthorityKind::Kubernetes || !grant.client {
            return Err(Error::NotAllowed {
                reason: format!(
                    "profile {:?} is no client of the Kubernetes API",
                    profile.name()
                ),
            });
        }
        let credential = self.issue(profile, KeyAlgorithm::EcdsaP256, life, now)?;
        // A slash would end the name in kubectl's own commands.
        let user = grant.subject.common_name().replace('/', "-");
        Kubeconfig::assemble(cluster, endpoint, &user, &UserAuth::from(&credential))
    }

    /// The discovery kubeconfig with which `node` joins: an embedded client certificate that is bound to the node's name, valid for
    /// `life` from `now`. It needs no bootstrap token, works whenever it is rendered, and lets a thief act as that one node only.
    ///
    /// # Errors
    /// As [`ClusterPki::kubeconfig`].
    pub fn discovery_file(
        &self,
        control_plane_endpoint: &str,
        node: &str,
        life: Duration,
        now: DateTime<Utc>,
    ) -> Result<NodeFile, Error> {
        let profile = Profile::KubeletClient {
            node: node.to_owned(),
        };
        let endpoint = self.endpoint(control_plane_endpoint);
        let config = self.kubeconfig("kubernetes", &endpoint, &profile, Some(life), now)?;
        Ok(NodeFile::private(DISCOVERY_PATH, config.to_yaml()?))
    }
}
