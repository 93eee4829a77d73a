//! Every recorded answer of a real OpenStack decodes into a typed value or a typed error.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::Utc;
use magnum_heat::{
    ApiError, FaultKind, Request, ServiceType, barbican, cinder, event, glance, hot, ironic,
    keystone, neutron, nova, octavia,
    request::Answer,
    resource,
    stack::{self, StackRef},
};
use serde_json::Value;

struct Fixture {
    name: String,
    method: String,
    path: String,
    request: Value,
    status: u16,
    headers: BTreeMap<String, String>,
    body: Bytes,
}

fn all() -> Vec<Fixture> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let url = url::Url::parse(
                value["request"]["url"]
                    .as_str()
                    .unwrap_or_else(|| panic!("{name}")),
            )
            .unwrap();
            let body = match &value["body"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                json => json.to_string(),
            };
            Fixture {
                method: value["request"]["method"].as_str().unwrap().to_owned(),
                path: url[url::Position::BeforePath..].to_owned(),
                request: value["request"]["body"].clone(),
                status: u16::try_from(value["status"].as_u64().unwrap()).unwrap(),
                headers: serde_json::from_value(value["headers"].clone()).unwrap(),
                body: Bytes::from(body),
                name,
            }
        })
        .collect()
}

fn decode<R: Request>(request: &R, fixture: &Fixture) -> R::Output {
    let mut headers = http::HeaderMap::new();
    for (name, value) in &fixture.headers {
        headers.insert(
            http::HeaderName::try_from(name.as_str()).unwrap(),
            value.parse().unwrap(),
        );
    }
    let answer = Answer {
        operation: R::OPERATION,
        status: http::StatusCode::from_u16(fixture.status).unwrap(),
        headers,
        body: fixture.body.clone(),
    };
    request
        .decode(answer)
        .unwrap_or_else(|e| panic!("{}: {e}", fixture.name))
}

fn error(fixture: &Fixture) -> ApiError {
    let mut answer = http::Response::builder().status(fixture.status);
    for (name, value) in &fixture.headers {
        answer = answer.header(name.as_str(), value.as_str());
    }
    let answer = answer.body(fixture.body.clone()).unwrap();
    ApiError::decode("test", ServiceType::Orchestration, &answer, Utc::now())
}

fn some() -> StackRef {
    StackRef::new("s", "i")
}

