//! The request line and body of every Heat operation, and that none is missing.

#![allow(clippy::unwrap_used)]

use magnum_heat::{
    Request, ServiceType,
    event::{GetEvent, ListEvents},
    heat::{action, service, software},
    hot::{Document, Files, Parameter, ParameterType, get_param, types::Port},
    request::Body,
    resource, stack,
};
use serde_json::json;

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

/// `(operation, golden, whether it may be repeated, request)`; the request was answered by a real Heat, see `live.rs`,
/// except where a comment says why not.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn every_heat_operation_has_a_wire_golden() {
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
            "list filtered",
            g("GET /stacks?tags=a,b&name=x&show_nested=True&global_tenant=True&limit=2&marker=m"),
            true,
            line(&full),
        ),
        // Heat has the same listing with more detail; its only user is Heat's own dashboard.
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
        // Heat has adopt switched off unless its operator enables it.
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
        (
            "services",
            g("GET /services"),
            true,
            line(&service::ListServices {}),
        ),
    ];
    for (operation, want, repeatable, (got, idempotent)) in &all {
        assert_eq!(got, want, "{operation}");
        assert_eq!(idempotent, repeatable, "{operation}");
    }
    let names: std::collections::BTreeSet<&str> = all.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), all.len());
    // The 57th operation, the list of API versions, is `Session::api_versions`.
    assert_eq!(
        all.len() - 1,
        55,
        "every operation of Heat's route table but the API versions has a golden"
    );
}
