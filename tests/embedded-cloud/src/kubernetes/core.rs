//! What all requests to one cluster share.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use ipnet::Ipv4Net;
use serde_json::{Value, json};

use super::authority::{Authority, CaMaterial};
use super::error::ApiError;
use super::identity::Identity;
use super::resources::Resources;
use super::store::{Key, Store};

/// State of one API server.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) authority: Authority,
    resources: RwLock<Resources>,
    tokens: Mutex<HashMap<String, Identity>>,
    version: RwLock<String>,
    services: Ipv4Net,
    last_service: AtomicU32,
}

impl Core {
    /// `version` is `vX.Y.Z`; `services` the service range.
    pub(crate) fn new(
        material: &CaMaterial,
        version: &str,
        services: Ipv4Net,
        journal: Option<&Path>,
    ) -> Result<Self, String> {
        let authority = Authority::new(&material.ca_cert, &material.ca_key)?;
        let store = Store::open(journal)?;
        let mut resources = Resources::builtin();
        for definition in store
            .list("customresourcedefinitions.apiextensions.k8s.io", None)
            .1
        {
            resources.add_definition(&definition);
        }
        let taken = u32::try_from(store.count("services")).unwrap_or(0);
        Ok(Self {
            store,
            authority,
            resources: RwLock::new(resources),
            tokens: Mutex::default(),
            version: RwLock::new(version.to_owned()),
            services,
            last_service: AtomicU32::new(10 + taken * 2),
        })
    }

    pub(crate) fn version(&self) -> String {
        self.version
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The version the API server reports from now on (a newer control plane joined).
    pub(crate) fn set_version(&self, version: &str) {
        version.clone_into(&mut self.version.write().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn with_resources<T>(&self, use_it: impl FnOnce(&mut Resources) -> T) -> T {
        use_it(
            &mut self
                .resources
                .write()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    pub(crate) fn next_service_address(&self) -> String {
        let host = self.last_service.fetch_add(1, Ordering::Relaxed);
        let size = 1u32
            .checked_shl(u32::from(32 - self.services.prefix_len()))
            .unwrap_or(u32::MAX);
        Ipv4Addr::from(u32::from(self.services.network()) + host % size.max(2)).to_string()
    }

    /// Makes a bearer token for an identity; it lives as long as the process.
    pub(crate) fn new_token(&self, identity: Identity) -> String {
        let token = format!("sim.{}", uuid::Uuid::new_v4().simple());
        self.tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(token.clone(), identity);
        token
    }

    pub(crate) fn token(&self, token: &str) -> Option<Identity> {
        self.tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(token)
            .cloned()
    }

    /// Creates an object if it is not there, past all admission: what kubeadm and controllers make.
    pub(crate) fn ensure(
        &self,
        table: &str,
        namespace: &str,
        name: &str,
        object: &Value,
    ) -> Result<(), ApiError> {
        self.store.edit(&Key::new(table, namespace, name), |old| {
            Ok(Some(match old {
                Some(old) => old.clone(),
                None => self.finish(table, namespace, name, object),
            }))
        })?;
        Ok(())
    }

    fn finish(&self, table: &str, namespace: &str, name: &str, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(r) = self.with_resources(|r| r.by_table(table)) {
            object["apiVersion"] = r.api_version().into();
            object["kind"] = r.kind.clone().into();
        }
        let meta = &mut object["metadata"];
        meta["name"] = name.into();
        if !namespace.is_empty() {
            meta["namespace"] = namespace.into();
        }
        meta["uid"] = uuid::Uuid::new_v4().to_string().into();
        meta["creationTimestamp"] = super::answer::now().into();
        if object["spec"].is_object() && object["metadata"]["generation"].is_null() {
            object["metadata"]["generation"] = 1.into();
        }
        object
    }

    /// The objects every cluster has from its first moment.
    pub(crate) fn seed(&self) -> Result<(), ApiError> {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            let object = json!({
                "metadata": {"labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
            });
            self.ensure("namespaces", "", name, &object)?;
        }
        let role = json!({"rules": [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]});
        self.ensure(
            "clusterroles.rbac.authorization.k8s.io",
            "",
            "cluster-admin",
            &role,
        )?;
        let binding = json!({
            "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:masters"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}});
        self.ensure(
            "clusterrolebindings.rbac.authorization.k8s.io",
            "",
            "cluster-admin",
            &binding,
        )?;
        let first = Ipv4Addr::from(u32::from(self.services.network()) + 1).to_string();
        let service = json!({
            "metadata": {"labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {"type": "ClusterIP", "clusterIP": first, "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
            "status": {"loadBalancer": {}}});
        self.ensure("services", "default", "kubernetes", &service)
    }
}

#[cfg(test)]
pub(crate) fn for_tests() -> Core {
    let ca = super::sample::ca("kubernetes");
    let material = CaMaterial {
        ca_cert: ca.0,
        ca_key: ca.1,
        front_proxy_cert: String::new(),
        front_proxy_key: String::new(),
        sa_key: String::new(),
        sa_pub: String::new(),
    };
    let services = "10.96.0.0/16".parse().expect("a range");
    let core = Core::new(&material, "v1.36.1", services, None).expect("a core");
    core.seed().expect("seeds");
    core
}
