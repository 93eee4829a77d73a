//! Every operation of Heat's table is sent and answered as the table says.

use std::time::Duration;

use futures::TryStreamExt;
use magnum_heat::{
    Error, FaultKind, Phase, ServiceType, Session, StackAction,
    diagnose::root_cause,
    event::{GetEvent, ListEvents, list_events},
    follow::{Until, Verdict, wait_for},
    heat::{action, service, software},
    hot::{
        Document, Files, Parameter, ParameterType, Resource, get_attr, get_param,
        types::{SignalTransport, WaitConditionHandle},
    },
    paging,
    resource::{
        GetResourceMetadata, ListResources, MarkUnhealthy, ShowResource, SignalResource,
        received_signals,
    },
    stack::{
        CreateStack, GetEnvironment, GetFiles, GetTemplate, ListOutputs, ListStacks,
        ListStacksDetail, PatchStack, PreviewPatch, PreviewReplace, PreviewStack, ReplaceStack,
        ShowOutput, ShowStack, Stack, StackContent, StackRef, StackSummary, list_stacks,
    },
};
use serde_json::json;

use super::{project::*, recorder::Record};

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_of_heat_is_answered_as_the_table_says() {
    let project = Project::new("heat-operations").await;
    let record = Record::default();
    let s = &record.of(&project.session).await;
    let admin = &record.of(&project.admin).await;
    types_and_templates(s).await;
    assert!(
        !admin
            .send(service::ListServices {})
            .await
            .unwrap()
            .is_empty()
    );
    software_configs(s).await;
    let stack = parts(s).await;
    resources_and_events(s, &stack).await;
    snapshots_and_actions(s, &stack).await;
    switched_off(s, &stack).await;
    gone(s, &stack).await;
    signals(s).await;
    let cancelled = futures::future::join(cancelled(s, "c1", true), cancelled(s, "c2", false));
    cancelled.await;
    lists_by_two(s, &record).await;
    let problems = record.problems();
    assert!(problems.is_empty(), "{problems:#?}");
    project.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn op_01_a_nested_failure_is_found_where_it_happened() {
    let project = Project::new("heat-nested").await;
    let s = &project.session;
    let mut inner = Document::new();
    inner
        .add_resource("good", Resource::raw("OS::Heat::None"))
        .unwrap();
    let bad = Resource::raw("OS::Heat::TestResource").property("fail", true);
    inner.add_resource("bad", bad).unwrap();
    let mut files = Files::new();
    files.insert("nested.yaml", inner.to_text());
    let mut outer = Document::new();
    outer
        .add_resource("member", Resource::raw("nested.yaml"))
        .unwrap();
    let content = StackContent::new(outer).files(files);
    let made = s.send(CreateStack::new("n1", content)).await.unwrap();
    let (every, limit) = (Duration::from_secs(1), Duration::from_secs(300));
    let failed = wait_for(s, &made.stack, Until::complete(), every, limit).await;
    assert!(
        matches!(failed, Err(Error::StackState { .. })),
        "{failed:?}"
    );
    let cause = root_cause(s, &made.stack).await.unwrap().unwrap();
    println!("{cause}");
    assert_eq!(cause.path, ["member", "bad"]);
    assert!(
        cause.message.contains("Test Resource failed bad"),
        "{cause:?}"
    );
    assert!(!cause.follower);
    let all = s
        .send(ListResources::new(&made.stack).nested_depth(2))
        .await
        .unwrap();
    let names: Vec<&str> = all.iter().map(|r| r.name.as_str()).collect();
    assert!(
        names.contains(&"member") && names.contains(&"bad"),
        "{names:?}"
    );
    let mut nested = ListStacks::new();
    nested.show_nested = true;
    assert_eq!(list_stacks(s, nested).await.unwrap().len(), 2);
    assert_eq!(list_stacks(s, ListStacks::new()).await.unwrap().len(), 1);
    gone(s, &made.stack).await;
    project.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_typed_errors() {
    let project = Project::new("heat-refusals").await;
    let s = &project.session;
    let missing = s
        .send(ShowStack::new(StackRef::find("nope")))
        .await
        .unwrap_err();
    assert!(missing.is_not_found() && missing.request_id().is_some());
    let mut bad = Document::new();
    bad.add_resource("x", Resource::raw("OS::Nope::Nope"))
        .unwrap();
    let bad = CreateStack::new("bad", StackContent::new(bad));
    let refused = s.send(bad).await.unwrap_err();
    assert_eq!(
        refused.api().unwrap().kind,
        FaultKind::StackValidationFailed,
        "{refused}"
    );
    let made = s.send(CreateStack::new("r1", random())).await.unwrap();
    let taken = s.send(CreateStack::new("r1", random())).await.unwrap_err();
    assert_eq!(taken.api().unwrap().kind, FaultKind::StackExists, "{taken}");
    complete(s, &made.stack).await;
    let idle = action::StackActionRequest::cancel_update(made.stack.clone());
    let refused = s.send(idle).await.unwrap_err();
    assert_eq!(refused.status().unwrap(), 400, "{refused}");
    let foreign = s.send(service::ListServices {}).await.unwrap_err();
    assert_eq!(
        foreign.api().unwrap().kind,
        FaultKind::Forbidden,
        "{foreign}"
    );
    gone(s, &made.stack).await;
    project.remove().await;
}

/// A stack of one random text, whose length is a parameter.
fn random() -> StackContent {
    let mut doc = Document::new();
    let length = Parameter::new(ParameterType::Number).default_value(8);
    doc.add_parameter("length", length).unwrap();
    let text = Resource::raw("OS::Heat::RandomString").property("length", get_param("length"));
    doc.add_resource("r", text).unwrap();
    doc.add_output("text", get_attr("r", "value")).unwrap();
    StackContent::new(doc)
}

async fn types_and_templates(s: &Session) {
    let types = s.send(service::ListResourceTypes::default()).await.unwrap();
    assert!(types.len() > 50);
    let name = || "OS::Nova::Server".to_owned();
    let schema = s
        .send(service::ShowResourceType { name: name() })
        .await
        .unwrap();
    assert!(schema.properties.contains_key("flavor"));
    s.send(service::GenerateTemplate { name: name() })
        .await
        .unwrap();
    let versions = s.send(service::ListTemplateVersions {}).await.unwrap();
    assert!(versions.iter().any(|v| v.version.ends_with("2021-04-16")));
    let version = "heat_template_version.2021-04-16".to_owned();
    let functions = s
        .send(service::ListTemplateFunctions { version })
        .await
        .unwrap();
    assert!(functions.iter().any(|f| f.name == "str_replace"));
    s.send(service::GetBuildInfo {}).await.unwrap();
    for service in [ServiceType::Compute, ServiceType::Orchestration] {
        assert!(!s.api_versions(service).await.unwrap().is_empty());
    }
    let offered = s
        .microversions(ServiceType::Compute)
        .await
        .unwrap()
        .unwrap();
    assert!(offered.1 >= "2.79".parse().unwrap(), "{offered:?}");
    assert_eq!(
        s.microversions(ServiceType::Orchestration).await.unwrap(),
        None
    );
    let found = s
        .send(service::ValidateTemplate::new(random().template))
        .await
        .unwrap();
    assert!(found.parameters.contains_key("length"));
}

async fn software_configs(s: &Session) {
    let config = software::CreateConfig::new("conf", "script").config("#!/bin/sh");
    let config = s.send(config).await.unwrap();
    assert!(!s.send(software::ListConfigs {}).await.unwrap().is_empty());
    s.send(software::ShowConfig {
        id: config.id.clone(),
    })
    .await
    .unwrap();
    // Heat does not look whether the server is there.
    let server = uuid::Uuid::new_v4().to_string();
    let create = software::CreateDeployment {
        config: config.id.clone(),
        server: server.clone(),
        action: "CREATE".into(),
        status: "IN_PROGRESS".into(),
    };
    let made = s.send(create).await.unwrap();
    let id = || made.id.clone();
    let list = software::ListDeployments {
        server: Some(server.clone()),
    };
    assert_eq!(s.send(list).await.unwrap().len(), 1);
    s.send(software::GetServerDeployments { server })
        .await
        .unwrap();
    let changes = json!({"status": "COMPLETE"}).as_object().unwrap().clone();
    s.send(software::UpdateDeployment { id: id(), changes })
        .await
        .unwrap();
    let shown = s.send(software::ShowDeployment { id: id() }).await.unwrap();
    assert_eq!(shown.status, "COMPLETE");
    s.send(software::DeleteDeployment { id: id() })
        .await
        .unwrap();
    s.send(software::DeleteConfig { id: config.id })
        .await
        .unwrap();
}

/// Makes, changes and reads a stack that the other steps go on with.
async fn parts(s: &Session) -> StackRef {
    s.send(PreviewStack(CreateStack::new("o1", random())))
        .await
        .unwrap();
    let create = CreateStack::new("o1", random()).tags(["a", "b"]);
    let stack = s.send(create).await.unwrap().stack;
    complete(s, &stack).await;
    let found = s.send(ShowStack::new(StackRef::find("o1"))).await.unwrap();
    assert_eq!(Some(found.id.as_str()), stack.id());
    let below = s
        .send(ListResources::new(StackRef::find("o1")))
        .await
        .unwrap();
    assert_eq!(below.len(), 1);
    let detail = s.send(ListStacksDetail::default()).await.unwrap();
    assert_eq!(detail[0].id, found.id);

    let longer = PatchStack::new(stack.clone()).parameter("length", 9);
    s.send(PreviewPatch(longer.clone())).await.unwrap();
    s.send(longer).await.unwrap();
    let patched = updated(s, &stack, &found).await;
    assert_eq!(
        (patched.tags.len(), patched.parameters["length"].as_str()),
        (2, Some("9"))
    );
    let clear = PatchStack::new(stack.clone()).tags(Vec::<String>::new());
    s.send(clear).await.unwrap();
    let cleared = updated(s, &stack, &patched).await;
    assert!(cleared.tags.is_empty());
    let content = random().parameter("length", 10);
    let replace = ReplaceStack::new(stack.clone(), content, ["a"]);
    s.send(PreviewReplace(replace.clone())).await.unwrap();
    s.send(replace).await.unwrap();
    updated(s, &stack, &cleared).await;

    let of = || stack.clone();
    assert_eq!(s.send(ListOutputs { stack: of() }).await.unwrap().len(), 1);
    s.send(ShowOutput {
        stack: of(),
        key: "text".into(),
    })
    .await
    .unwrap();
    let template = s.send(GetTemplate { stack: of() }).await.unwrap();
    assert_eq!(template.resources().len(), 1);
    assert!(s.send(GetFiles { stack: of() }).await.unwrap().is_empty());
    s.send(GetEnvironment { stack: of() }).await.unwrap();
    stack
}

/// Waits until an accepted update has ended well; Heat may show the state before for a moment.
async fn updated(s: &Session, stack: &StackRef, before: &Stack) -> Stack {
    let until = Until::changed_since(before).and(Until::complete());
    let (every, limit) = (Duration::from_millis(500), Duration::from_secs(300));
    wait_for(s, stack, until, every, limit).await.unwrap()
}

async fn resources_and_events(s: &Session, stack: &StackRef) {
    let name = || "r".to_owned();
    let of = || stack.clone();
    let shown = s
        .send(ShowResource {
            stack: of(),
            name: name(),
        })
        .await
        .unwrap();
    assert_eq!(shown.kind, "OS::Heat::RandomString");
    s.send(GetResourceMetadata {
        stack: of(),
        name: name(),
    })
    .await
    .unwrap();
    let all = list_events(s, ListEvents::new(stack).page_size(2))
        .await
        .unwrap();
    let streamed: Vec<_> = paging::stream(s, ListEvents::new(stack).page_size(3))
        .map_ok(|event| event.id)
        .try_collect()
        .await
        .unwrap();
    assert_eq!(
        all.iter().map(|e| e.id.clone()).collect::<Vec<_>>(),
        streamed
    );
    let of_one = list_events(s, ListEvents::new(stack).of_resource("r"))
        .await
        .unwrap();
    assert!(!of_one.is_empty() && of_one.len() < all.len());
    let first = GetEvent {
        stack: of(),
        resource: name(),
        id: of_one[0].id.clone(),
    };
    assert_eq!(s.send(first).await.unwrap().id, of_one[0].id);

    let mark = MarkUnhealthy {
        stack: of(),
        name: name(),
        unhealthy: true,
        reason: "test".into(),
    };
    s.send(mark).await.unwrap();
    let before = s.send(ShowStack::new(stack)).await.unwrap();
    s.send(PatchStack::new(of())).await.unwrap();
    updated(s, stack, &before).await;
    let after = s
        .send(ShowResource {
            stack: of(),
            name: name(),
        })
        .await
        .unwrap();
    assert_ne!(
        after.attributes["value"], shown.attributes["value"],
        "it was replaced"
    );
}

async fn snapshots_and_actions(s: &Session, stack: &StackRef) {
    let of = || stack.clone();
    let create = action::CreateSnapshot {
        stack: of(),
        name: "snap".into(),
    };
    let id = s.send(create).await.unwrap().id;
    complete(s, stack).await;
    let all = s.send(action::ListSnapshots { stack: of() }).await.unwrap();
    assert_eq!(all.len(), 1);
    let show = action::ShowSnapshot {
        stack: of(),
        id: id.clone(),
    };
    assert_eq!(s.send(show).await.unwrap().name, "snap");
    let before = s.send(ShowStack::new(stack)).await.unwrap();
    s.send(action::RestoreSnapshot {
        stack: of(),
        id: id.clone(),
    })
    .await
    .unwrap();
    updated(s, stack, &before).await;
    s.send(action::DeleteSnapshot { stack: of(), id })
        .await
        .unwrap();
    for (request, action) in [
        (
            action::StackActionRequest::suspend(of()),
            StackAction::Suspend,
        ),
        (
            action::StackActionRequest::resume(of()),
            StackAction::Resume,
        ),
        (action::StackActionRequest::check(of()), StackAction::Check),
    ] {
        s.send(request).await.unwrap();
        let wanted = action.clone();
        let done = Until::new(
            move |now| match (now.status.action == wanted, &now.status.phase) {
                (true, Phase::Complete) => Verdict::Met,
                (true, Phase::Failed) => Verdict::Failed,
                _ => Verdict::Wait,
            },
        );
        let (every, limit) = (Duration::from_millis(500), Duration::from_secs(120));
        let ended = wait_for(s, stack, done, every, limit).await.unwrap();
        assert_eq!(ended.status.action, action);
    }
}

/// What an operator has to switch on first is refused with a typed error.
async fn switched_off(s: &Session, stack: &StackRef) {
    let data = json!({"name": "a1", "action": "CREATE", "status": "COMPLETE", "resources": {},
        "template": random().template.to_json()});
    let adopt = CreateStack::new("a1", random()).adopting(data.to_string());
    for refused in [
        s.send(action::ExportStack {
            stack: stack.clone(),
        })
        .await
        .unwrap_err(),
        s.send(action::AbandonStack {
            stack: stack.clone(),
        })
        .await
        .unwrap_err(),
        s.send(adopt).await.unwrap_err(),
    ] {
        let api = refused.api().unwrap();
        let kind = FaultKind::Other("NotSupported".into());
        assert_eq!((api.status.as_u16(), &api.kind), (400, &kind), "{refused}");
    }
}

async fn signals(s: &Session) {
    let mut doc = Document::new();
    let handle = WaitConditionHandle::new().signal_transport(SignalTransport::HeatSignal);
    doc.add_resource("handle", handle).unwrap();
    let stack = s
        .send(CreateStack::new("o2", StackContent::new(doc)))
        .await
        .unwrap()
        .stack;
    complete(s, &stack).await;
    let signal = SignalResource {
        stack: stack.clone(),
        name: "handle".into(),
        signal: json!({"id": "boot", "status": "FAILURE", "reason": "disk full", "data": "d"}),
    };
    s.send(signal).await.unwrap();
    let received = received_signals(s, &stack, "handle").await.unwrap();
    assert_eq!(
        (received[0].status.as_str(), received[0].reason.as_str()),
        ("FAILURE", "disk full")
    );
    // Without a wait condition a failure is heard and fails nothing.
    assert!(
        s.send(ShowStack::new(&stack))
            .await
            .unwrap()
            .status
            .is_complete()
    );
    gone(s, &stack).await;
}

/// Cancels an update that takes long.
async fn cancelled(s: &Session, name: &str, rollback: bool) {
    let mut doc = Document::new();
    let value = Parameter::new(ParameterType::String).default_value("a");
    doc.add_parameter("value", value).unwrap();
    let slow = Resource::raw("OS::Heat::TestResource")
        .property("value", get_param("value"))
        .property(
            "action_wait_secs",
            magnum_heat::hot::Value::map([("update", 20)]),
        );
    doc.add_resource("slow", slow).unwrap();
    let stack = s
        .send(CreateStack::new(name, StackContent::new(doc)))
        .await
        .unwrap()
        .stack;
    complete(s, &stack).await;
    let (every, limit) = (Duration::from_millis(500), Duration::from_secs(180));
    s.send(PatchStack::new(stack.clone()).parameter("value", "b"))
        .await
        .unwrap();
    let begun = |now: &Stack| match now.status.is_in_progress() {
        true => Verdict::Met,
        false => Verdict::Wait,
    };
    wait_for(s, &stack, Until::new(begun), every, limit)
        .await
        .unwrap();
    let cancel = if rollback {
        action::StackActionRequest::cancel_update(stack.clone())
    } else {
        action::StackActionRequest::cancel_without_rollback(stack.clone())
    };
    s.send(cancel).await.unwrap();
    let ended = wait_for(s, &stack, Until::settled(), every, limit)
        .await
        .unwrap();
    let wanted = if rollback {
        "ROLLBACK_COMPLETE"
    } else {
        "UPDATE_FAILED"
    };
    assert_eq!(ended.status.to_string(), wanted, "{}", ended.status_reason);
    gone(s, &stack).await;
}

/// Five stacks in pages of two.
async fn lists_by_two(s: &Session, record: &Record) {
    let mut doc = Document::new();
    doc.add_resource("n", Resource::raw("OS::Heat::None"))
        .unwrap();
    let mut made = Vec::new();
    for n in 0..5 {
        let create = CreateStack::new(format!("p{n}"), StackContent::new(doc.clone()));
        made.push(s.send(create).await.unwrap().stack);
    }
    for stack in &made {
        complete(s, stack).await;
    }
    let mut by_two = ListStacks::new();
    by_two.limit = Some(2);
    let before = record.count("list");
    let listed = list_stacks(s, by_two.clone()).await.unwrap();
    assert_eq!(record.count("list") - before, 3);
    let streamed: Vec<StackSummary> = paging::stream(s, by_two).try_collect().await.unwrap();
    assert_eq!(listed, streamed);
    let mut ids: Vec<Option<&str>> = listed.iter().map(|l| Some(l.id.as_str())).collect();
    let mut wanted: Vec<Option<&str>> = made.iter().map(StackRef::id).collect();
    ids.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(ids, wanted);
    for stack in &made {
        gone(s, stack).await;
    }
}