/// Decodes a successful answer; the returned number is that of the decoded things, `None` when no type claims the file.
fn success(f: &Fixture) -> Option<usize> {
    let name = f.name.as_str();
    let one = |_: &dyn std::fmt::Debug| Some(1);
    match name {
        _ if name.ends_with("version-discovery") || name.contains("version-discovery-") => {
            let versions =
                magnum_heat::discovery::versions(&f.body).unwrap_or_else(|e| panic!("{name}: {e}"));
            Some(versions.len())
        }
        _ if name.starts_with("keystone-token-") => {
            let body: Value = serde_json::from_slice(&f.body).unwrap();
            let info: magnum_heat::TokenInfo =
                serde_json::from_value(body["token"].clone()).unwrap();
            one(&info)
        }
        "keystone-application-credential-create" => {
            let made = decode(&keystone::CreateApplicationCredential::new("u", "n"), f);
            assert!(made.secret.is_some() && made.unrestricted);
            one(&made)
        }
        "heat-build-info" => one(&decode(&magnum_heat::heat::service::GetBuildInfo {}, f)),
        "heat-services" => Some(decode(&magnum_heat::heat::service::ListServices {}, f).len()),
        "heat-resource-types" => {
            Some(decode(&magnum_heat::heat::service::ListResourceTypes::default(), f).len())
        }
        "heat-template-versions" => {
            Some(decode(&magnum_heat::heat::service::ListTemplateVersions {}, f).len())
        }
        "heat-validate-template-200" => {
            let request = magnum_heat::heat::service::ValidateTemplate::new(hot::Document::new());
            Some(decode(&request, f).parameters.len())
        }
        "heat-preview-stack-200" => {
            let create = stack::CreateStack::new("s", stack::StackContent::default());
            one(&decode(&stack::PreviewStack(create), f))
        }
        "heat-environment-get" | "magnum-heat-environment" => {
            one(&decode(&stack::GetEnvironment { stack: some() }, f))
        }
        "heat-files-get" => one(&decode(&stack::GetFiles { stack: some() }, f)),
        "heat-template-get" => Some(
            decode(&stack::GetTemplate { stack: some() }, f)
                .resources()
                .len(),
        ),
        "heat-output-show" => one(&decode(
            &stack::ShowOutput {
                stack: some(),
                key: "k".into(),
            },
            f,
        )),
        "heat-resource-show-server" => {
            let shown = decode(
                &resource::ShowResource {
                    stack: some(),
                    name: "server".into(),
                },
                f,
            );
            assert_eq!(shown.attributes["status"], "ACTIVE");
            one(&shown)
        }
        "heat-stack-list" => Some(decode(&stack::ListStacks::new(), f).len()),
        "heat-resource-list-depth" => Some(decode(&resource::ListResources::new(some()), f).len()),
        "heat-stack-delete-204" => one(&decode(&stack::DeleteStack { stack: some() }, f)),
        "waitcondition-signal" | "waitcondition-signal-failure" => {
            let signal = resource::SignalResource {
                stack: some(),
                name: "h".into(),
                signal: Value::Null,
            };
            one(&decode(&signal, f))
        }
        _ if name.starts_with("heat-") && name.ends_with("-201") => one(&decode(
            &stack::CreateStack::new("s", stack::StackContent::default()),
            f,
        )),
        _ if name.starts_with("heat-") && name.ends_with("patch-202") => {
            one(&decode(&stack::PatchStack::new(some()), f))
        }
        _ if name.contains("heat-") && name.contains("stack-show") => {
            let shown = decode(&stack::ShowStack::new(some()), f);
            assert!(!matches!(
                shown.status.phase,
                magnum_heat::Phase::Unknown(_)
            ));
            one(&shown)
        }
        _ if name.contains("heat-") && name.contains("-events") => {
            Some(decode(&event::ListEvents::new(some()), f).len())
        }
        _ if name.contains("heat-") && name.contains("-resources-") => {
            Some(decode(&resource::ListResources::new(some()), f).len())
        }
        "nova-servers-detail-2.1"
        | "nova-servers-detail-2.79-admin"
        | "nova-servers-detail-2.96"
        | "nova-server-error-fault" => Some(decode(&nova::ListServers::new(), f).len()),
        "nova-flavors" => Some(decode(&nova::ListFlavors {}, f).len()),
        "nova-keypairs" => Some(decode(&nova::ListKeypairs {}, f).len()),
        "nova-limits" => one(&decode(&nova::GetLimits {}, f)),
        "nova-quota" => one(&decode(
            &nova::GetQuota {
                project: "p".into(),
            },
            f,
        )),
        "nova-availability-zones" => Some(decode(&nova::ListAvailabilityZones {}, f).len()),
        "neutron-networks" => Some(decode(&neutron::ListItems::<neutron::Network>::new(), f).len()),
        "neutron-subnets" => Some(decode(&neutron::ListItems::<neutron::Subnet>::new(), f).len()),
        "neutron-ports" => Some(decode(&neutron::ListItems::<neutron::Port>::new(), f).len()),
        "neutron-routers" => Some(decode(&neutron::ListItems::<neutron::Router>::new(), f).len()),
        "neutron-security-groups" => {
            Some(decode(&neutron::ListItems::<neutron::SecurityGroup>::new(), f).len())
        }
        "neutron-floatingips" => {
            Some(decode(&neutron::ListItems::<neutron::FloatingIp>::new(), f).len())
        }
        "neutron-quota" => one(&decode(
            &neutron::GetQuota {
                project: "p".into(),
            },
            f,
        )),
        "neutron-extensions" => Some(decode(&neutron::ListExtensions {}, f).len()),
        "glance-images" => Some(decode(&glance::ListImages { name: None }, f).len()),
        "octavia-loadbalancers" | "octavia-200-plain-member" => Some(
            decode(&octavia::ListLoadBalancers { filters: vec![] }, f)
                .len()
                .max(1),
        ),
        "octavia-lb-status-tree" => Some(
            decode(&octavia::GetStatusTree { id: "l".into() }, f)
                .all()
                .len(),
        ),
        "octavia-providers" => Some(decode(&octavia::ListProviders {}, f).len()),
        "cinder-volumes" => Some(
            decode(&cinder::ListVolumes { filters: vec![] }, f)
                .len()
                .max(1),
        ),
        "cinder-types" => Some(decode(&cinder::ListVolumeTypes {}, f).len()),
        "barbican-secrets" => Some(decode(&barbican::ListSecrets { name: None }, f).len()),
        "barbican-secret-create" => {
            let made = decode(
                &barbican::StoreSecret {
                    name: "n".into(),
                    payload: "p".into(),
                },
                f,
            );
            assert_eq!(made.id(), "15e4552b-1788-4ca8-9a49-9c4c84f24b84");
            one(&made)
        }
        "ironic-nodes" => Some(
            decode(
                &ironic::ListNodes {
                    resource_class: None,
                },
                f,
            )
            .len(),
        ),
        _ => None,
    }
}

