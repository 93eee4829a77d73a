//! Profiles: what a certificate is for decides everything in it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::csr::Csr;
use crate::name::dns_name;
use crate::{AltNames, AuthorityKind, Error, Subject};

/// Group that kubeadm binds to `cluster-admin`; the binding can be deleted, so such a certificate can be cut off.
pub const ADMIN_GROUP: &str = "kubeadm:cluster-admins";
/// Group that the API server lets pass without asking RBAC; cannot be revoked.
pub const BREAK_GLASS_GROUP: &str = "system:masters";
/// Group of [`Profile::Viewer`]; the cluster needs a `ClusterRoleBinding` of it to the cluster role `view`.
pub const VIEWER_GROUP: &str = "magnum:viewers";
/// Group of kubelets.
pub const NODES_GROUP: &str = "system:nodes";
/// Prefix of a kubelet's user name.
pub const NODE_USER_PREFIX: &str = "system:node:";

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What a certificate is for. The profile decides issuer, subject, usages and longest life; a signing request adds its
/// key, and of the profile's names those that it wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "profile")]
#[non_exhaustive]
pub enum Profile {
    /// Administrator by RBAC (`O=kubeadm:cluster-admins`). Default 24 hours, at most 90 days.
    Admin {
        /// User name, shown in audit logs.
        user: String,
    },
    /// Administrator past RBAC (`O=system:masters`), for emergencies. Default 2 hours, at most 7 days.
    BreakGlass {
        /// User name, shown in audit logs.
        user: String,
    },
    /// Reader (`O=magnum:viewers`). Default 24 hours, at most 90 days.
    Viewer {
        /// User name, shown in audit logs.
        user: String,
    },
    /// A user with groups of the embedder's choice; none may begin with `system:` or `kubeadm:`. Default 24 hours, at most 90 days.
    User {
        /// User name.
        user: String,
        /// Groups.
        groups: Vec<String>,
    },
    /// A kubelet's client identity, bound to one node: also what a node joins with. Default 24 hours, at most one year.
    KubeletClient {
        /// Node name.
        node: String,
    },
    /// A kubelet's serving certificate. Default and at most one year.
    KubeletServing {
        /// Node name.
        node: String,
        /// Addresses and names of the node.
        names: AltNames,
    },
    /// The API server's serving certificate; see [`crate::api_server_names`]. Default one year.
    ApiServer {
        /// Its names.
        names: AltNames,
    },
    /// How the API server talks to kubelets. Default one year.
    ApiServerKubeletClient,
    /// How the API server talks to etcd. Default one year.
    ApiServerEtcdClient,
    /// An etcd member towards clients. Default one year.
    EtcdServer {
        /// Member name.
        member: String,
        /// Its names; `localhost`, `127.0.0.1`, `::1` and the member's name are added.
        names: AltNames,
    },
    /// An etcd member towards other members. Default one year.
    EtcdPeer {
        /// Member name.
        member: String,
        /// Its names; `localhost`, `127.0.0.1`, `::1` and the member's name are added.
        names: AltNames,
    },
    /// Another client of etcd (health check, backup). Default one year.
    EtcdClient {
        /// Client name.
        name: String,
    },
    /// The front proxy towards aggregated API servers. Default one year.
    FrontProxyClient,
    /// kube-controller-manager towards the API server. Default one year.
    ControllerManager,
    /// kube-scheduler towards the API server. Default one year.
    Scheduler,
}

/// What a profile comes to.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) authority: AuthorityKind,
    pub(crate) subject: Subject,
    pub(crate) names: AltNames,
    pub(crate) server: bool,
    pub(crate) client: bool,
    pub(crate) default_life: Duration,
    pub(crate) longest_life: Duration,
}

