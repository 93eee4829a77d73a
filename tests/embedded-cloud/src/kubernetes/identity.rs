//! Who asks, and whether they may: identities of client certificates, and RBAC over the stored
//! roles and bindings with the Node authorizer beside it.

use serde_json::Value;

use super::error::{ApiError, qualified};
use super::store::{Key, Store};

/// The user of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
}

impl Identity {
    pub(crate) fn anonymous() -> Self {
        Self {
            user: "system:anonymous".into(),
            groups: vec!["system:unauthenticated".into()],
        }
    }

    /// A user in a group, authenticated.
    pub(crate) fn new(user: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|g| (*g).to_owned()).collect();
        groups.push("system:authenticated".into());
        Self {
            user: user.into(),
            groups,
        }
    }

    /// The subject of a client certificate: CN is the user, every O a group.
    pub(crate) fn of_certificate(der: &[u8]) -> Option<Self> {
        let (_, cert) = x509_parser::parse_x509_certificate(der).ok()?;
        let user = cert
            .subject()
            .iter_common_name()
            .next()?
            .as_str()
            .ok()?
            .to_owned();
        let groups: Vec<&str> = cert
            .subject()
            .iter_organization()
            .filter_map(|o| o.as_str().ok())
            .collect();
        Some(Self::new(&user, &groups))
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// The node's name, for an identity of a kubelet.
    pub(crate) fn node(&self) -> Option<&str> {
        self.user
            .strip_prefix("system:node:")
            .filter(|_| self.is_in("system:nodes"))
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// For lists and watches of a node: the node its field selector names.
    pub(crate) selected: &'a str,
}

/// Allows, or gives the 403 with the sentence of a real server.
pub(crate) fn authorize(
    store: &Store,
    who: &Identity,
    what: &Attributes<'_>,
) -> Result<(), ApiError> {
    let allowed = who.is_in("system:masters")
        || who.node().is_some_and(|node| node_may(node, what))
        || by_bindings(store, who, what);
    if allowed {
        return Ok(());
    }
    let resource = match what.subresource {
        "" => what.plural.to_owned(),
        sub => format!("{}/{sub}", what.plural),
    };
    let named = if what.name.is_empty() {
        String::new()
    } else {
        format!(" \"{}\"", what.name)
    };
    let scope = match what.namespace {
        "" => "at the cluster scope".to_owned(),
        ns => format!("in the namespace \"{ns}\""),
    };
    Err(ApiError::new(
        403,
        "Forbidden",
        format!(
            "{}{named} is forbidden: User \"{}\" cannot {} resource \"{resource}\" in API group \"{}\" {scope}",
            qualified(what.group, what.plural),
            who.user,
            what.verb,
            what.group,
        ),
    ))
}

/// The Node authorizer, in short: a node sees and writes what is its own.
fn node_may(node: &str, what: &Attributes<'_>) -> bool {
    let read = matches!(what.verb, "get" | "list" | "watch");
    let own = what.name == node || what.selected == node;
    match (what.group, what.plural) {
        ("", "nodes") => what.verb == "create" || own && what.verb != "delete",
        ("", "pods") => {
            what.verb == "create"
                || what.selected == node
                || !what.name.is_empty() && what.verb != "update"
        }
        ("", "services" | "endpoints")
        | ("storage.k8s.io", "csidrivers")
        | ("node.k8s.io", "runtimeclasses") => read,
        ("certificates.k8s.io", "certificatesigningrequests") => {
            what.subresource.is_empty() && (read || what.verb == "create")
        }
        ("coordination.k8s.io", "leases") => {
            what.namespace == "kube-node-lease" && (what.verb == "create" || what.name == node)
        }
        ("storage.k8s.io", "csinodes") => what.verb == "create" || own,
        ("" | "events.k8s.io", "events") => !read,
        _ => false,
    }
}

fn by_bindings(store: &Store, who: &Identity, what: &Attributes<'_>) -> bool {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let role_allows = |role: &Value, namespace: &str| {
        let name = role["name"].as_str().unwrap_or_default();
        let key = match role["kind"].as_str() {
            Some("ClusterRole") => Key::new(&qualified(RBAC, "clusterroles"), "", name),
            _ => Key::new(&qualified(RBAC, "roles"), namespace, name),
        };
        store.get(&key).is_some_and(|r| {
            r["rules"]
                .as_array()
                .is_some_and(|l| l.iter().any(|r| rule_allows(r, what)))
        })
    };
    let bound = |binding: &Value| {
        binding["subjects"]
            .as_array()
            .is_some_and(|s| s.iter().any(|subject| is_subject(who, subject)))
    };
    let cluster = store.list(&qualified(RBAC, "clusterrolebindings"), None).1;
    if cluster
        .iter()
        .any(|b| bound(b) && role_allows(&b["roleRef"], ""))
    {
        return true;
    }
    if what.namespace.is_empty() {
        return false;
    }
    let local = store
        .list(&qualified(RBAC, "rolebindings"), Some(what.namespace))
        .1;
    local
        .iter()
        .any(|b| bound(b) && role_allows(&b["roleRef"], what.namespace))
}

