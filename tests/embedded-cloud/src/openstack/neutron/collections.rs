//! The collections of the API: their names, lists and tags.

use serde_json::{Value, json};

use super::super::ask::{Answer, Ask};
use super::super::listing::{Page, matches, next_query, select, tag_filter};
use super::super::{ApiError, Caller};
use super::model::{Meta, NeutronState, fault, missing};

/// One collection by its name in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collection {
    /// In paths: `security-groups`.
    pub path: &'static str,
    /// The list's key: `security_groups`.
    pub plural: &'static str,
    /// An element's key: `security_group`.
    pub singular: &'static str,
}

pub(super) const COLLECTIONS: [Collection; 7] = [
    Collection {
        path: "networks",
        plural: "networks",
        singular: "network",
    },
    Collection {
        path: "subnets",
        plural: "subnets",
        singular: "subnet",
    },
    Collection {
        path: "ports",
        plural: "ports",
        singular: "port",
    },
    Collection {
        path: "routers",
        plural: "routers",
        singular: "router",
    },
    Collection {
        path: "security-groups",
        plural: "security_groups",
        singular: "security_group",
    },
    Collection {
        path: "security-group-rules",
        plural: "security_group_rules",
        singular: "security_group_rule",
    },
    Collection {
        path: "floatingips",
        plural: "floatingips",
        singular: "floatingip",
    },
];

/// Filters that are allowed although an element does not show the field to everyone.
const EXTRA: [&str; 20] = [
    "id",
    "name",
    "status",
    "description",
    "project_id",
    "tenant_id",
    "shared",
    "router:external",
    "is_default",
    "device_id",
    "device_owner",
    "network_id",
    "port_id",
    "floating_ip_address",
    "fixed_ip_address",
    "provider:network_type",
    "provider:physical_network",
    "provider:segmentation_id",
    "binding:host_id",
    "security_groups",
];

impl NeutronState {
    /// Everything of a collection that the caller may see, in the order of ids.
    pub(super) fn views(&self, collection: &str, caller: &Caller) -> Vec<Value> {
        let admin = caller.is_admin;
        let mut views: Vec<Value> = match collection {
            "networks" => {
                let seen = self
                    .networks
                    .values()
                    .filter(|n| self.sees_network(caller, n));
                seen.map(|n| self.network_view(n, admin)).collect()
            }
            "subnets" => {
                let seen = self
                    .subnets
                    .values()
                    .filter(|s| self.sees_subnet(caller, s));
                seen.map(|s| self.subnet_view(s)).collect()
            }
            "ports" => {
                let seen = self.ports.values().filter(|p| self.sees_port(caller, p));
                seen.map(|p| self.port_view(p, admin)).collect()
            }
            "routers" => {
                let seen = self
                    .routers
                    .values()
                    .filter(|r| caller.sees(&r.meta.project_id));
                seen.map(|r| self.router_view(r, admin)).collect()
            }
            "security-groups" => {
                let seen = self
                    .groups
                    .values()
                    .filter(|g| caller.sees(&g.meta.project_id));
                seen.map(|g| self.group_view(g)).collect()
            }
            "security-group-rules" => {
                let seen = self
                    .rules
                    .values()
                    .filter(|r| caller.sees(&r.meta.project_id));
                seen.map(|r| self.rule_view(r)).collect()
            }
            "floatingips" => {
                let seen = self
                    .floating_ips
                    .values()
                    .filter(|f| caller.sees(&f.meta.project_id));
                seen.map(|f| self.floating_view(f)).collect()
            }
            _ => Vec::new(),
        };
        views.sort_by(|a, b| a["id"].as_str().cmp(&b["id"].as_str()));
        views
    }

    /// One element as JSON.
    pub(super) fn view(
        &self,
        collection: &str,
        caller: &Caller,
        id: &str,
    ) -> Result<Value, ApiError> {
        let admin = caller.is_admin;
        Ok(match collection {
            "networks" => self.network_view(self.network(caller, id)?, admin),
            "subnets" => self.subnet_view(self.subnet(caller, id)?),
            "ports" => self.port_view(self.port(caller, id)?, admin),
            "routers" => self.router_view(self.router(caller, id)?, admin),
            "security-groups" => self.group_view(self.group(caller, id)?),
            "security-group-rules" => self.rule_view(self.rule(caller, id)?),
            "floatingips" => self.floating_view(self.floating_ip(caller, id)?),
            other => return Err(missing(other, id)),
        })
    }