impl Profile {
    /// The names of the profiles that are for people.
    pub(crate) const PEOPLE: [&'static str; 4] = ["admin", "break-glass", "viewer", "user"];

    /// The profile's name in kebab case, for logs and inventories.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Admin { .. } => "admin",
            Self::BreakGlass { .. } => "break-glass",
            Self::Viewer { .. } => "viewer",
            Self::User { .. } => "user",
            Self::KubeletClient { .. } => "kubelet-client",
            Self::KubeletServing { .. } => "kubelet-serving",
            Self::ApiServer { .. } => "api-server",
            Self::ApiServerKubeletClient => "api-server-kubelet-client",
            Self::ApiServerEtcdClient => "api-server-etcd-client",
            Self::EtcdServer { .. } => "etcd-server",
            Self::EtcdPeer { .. } => "etcd-peer",
            Self::EtcdClient { .. } => "etcd-client",
            Self::FrontProxyClient => "front-proxy-client",
            Self::ControllerManager => "controller-manager",
            Self::Scheduler => "scheduler",
        }
    }

    /// Which authority issues it.
    #[must_use]
    pub const fn authority(&self) -> AuthorityKind {
        match self {
            Self::ApiServerEtcdClient
            | Self::EtcdServer { .. }
            | Self::EtcdPeer { .. }
            | Self::EtcdClient { .. } => AuthorityKind::Etcd,
            Self::FrontProxyClient => AuthorityKind::FrontProxy,
            _ => AuthorityKind::Kubernetes,
        }
    }

    /// Whether it is a person's certificate, which a user may ask for; the others belong to components.
    #[must_use]
    pub fn is_for_people(&self) -> bool {
        Self::PEOPLE.contains(&self.name())
    }

    /// The profile that a request asks for by its subject, for interfaces where only the request is sent: `system:masters`
    /// is break-glass, `kubeadm:cluster-admins` is admin, `system:nodes` is a node, anything else an ordinary user.
    /// Whether the caller may have it is the policy's question.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] when groups of different rank are mixed; [`Error::BadName`] when there is no common name.
    pub fn requested_by(csr: &Csr) -> Result<Self, Error> {
        let groups = csr.organizations();
        let user = csr.common_name().unwrap_or_default().to_owned();
        if user.is_empty() {
            return Err(Error::BadName {
                name: String::new(),
                reason: "the request's subject has no common name",
            });
        }
        let alone = |group: &str| groups.len() == 1 && groups.iter().any(|have| have == group);
        let node = user.strip_prefix(NODE_USER_PREFIX).map(str::to_owned);
        match node {
            Some(node) if alone(NODES_GROUP) => Ok(Self::KubeletClient { node }),
            _ if alone(BREAK_GLASS_GROUP) => Ok(Self::BreakGlass { user }),
            _ if alone(ADMIN_GROUP) => Ok(Self::Admin { user }),
            _ if alone(VIEWER_GROUP) => Ok(Self::Viewer { user }),
            _ => {
                let profile = Self::User {
                    user,
                    groups: groups.to_vec(),
                };
                profile.grant()?;
                Ok(profile)
            }
        }
    }

    /// Checks the profile's own values.
    ///
    /// # Errors
    /// [`Error::BadName`] or [`Error::NotAllowed`], as signing would give.
    pub fn validate(&self) -> Result<(), Error> {
        self.grant().map(|_| ())
    }

    pub(crate) fn grant(&self) -> Result<Grant, Error> {
        let none = AltNames::new;
        let people = |user: &str, groups: &[&str], names, life, longest| {
            if user.starts_with("system:") {
                return Err(Error::NotAllowed {
                    reason: format!("user names that begin with \"system:\": {user:?}"),
                });
            }
            Ok((subject(user, groups)?, names, false, true, life, longest))
        };
        let year = DAY * 365;
        let (subject, names, server, client, default_life, longest_life) = match self {
            Self::Admin { user } => people(user, &[ADMIN_GROUP], none(), DAY, DAY * 90)?,
            Self::BreakGlass { user } => {
                people(user, &[BREAK_GLASS_GROUP], none(), HOUR * 2, DAY * 7)?
            }
            Self::Viewer { user } => people(user, &[VIEWER_GROUP], none(), DAY, DAY * 90)?,
            Self::User { user, groups } => {
                let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
                if let Some(group) = groups
                    .iter()
                    .find(|g| g.starts_with("system:") || g.starts_with("kubeadm:"))
                {
                    return Err(Error::NotAllowed {
                        reason: format!(
                            "group {group:?} is reserved and not for user certificates"
                        ),
                    });
                }
                people(user, &groups, none(), DAY, DAY * 90)?
            }
            Self::KubeletClient { node } => (node_subject(node)?, none(), false, true, DAY, year),
            Self::KubeletServing { node, names } => {
                let names = names.clone().with(&node_name(node)?)?;
                (node_subject(node)?, names, true, false, year, year)
            }
            Self::ApiServer { names } => (
                subject("kube-apiserver", &[])?,
                names.clone(),
                true,
                false,
                year,
                DAY * 3650,
            ),
            Self::ApiServerKubeletClient => {
                let subject = subject("kube-apiserver-kubelet-client", &[ADMIN_GROUP])?;
                (subject, none(), false, true, year, DAY * 3650)
            }
            Self::EtcdServer { member, names } | Self::EtcdPeer { member, names } => {
                let names = names.clone().with_all([
                    "localhost",
                    "127.0.0.1",
                    "::1",
                    &node_name(member)?,
                ])?;
                (subject(member, &[])?, names, true, true, year, DAY * 3650)
            }
            Self::ApiServerEtcdClient => component("kube-apiserver-etcd-client")?,
            Self::EtcdClient { name } => component(name)?,
            Self::FrontProxyClient => component("front-proxy-client")?,
            Self::ControllerManager => component("system:kube-controller-manager")?,
            Self::Scheduler => component("system:kube-scheduler")?,
        };
        if server && names.is_empty() {
            return Err(Error::BadName {
                name: String::new(),
                reason: "a server certificate needs at least one name",
            });
        }
        Ok(Grant {
            authority: self.authority(),
            subject,
            names,
            server,
            client,
            default_life,
            longest_life,
        })
    }
}

