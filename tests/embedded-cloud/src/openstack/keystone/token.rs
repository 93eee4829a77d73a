//! Tokens as JSON, with the catalog.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::model::{State, Token};
use crate::openstack::{Cloud, ServiceKind, seed};

/// Type, name, service and path of each catalog entry; `{project}` is filled in.
const CATALOG: [(&str, &str, ServiceKind, &str); 11] = [
    ("identity", "keystone", ServiceKind::Keystone, "/v3"),
    ("compute", "nova", ServiceKind::Nova, "/v2.1"),
    ("image", "glance", ServiceKind::Glance, ""),
    ("network", "neutron", ServiceKind::Neutron, ""),
    ("orchestration", "heat", ServiceKind::Heat, "/v1/{project}"),
    ("load-balancer", "octavia", ServiceKind::Octavia, ""),
    ("key-manager", "barbican", ServiceKind::Barbican, ""),
    (
        "block-storage",
        "cinder",
        ServiceKind::Cinder,
        "/v3/{project}",
    ),
    ("volumev3", "cinderv3", ServiceKind::Cinder, "/v3/{project}"),
    ("baremetal", "ironic", ServiceKind::Ironic, ""),
    ("placement", "placement", ServiceKind::Placement, ""),
];

/// A time as Keystone prints it.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The catalog for a project.
pub(super) fn catalog(cloud: &Cloud, project: Option<&str>) -> Vec<Value> {
    let mut list = Vec::new();
    for (index, (kind, name, service, path)) in CATALOG.into_iter().enumerate() {
        if path.contains("{project}") && project.is_none() {
            list.push(
                json!({"endpoints": [], "id": format!("{index:032x}"), "type": kind, "name": name}),
            );
            continue;
        }
        let url = cloud.url(
            service,
            &path.replace("{project}", project.unwrap_or_default()),
        );
        let endpoints =
            ["public", "internal", "admin"]
                .into_iter()
                .enumerate()
                .map(|(n, interface)| {
                    json!({
                        "id": format!("{:032x}", 1000 + index * 10 + n),
                        "interface": interface,
                        "region_id": seed::REGION,
                        "url": url,
                        "region": seed::REGION,
                    })
                });
        let endpoints: Vec<_> = endpoints.collect();
        list.push(json!({"endpoints": endpoints, "id": format!("{index:032x}"), "type": kind, "name": name}));
    }
    list
}

fn domain(state: &State, id: &str) -> Value {
    json!({"id": id, "name": state.domains.get(id).map(|d| d.name.clone())})
}

/// The body of `GET /auth/tokens`.
pub(super) fn body(cloud: &Cloud, state: &State, token: &Token, with_catalog: bool) -> Value {
    let user = state.users.get(&token.user_id);
    let mut out = json!({
        "methods": token.methods,
        "user": {
            "domain": user.map(|u| domain(state, &u.domain_id)),
            "id": token.user_id,
            "name": user.map(|u| u.name.clone()),
            "password_expires_at": null,
        },
        "audit_ids": [token.audit_id],
        "expires_at": time(token.expires_at),
        "issued_at": time(token.issued_at),
    });
    if let Some(project) = token
        .project_id
        .as_ref()
        .and_then(|id| state.projects.get(id))
    {
        out["project"] = json!({"domain": domain(state, &project.domain_id), "id": project.id, "name": project.name});
        out["is_domain"] = json!(false);
    }
    if let Some(id) = &token.domain_id {
        out["domain"] = domain(state, id);
    }
    if token.project_id.is_some() || token.domain_id.is_some() {
        let roles = token.roles.iter().filter_map(|id| state.roles.get(id));
        out["roles"] = roles.map(|r| json!({"id": r.id, "name": r.name})).collect();
        if with_catalog {
            out["catalog"] = json!(catalog(cloud, token.project_id.as_deref()));
        }
    }
    if let Some(trust) = token.trust_id.as_ref().and_then(|id| state.trusts.get(id)) {
        out["OS-TRUST:trust"] = json!({
            "id": trust.id,
            "impersonation": trust.impersonation,
            "trustor_user": {"id": trust.trustor_user_id},
            "trustee_user": {"id": trust.trustee_user_id},
        });
    }
    if let Some(credential) = token
        .app_credential_id
        .as_ref()
        .and_then(|id| state.app_credentials.get(id))
    {
        out["application_credential"] = json!({
            "id": credential.id,
            "name": credential.name,
            "restricted": !credential.unrestricted,
        });
    }
    json!({"token": out})
}
