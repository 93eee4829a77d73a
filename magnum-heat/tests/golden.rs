//! The request line and body of every Heat operation, and that none is missing.

#![allow(clippy::unwrap_used)]

mod operations;

use std::collections::BTreeSet;

use magnum_heat::{
    Request, ServiceType,
    event::{GetEvent, ListEvents},
    heat::{action, service, software},
    hot::{Document, Files, Parameter, ParameterType, get_param, types::Port},
    request::Body,
    resource, stack,
    testing::{Reply, Script},
};
use operations::{Answers, OPERATIONS, operation_of};
use serde_json::{Value, json};

fn line<R: Request>(request: &R) -> (String, bool) {
    assert_eq!(R::SERVICE, ServiceType::Orchestration);
    let mut out = format!("{} {}", R::METHOD, request.path());
    let query: Vec<String> = request
        .query()
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    if !query.is_empty() {
        out += &format!("?{}", query.join("&"));
    }
    if let Body::Json(body) = request.body().unwrap() {
        out += &format!(" {}", std::str::from_utf8(&body).unwrap());
    }
    (out, R::IDEMPOTENT)
}

fn content() -> stack::StackContent {
    let mut doc = Document::new();
    doc.add_parameter("net", Parameter::new(ParameterType::String))
        .unwrap();
    doc.add_resource("p", Port::new(get_param("net"))).unwrap();
    let mut files = Files::new();
    files.insert("f", "text");
    stack::StackContent::new(doc)
        .files(files)
        .parameter("net", "n1")
}