fn is_subject(who: &Identity, subject: &Value) -> bool {
    let name = subject["name"].as_str().unwrap_or_default();
    match subject["kind"].as_str() {
        Some("User") => who.user == name,
        Some("Group") => who.is_in(name),
        Some("ServiceAccount") => {
            let namespace = subject["namespace"].as_str().unwrap_or_default();
            who.user == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn rule_allows(rule: &Value, what: &Attributes<'_>) -> bool {
    let has = |field: &str, wanted: &str| {
        rule[field]
            .as_array()
            .is_some_and(|l| l.iter().any(|v| v == "*" || v == wanted))
    };
    let resource = match what.subresource {
        "" => what.plural.to_owned(),
        sub => format!("{}/{sub}", what.plural),
    };
    let names = rule["resourceNames"].as_array();
    has("verbs", what.verb)
        && has("apiGroups", what.group)
        && has("resources", &resource)
        && names.is_none_or(|n| n.is_empty() || n.iter().any(|v| v == what.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asks<'a>(verb: &'a str, plural: &'a str, name: &'a str) -> Attributes<'a> {
        Attributes {
            verb,
            group: "",
            plural,
            subresource: "",
            namespace: "",
            name,
            selected: "",
        }
    }

    #[test]
    fn a_node_sees_only_itself() {
        let store = Store::open(None).unwrap();
        let node = Identity::new("system:node:n1", &["system:nodes"]);
        authorize(&store, &node, &asks("get", "nodes", "n1")).unwrap();
        let err = authorize(&store, &node, &asks("get", "nodes", "n2")).unwrap_err();
        assert_eq!(err.code, 403);
        assert!(
            err.message
                .starts_with("nodes \"n2\" is forbidden: User \"system:node:n1\" cannot get"),
            "{}",
            err.message
        );
        assert!(authorize(&store, &node, &asks("list", "secrets", "")).is_err());
        // The user name alone, without the group, is nothing.
        assert!(
            authorize(
                &store,
                &Identity::new("system:node:n1", &[]),
                &asks("get", "nodes", "n1")
            )
            .is_err()
        );
    }

    #[test]
    fn a_binding_can_be_taken_away() {
        let store = Store::open(None).unwrap();
        let put = |table: &str, name: &str, object: Value| {
            store
                .edit(
                    &Key::new(&qualified("rbac.authorization.k8s.io", table), "", name),
                    |_| Ok(Some(object)),
                )
                .unwrap();
        };
        put(
            "clusterroles",
            "cluster-admin",
            json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}),
        );
        put(
            "clusterrolebindings",
            "b",
            json!({
            "subjects": [{"kind": "Group", "name": "kubeadm:cluster-admins"}],
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}}),
        );
        let admin = Identity::new("admin", &["kubeadm:cluster-admins"]);
        authorize(&store, &admin, &asks("delete", "nodes", "n2")).unwrap();
        store
            .edit(
                &Key::new("clusterrolebindings.rbac.authorization.k8s.io", "", "b"),
                |_| Ok(None),
            )
            .unwrap();
        assert!(authorize(&store, &admin, &asks("delete", "nodes", "n2")).is_err());
    }
}