/// Answers of services or calls that this crate does not use; other crates read them.
const OTHERS: &[&str] = &[
    "magnum-cluster-show",
    "magnum-clusters-list",
    "magnum-clustertemplates-list",
    "magnum-nodegroups",
    "magnum-stats",
    "cinder-services",
    "neutron-agents",
    "nova-hypervisors",
    "nova-services",
    "octavia-flavors",
    "octavia-healthmonitors",
    "octavia-listeners",
    "octavia-pools",
];

#[test]
fn every_recorded_answer_decodes() {
    let fixtures = all();
    assert!(fixtures.len() > 120, "{}", fixtures.len());
    let mut unclaimed = Vec::new();
    for f in &fixtures {
        let _ = (&f.method, &f.path, &f.request);
        match f.status {
            200..=300 => match success(f) {
                Some(count) => assert!(count > 0, "{}: nothing decoded", f.name),
                None if OTHERS.contains(&f.name.as_str()) => {}
                None => unclaimed.push(f.name.clone()),
            },
            301..=399 => assert!(
                f.headers.contains_key("Location") || f.headers.contains_key("location"),
                "{}",
                f.name
            ),
            _ => {
                let e = error(f);
                assert!(!e.message.is_empty(), "{}", f.name);
                assert!(!e.to_string().contains("Traceback"), "{}", f.name);
                assert!(
                    !matches!(e.kind, FaultKind::Unnamed) || f.status == 400 || f.status == 406,
                    "{}: {e:?}",
                    f.name
                );
                assert!(
                    e.request_id.is_some_and(|id| id.starts_with("req-")),
                    "{}",
                    f.name
                );
            }
        }
    }
    assert!(unclaimed.is_empty(), "no type decodes {unclaimed:?}");
}

#[test]
fn hc_05_recorded_faults_have_their_kinds() {
    let kinds: BTreeMap<String, FaultKind> = all()
        .iter()
        .filter(|f| f.status >= 400)
        .map(|f| (f.name.clone(), error(f).kind))
        .collect();
    let want = [
        ("heat-404-stack", FaultKind::EntityNotFound),
        ("heat-409-duplicate-name", FaultKind::StackExists),
        (
            "heat-400-limit-template-size",
            FaultKind::RequestLimitExceeded,
        ),
        (
            "heat-400-limit-resources-per-stack",
            FaultKind::RequestLimitExceeded,
        ),
        (
            "heat-400-template-bad-property",
            FaultKind::StackValidationFailed,
        ),
        ("heat-403-foreign-tenant", FaultKind::Forbidden),
        ("heat-403-reader-create", FaultKind::Forbidden),
        ("heat-401-bad-token", FaultKind::Unauthorized),
        ("keystone-401-bad-password", FaultKind::Unauthorized),
        ("nova-403-quota-exceeded", FaultKind::QuotaExceeded),
        ("nova-404-server", FaultKind::EntityNotFound),
        ("octavia-404-lb", FaultKind::EntityNotFound),
        ("barbican-403-member-without-creator", FaultKind::Forbidden),
    ];
    for (name, kind) in want {
        assert_eq!(kinds.get(name), Some(&kind), "{name}");
    }
}
