//! Finding things by name or id, for properties that name an existing object.

use serde_json::Value;

use super::client::Client;
use super::failure::Failure;
use super::schema::Lookup;

/// A kind of object that can be named by id or name.
#[derive(Debug, Clone, Copy)]
struct Target {
    path: &'static str,
    /// Plural key of a list.
    list: &'static str,
    /// Word in the error.
    word: &'static str,
}

fn target(constraint: &str) -> Option<Target> {
    let new = |path, list, word| Some(Target { path, list, word });
    match constraint {
        "nova.flavor" => new("/compute/v2.1/flavors", "flavors", "flavor"),
        "glance.image" => new("/image/v2/images", "images", "image"),
        "neutron.network" => new("/network/v2.0/networks", "networks", "network"),
        "neutron.subnet" => new("/network/v2.0/subnets", "subnets", "subnet"),
        "neutron.port" => new("/network/v2.0/ports", "ports", "port"),
        "neutron.router" => new("/network/v2.0/routers", "routers", "router"),
        "neutron.security_group" => new(
            "/network/v2.0/security-groups",
            "security_groups",
            "security_group",
        ),
        "octavia.loadbalancer" => new(
            "/load-balancer/v2/lbaas/loadbalancers",
            "loadbalancers",
            "loadbalancer",
        ),
        "octavia.listener" => new("/load-balancer/v2/lbaas/listeners", "listeners", "listener"),
        "octavia.pool" => new("/load-balancer/v2/lbaas/pools", "pools", "pool"),
        _ => None,
    }
}

fn items<'a>(body: &'a Value, list: &str) -> &'a [Value] {
    body.get(list)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn id_of(item: &Value) -> String {
    item.get("id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The id of an object given by id or name.
pub(super) async fn find(
    client: &Client,
    constraint: &str,
    value: &str,
) -> Result<String, Failure> {
    let Some(target) = target(constraint) else {
        return Ok(value.to_owned());
    };
    let Target { path, list, word } = target;
    if constraint == "nova.flavor" {
        let body = client.get(&format!("{path}?is_public=None")).await?;
        let found = items(&body, list)
            .iter()
            .find(|f| f["id"] == value || f["name"] == value);
        return found
            .map(id_of)
            .ok_or_else(|| missing(constraint, word, value));
    }
    if constraint == "nova.keypair" {
        return Ok(value.to_owned());
    }
    let plain = value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if plain {
        match client.get(&format!("{path}/{value}")).await {
            Ok(body) => {
                let inner = body.get(word).unwrap_or(&body);
                let id = id_of(inner);
                return Ok(if id.is_empty() { value.to_owned() } else { id });
            }
            Err(failure) if matches!(failure.status.as_u16(), 400 | 404) => {}
            Err(failure) => return Err(failure),
        }
    }
    let name: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let body = client.get(&format!("{path}?name={name}")).await?;
    let named: Vec<_> = items(&body, list)
        .iter()
        .filter(|i| i["name"] == value)
        .collect();
    match named.as_slice() {
        [] => Err(missing(constraint, word, value)),
        [one] => Ok(id_of(one)),
        _ if constraint == "glance.image" => Err(Failure::new(
            "NoUniqueMatch",
            format!("Found more than one image matching {{'name': '{value}'}}."),
        )),
        _ => Err(Failure::new(
            "NeutronClientNoUniqueMatch",
            format!(
                "Multiple {word} matches found for name '{value}', use an ID to be more specific."
            ),
        )),
    }
}

fn missing(constraint: &str, word: &str, value: &str) -> Failure {
    let message = match constraint {
        "glance.image" => format!("No images matching {{'name': '{value}'}}."),
        "nova.flavor" => format!("No Flavor matching {{'name': '{value}'}}. (HTTP 404)"),
        name if name.starts_with("octavia") => format!("{value} not found (HTTP 404)"),
        _ => format!("Unable to find {word} with name or id '{value}'"),
    };
    Failure::at(http::StatusCode::NOT_FOUND, "NotFound", message)
}

/// Checks a custom constraint.
pub(super) async fn check(client: &Client, lookup: &Lookup) -> Result<(), Failure> {
    let Lookup {
        constraint,
        path,
        value,
    } = lookup;
    let wrong = |message: String| {
        Failure::invalid(format!(
            "Property error: : {path}: : Error validating value '{value}': {message}"
        ))
    };
    match constraint.as_str() {
        "nova.keypair" => match client
            .get(&format!("/compute/v2.1/os-keypairs/{value}"))
            .await
        {
            Ok(_) => Ok(()),
            Err(f) if f.status.as_u16() == 404 => {
                Err(wrong(format!("The Key ({value}) could not be found.")))
            }
            Err(f) => Err(wrong(f.message)),
        },
        "net_cidr" => {
            let valid = value.parse::<ipnet::IpNet>().is_ok();
            if valid {
                Ok(())
            } else {
                Err(wrong(format!(
                    "Invalid net cidr invalid IPNetwork {value} "
                )))
            }
        }
        "ip_addr" => {
            let valid = value.parse::<std::net::IpAddr>().is_ok();
            if valid {
                Ok(())
            } else {
                Err(wrong("Invalid IP address".to_owned()))
            }
        }
        _ => find(client, constraint, value)
            .await
            .map(|_| ())
            .map_err(|f| wrong(f.message)),
    }
}