/// `(operation, golden, whether it may be repeated, request)`. That a real Heat takes each of these requests is shown by
/// `live/operations.rs`, which sends every operation of the table and compares how it was answered.
#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn every_heat_operation_has_a_wire_golden() {
    let s = || stack::StackRef::new("s", "i");
    let template = r#""template":{"heat_template_version":"2021-04-16","parameters":{"net":{"type":"string"}},"resources":{"p":{"type":"OS::Neutron::Port","properties":{"network":{"get_param":"net"}}}}},"files":{"f":"text"}"#;
    let content_body = format!(r#"{template},"parameters":{{"net":"n1"}}"#);
    let create = || {
        stack::CreateStack::new("s", content())
            .tags(["a", "b"])
            .timeout_mins(20)
    };
    let create_body = format!(
        r#"{{"stack_name":"s",{content_body},"disable_rollback":true,"tags":"a,b","timeout_mins":20}}"#
    );
    let adopt_body = create_body.replace("20}", r#"20,"adopt_stack_data":"{}"}"#);
    let replace = || stack::ReplaceStack::new(s(), content(), ["a"]);
    let replace_body = format!(r#"{{{content_body},"disable_rollback":true,"tags":"a"}}"#);
    let patch = || stack::PatchStack::new(s()).parameter("n", 4);
    let patch_body = r#"{"parameters":{"n":4},"disable_rollback":true}"#;
    let mut full = stack::ListStacks::new()
        .with_tags(["a", "b"])
        .with_name("x")
        .global();
    full.limit = Some(2);
    full.marker = Some("m".into());
    full.show_nested = true;
    let res = "resources/r".to_owned();
    let deployment = json!({"status": "COMPLETE"}).as_object().unwrap().clone();
    let g = |text: &str| text.to_owned();
    let all: Vec<(&str, String, bool, (String, bool))> = vec![
        (
            "list",
            g("GET /stacks"),
            true,
            line(&stack::ListStacks::new()),
        ),
        (
            "list",
            g("GET /stacks?tags=a,b&name=x&show_nested=True&global_tenant=True&limit=2&marker=m"),
            true,
            line(&full),
        ),
        (
            "list detail",
            g("GET /stacks/detail"),
            true,
            line(&stack::ListStacksDetail::default()),
        ),
        (
            "create",
            format!("POST /stacks {create_body}"),
            false,
            line(&create()),
        ),
        (
            "adopt",
            format!("POST /stacks {adopt_body}"),
            false,
            line(&create().adopting("{}")),
        ),
        (
            "preview",
            format!("POST /stacks/preview {create_body}"),
            true,
            line(&stack::PreviewStack(create())),
        ),
        (
            "find",
            g("GET /stacks/s?resolve_outputs=False"),
            true,
            line(&stack::ShowStack::new(stack::StackRef::find("s"))),
        ),
        (
            "find below",
            g("GET /stacks/s/resources"),
            true,
            line(&resource::ListResources::new(stack::StackRef::find("s"))),
        ),
        (
            "show",
            g("GET /stacks/s/i?resolve_outputs=True"),
            true,
            line(&stack::ShowStack::new(s()).with_outputs()),
        ),
        (
            "update PUT",
            format!("PUT /stacks/s/i {replace_body}"),
            false,
            line(&replace()),
        ),
        (
            "update PATCH",
            format!("PATCH /stacks/s/i {patch_body}"),
            false,
            line(&patch()),
        ),
        (
            "preview update PUT",
            format!("PUT /stacks/s/i/preview {replace_body}"),
            true,
            line(&stack::PreviewReplace(replace())),
        ),
        (
            "preview update PATCH",
            format!("PATCH /stacks/s/i/preview {patch_body}"),
            true,
            line(&stack::PreviewPatch(patch())),
        ),
        (
            "delete",
            g("DELETE /stacks/s/i"),
            true,
            line(&stack::DeleteStack { stack: s() }),
        ),
        (
            "abandon",
            g("DELETE /stacks/s/i/abandon"),
            false,
            line(&action::AbandonStack { stack: s() }),
        ),
        (
            "export",
            g("GET /stacks/s/i/export"),
            true,
            line(&action::ExportStack { stack: s() }),
        ),
        (
            "template",
            g("GET /stacks/s/i/template"),
            true,
            line(&stack::GetTemplate { stack: s() }),
        ),
        (
            "environment",
            g("GET /stacks/s/i/environment"),
            true,
            line(&stack::GetEnvironment { stack: s() }),
        ),
        (
            "files",
            g("GET /stacks/s/i/files"),
            true,
            line(&stack::GetFiles { stack: s() }),
        ),
        (
            "outputs list",
            g("GET /stacks/s/i/outputs"),
            true,
            line(&stack::ListOutputs { stack: s() }),
        ),
        (
            "output show",
            g("GET /stacks/s/i/outputs/k"),
            true,
            line(&stack::ShowOutput {
                stack: s(),
                key: "k".into(),
            }),
        ),
        (
            "snapshot create",
            g(r#"POST /stacks/s/i/snapshots {"name":"n"}"#),
            false,
            line(&action::CreateSnapshot {
                stack: s(),
                name: "n".into(),
            }),
        ),
        (
            "snapshot list",
            g("GET /stacks/s/i/snapshots"),
            true,
            line(&action::ListSnapshots { stack: s() }),
        ),
        (
            "snapshot show",
            g("GET /stacks/s/i/snapshots/x"),
            true,
            line(&action::ShowSnapshot {
                stack: s(),
                id: "x".into(),
            }),
        ),
        (
            "snapshot delete",
            g("DELETE /stacks/s/i/snapshots/x"),
            true,
            line(&action::DeleteSnapshot {
                stack: s(),
                id: "x".into(),
            }),
        ),
        (
            "snapshot restore",
            g("POST /stacks/s/i/snapshots/x/restore"),
            false,
            line(&action::RestoreSnapshot {
                stack: s(),
                id: "x".into(),
            }),
        ),
        (
            "suspend",
            g(r#"POST /stacks/s/i/actions {"suspend":null}"#),
            false,
            line(&action::StackActionRequest::suspend(s())),
        ),
        (
            "resume",
            g(r#"POST /stacks/s/i/actions {"resume":null}"#),
            false,
            line(&action::StackActionRequest::resume(s())),
        ),
        (
            "check",
            g(r#"POST /stacks/s/i/actions {"check":null}"#),
            false,
            line(&action::StackActionRequest::check(s())),
        ),
        (
            "cancel_update",
            g(r#"POST /stacks/s/i/actions {"cancel_update":null}"#),
            false,
            line(&action::StackActionRequest::cancel_update(s())),
        ),
        (
            "cancel_without_rollback",
            g(r#"POST /stacks/s/i/actions {"cancel_without_rollback":null}"#),
            false,
            line(&action::StackActionRequest::cancel_without_rollback(s())),
        ),
        (
            "resource list",
            g("GET /stacks/s/i/resources?nested_depth=2&status=FAILED"),
            true,
            line(
                &resource::ListResources::new(s())
                    .nested_depth(2)
                    .with_status("FAILED"),
            ),
        ),
        (
            "resource show",
            format!("GET /stacks/s/i/{res}"),
            true,
            line(&resource::ShowResource {
                stack: s(),
                name: "r".into(),
            }),
        ),
        (
            "resource metadata",
            format!("GET /stacks/s/i/{res}/metadata"),
            true,
            line(&resource::GetResourceMetadata {
                stack: s(),
                name: "r".into(),
            }),
        ),
        (
            "resource signal",
            format!(r#"POST /stacks/s/i/{res}/signal {{"id":"1"}}"#),
            false,
            line(&resource::SignalResource {
                stack: s(),
                name: "r".into(),
                signal: json!({"id": "1"}),
            }),
        ),
        (
            "resource mark unhealthy",
            format!(
                r#"PATCH /stacks/s/i/{res} {{"mark_unhealthy":true,"resource_status_reason":"w"}}"#
            ),
            true,
            line(&resource::MarkUnhealthy {
                stack: s(),
                name: "r".into(),
                unhealthy: true,
                reason: "w".into(),
            }),
        ),
        (
            "event list",
            g("GET /stacks/s/i/events?nested_depth=5&sort_dir=asc&limit=9&marker=m"),
            true,
            line(
                &ListEvents::new(s())
                    .nested_depth(5)
                    .page_size(9)
                    .after_event("m"),
            ),
        ),
        (
            "event list of resource",
            format!("GET /stacks/s/i/{res}/events?sort_dir=desc&limit=200"),
            true,
            line(&ListEvents::new(s()).of_resource("r").newest_first()),
        ),
        (
            "event show",
            format!("GET /stacks/s/i/{res}/events/e"),
            true,
            line(&GetEvent {
                stack: s(),
                resource: "r".into(),
                id: "e".into(),
            }),
        ),
        (
            "resource types",
            g("GET /resource_types?name=OS::.*"),
            true,
            line(&service::ListResourceTypes::named("OS::.*")),
        ),
        (
            "resource type schema",
            g("GET /resource_types/OS::Nova::Server"),
            true,
            line(&service::ShowResourceType {
                name: "OS::Nova::Server".into(),
            }),
        ),
        (
            "resource type template",
            g("GET /resource_types/T/template?template_type=hot"),
            true,
            line(&service::GenerateTemplate { name: "T".into() }),
        ),
        (
            "template versions",
            g("GET /template_versions"),
            true,
            line(&service::ListTemplateVersions {}),
        ),
        (
            "template functions",
            g("GET /template_versions/v/functions"),
            true,
            line(&service::ListTemplateFunctions {
                version: "v".into(),
            }),
        ),
        (
            "config list",
            g("GET /software_configs"),
            true,
            line(&software::ListConfigs {}),
        ),
        (
            "config create",
            g(
                r#"POST /software_configs {"name":"n","group":"script","config":"x","inputs":[],"outputs":[],"options":{}}"#,
            ),
            false,
            line(&software::CreateConfig::new("n", "script").config("x")),
        ),
        (
            "config show",
            g("GET /software_configs/c"),
            true,
            line(&software::ShowConfig { id: "c".into() }),
        ),
        (
            "config delete",
            g("DELETE /software_configs/c"),
            true,
            line(&software::DeleteConfig { id: "c".into() }),
        ),
        (
            "deployment list",
            g("GET /software_deployments?server_id=v"),
            true,
            line(&software::ListDeployments {
                server: Some("v".into()),
            }),
        ),
        (
            "deployment create",
            g(
                r#"POST /software_deployments {"config_id":"c","server_id":"v","action":"CREATE","status":"IN_PROGRESS"}"#,
            ),
            false,
            line(&software::CreateDeployment {
                config: "c".into(),
                server: "v".into(),
                action: "CREATE".into(),
                status: "IN_PROGRESS".into(),
            }),
        ),
        (
            "deployment show",
            g("GET /software_deployments/d"),
            true,
            line(&software::ShowDeployment { id: "d".into() }),
        ),
        (
            "deployment update",
            g(r#"PUT /software_deployments/d {"status":"COMPLETE"}"#),
            true,
            line(&software::UpdateDeployment {
                id: "d".into(),
                changes: deployment,
            }),
        ),
        (
            "deployment delete",
            g("DELETE /software_deployments/d"),
            true,
            line(&software::DeleteDeployment { id: "d".into() }),
        ),
        (
            "deployment metadata",
            g("GET /software_deployments/metadata/v"),
            true,
            line(&software::GetServerDeployments { server: "v".into() }),
        ),
        (
            "validate",
            format!(
                r#"POST /validate {{{}}}"#,
                template.replace(r#","files":{"f":"text"}"#, r#","files":{}"#)
            ),
            true,
            line(&service::ValidateTemplate::new(content().template)),
        ),
        (
            "build info",
            g("GET /build_info"),
            true,
            line(&service::GetBuildInfo {}),
        ),
        ("api versions", g("GET /"), true, api_versions().await),
        (
            "services",
            g("GET /services"),
            true,
            line(&service::ListServices {}),
        ),
    ];
    let mut missing: BTreeSet<&str> = OPERATIONS.iter().map(|o| o.name).collect();
    assert_eq!(
        missing.len(),
        OPERATIONS.len(),
        "two operations of one name"
    );
    for (operation, want, repeatable, (got, idempotent)) in &all {
        assert_eq!(got, want, "{operation}");
        assert_eq!(idempotent, repeatable, "{operation}");
        let (method, rest) = got.split_once(' ').unwrap();
        let (target, body) = rest.split_once(' ').unwrap_or((rest, "null"));
        let path = target.split('?').next().unwrap();
        let body = serde_json::from_str(body).unwrap();
        let of_table = operation_of(method, path, &body).map(|o| o.name);
        assert_eq!(of_table, Some(*operation), "{got}");
        missing.remove(operation);
    }
    assert!(missing.is_empty(), "no wire golden for {missing:?}");
    assert_eq!(OPERATIONS.len(), 57);
}

/// The list of API versions is asked for beside the endpoint, without a token.
async fn api_versions() -> (String, bool) {
    let versions = json!({"versions": [{"id": "v1.0", "status": "CURRENT"}]});
    let script = Script::new().then(Reply::json(300, &versions));
    let session = script.session().await.unwrap();
    let found = session.api_versions(ServiceType::Orchestration).await;
    assert_eq!(found.unwrap()[0].id, "v1.0");
    let seen = &script.seen()[0];
    assert!(!seen.headers.contains_key("x-auth-token"));
    let path = seen.path.strip_prefix("/heat").unwrap();
    (format!("{} {path}", seen.method), true)
}

/// The recorded answers that have a request belong to operations of the table, and fit what it says.
#[test]
fn recorded_requests_are_in_the_table() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures");
    let mut known = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("heat-") || !name.ends_with(".json") {
            continue;
        }
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let url = url::Url::parse(value["request"]["url"].as_str().unwrap()).unwrap();
        // `/v1/PROJECT/stacks/..`
        let below: Vec<&str> = url.path().split('/').skip(3).collect();
        let method = value["request"]["method"].as_str().unwrap();
        let body = match &value["request"]["body"] {
            Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            other => other.clone(),
        };
        let operation = operation_of(method, &format!("/{}", below.join("/")), &body);
        let lookup = name.starts_with("heat-302-by-name-delete");
        match operation {
            Some(operation) => {
                known += 1;
                if value["status"] == 200 && operation.answers != Answers::Success {
                    // A by-name address that the recorder had followed.
                    assert_eq!(operation.answers, Answers::Status(302), "{name}");
                }
            }
            None => assert!(lookup, "{name}: {method} {}", url.path()),
        }
    }
    assert!(known > 40, "{known}");
}

/// Every rule that this crate keeps has a test that carries its id.
#[test]
fn every_rule_has_a_test() {
    fn functions(folder: &std::path::Path, found: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                functions(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let lines = text.lines().filter(|l| l.contains("fn "));
                lines.for_each(|l| found.push_str(l));
            }
        }
    }
    let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = String::new();
    functions(&crate_folder.join("src"), &mut found);
    functions(&crate_folder.join("tests"), &mut found);
    let series = |name: &str, numbers: std::ops::RangeInclusive<u32>| {
        numbers
            .map(|n| format!("fn {name}_{n:02}_"))
            .collect::<Vec<_>>()
    };
    let rules = [
        series("hc", 1..=9),
        series("au", 1..=7),
        series("sp", 3..=5),
        series("ms", 4..=4),
        series("op", 1..=2),
    ];
    for rule in rules.concat() {
        assert!(found.contains(&rule), "no test is named {rule}..");
    }
}