type Parts = (Subject, AltNames, bool, bool, Duration, Duration);

/// A client without names or groups.
fn component(name: &str) -> Result<Parts, Error> {
    Ok((
        subject(name, &[])?,
        AltNames::new(),
        false,
        true,
        DAY * 365,
        DAY * 3650,
    ))
}

fn subject(name: &str, groups: &[&str]) -> Result<Subject, Error> {
    Subject::new(name, groups.iter().copied())
}

fn node_subject(node: &str) -> Result<Subject, Error> {
    subject(
        &format!("{NODE_USER_PREFIX}{}", node_name(node)?),
        &[NODES_GROUP],
    )
}

fn node_name(name: &str) -> Result<String, Error> {
    if name.starts_with('*') || name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(Error::BadName {
            name: name.to_owned(),
            reason: "a node's name is a lower-case DNS name",
        });
    }
    dns_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_08_user_profiles_cannot_claim_system_identities() {
        let user = |user: &str, group: &str| Profile::User {
            user: user.into(),
            groups: vec![group.into()],
        };
        assert!(user("alice", "team").validate().is_ok());
        for (name, group) in [
            ("alice", "system:masters"),
            ("alice", "system:nodes"),
            ("alice", "kubeadm:cluster-admins"),
            ("system:admin", "t"),
        ] {
            assert!(
                matches!(user(name, group).validate(), Err(Error::NotAllowed { .. })),
                "{name} {group}"
            );
        }
        let admin = Profile::Admin {
            user: "system:kube-scheduler".into(),
        };
        assert!(matches!(admin.validate(), Err(Error::NotAllowed { .. })));
    }

    #[test]
    fn node_names_are_checked() {
        for bad in ["", "Node", "a/b", "*.x", "a b", "a\u{0}"] {
            let profile = Profile::KubeletClient { node: bad.into() };
            assert!(
                matches!(profile.validate(), Err(Error::BadName { .. })),
                "{bad:?}"
            );
        }
        assert!(
            Profile::KubeletClient {
                node: "k8s-pool-7f2kq".into()
            }
            .validate()
            .is_ok()
        );
    }
}