    /// The common fields of an element the caller owns, for tags.
    pub(super) fn meta_mut(
        &mut self,
        collection: &str,
        caller: &Caller,
        id: &str,
    ) -> Result<&mut Meta, ApiError> {
        let found = match collection {
            "networks" => self.networks.get_mut(id).map(|x| &mut x.meta),
            "subnets" => self.subnets.get_mut(id).map(|x| &mut x.meta),
            "ports" => self.ports.get_mut(id).map(|x| &mut x.meta),
            "routers" => self.routers.get_mut(id).map(|x| &mut x.meta),
            "security-groups" => self.groups.get_mut(id).map(|x| &mut x.meta),
            "security-group-rules" => self.rules.get_mut(id).map(|x| &mut x.meta),
            "floatingips" => self.floating_ips.get_mut(id).map(|x| &mut x.meta),
            _ => None,
        };
        found
            .filter(|meta| caller.sees(&meta.project_id))
            .ok_or_else(|| missing(collection, id))
    }
}

/// Filters, selects and cuts a list as the query asks.
pub(super) fn list(
    ask: &Ask,
    collection: Collection,
    mut items: Vec<Value>,
) -> Result<Answer, ApiError> {
    const CONTROL: [&str; 6] = [
        "fields",
        "limit",
        "marker",
        "page_reverse",
        "sort_key",
        "sort_dir",
    ];
    let mut fixed_ips: Vec<(&str, &str)> = Vec::new();
    let mut groups: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
    for (key, value) in &ask.query {
        if CONTROL.contains(&key.as_str()) {
            continue;
        }
        if tag_filter(&json!({"tags": []}), key, value).is_some() {
            items.retain(|item| tag_filter(item, key, value) == Some(true));
        } else if key == "fixed_ips" {
            if let Some(pair) = value.split_once('=') {
                fixed_ips.push(pair);
            }
        } else {
            if !EXTRA.contains(&key.as_str())
                && items.first().is_some_and(|item| item.get(key).is_none())
            {
                return Err(fault(
                    400,
                    "HTTPBadRequest",
                    format!("['{key}'] is invalid attribute for filtering"),
                ));
            }
            groups.entry(key.as_str()).or_default().push(value);
        }
    }
    items.retain(|item| {
        groups
            .iter()
            .all(|(key, wanted)| wanted.iter().any(|wanted| matches(&item[*key], wanted)))
            && (fixed_ips.is_empty() || has_address(item, &fixed_ips))
    });
    let page = Page::from_query(&ask.query).map_err(|text| {
        let text = format!("Limit must be an integer 0 or greater and not '{text}'");
        fault(400, "HTTPBadRequest", text)
    })?;
    let (items, more) = page
        .cut(items, "id")
        .map_err(|marker| missing(collection.path, &marker))?;
    let last = items
        .last()
        .and_then(|item| item["id"].as_str())
        .map(str::to_owned);
    let fields: Vec<&str> = ask
        .query
        .iter()
        .filter(|(key, _)| key == "fields")
        .map(|(_, v)| v.as_str())
        .collect();
    let items: Vec<Value> = items
        .into_iter()
        .map(|item| select(item, &fields))
        .collect();
    let mut body = json!({collection.plural: items});
    if let (true, Some(last)) = (more, last) {
        let href = format!(
            "{}/v2.0/{}?{}",
            ask.base,
            collection.path,
            next_query(&ask.query, &last)
        );
        body[format!("{}_links", collection.plural)] = json!([{"rel": "next", "href": href}]);
    }
    Ok(Answer::json(200, body))
}

fn has_address(item: &Value, wanted: &[(&str, &str)]) -> bool {
    let addresses = item["fixed_ips"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    addresses.iter().any(|ip| {
        wanted.iter().all(|(key, value)| match *key {
            "ip_address_substr" => ip["ip_address"]
                .as_str()
                .is_some_and(|text| text.contains(value)),
            key => ip[key].as_str() == Some(*value),
        })
    })
}
