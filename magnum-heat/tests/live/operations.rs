//! The other operations of Heat.

use magnum_heat::{
    FaultKind, ServiceType,
    heat::{action, service},
    hot::{Document, Parameter, ParameterType, Resource, get_param},
    stack::{CreateStack, PatchStack, ShowStack, StackContent, StackRef},
};

use super::project::*;
#[tokio::test(flavor = "multi_thread")]
async fn other_operations_of_heat() {
    let project = Project::new("heat-other").await;
    let s = &project.session;
    assert!(
        s.send(service::ListResourceTypes::default())
            .await
            .unwrap()
            .len()
            > 50
    );
    let schema = s
        .send(service::ShowResourceType {
            name: "OS::Nova::Server".into(),
        })
        .await
        .unwrap();
    assert!(schema.properties.contains_key("flavor"));
    s.send(service::GenerateTemplate {
        name: "OS::Neutron::Port".into(),
    })
    .await
    .unwrap();
    let versions = s.send(service::ListTemplateVersions {}).await.unwrap();
    assert!(versions.iter().any(|v| v.version.ends_with("2021-04-16")));
    let functions = s
        .send(service::ListTemplateFunctions {
            version: "heat_template_version.2021-04-16".into(),
        })
        .await
        .unwrap();
    assert!(functions.iter().any(|f| f.name == "str_replace"));
    s.send(service::GetBuildInfo {}).await.unwrap();
    assert!(
        !project
            .admin
            .send(service::ListServices {})
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        !s.api_versions(ServiceType::Compute)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        !s.api_versions(ServiceType::Orchestration)
            .await
            .unwrap()
            .is_empty()
    );

    let mut doc = Document::new();
    doc.add_parameter(
        "length",
        Parameter::new(ParameterType::Number).default_value(8),
    )
    .unwrap();
    doc.add_resource(
        "r",
        Resource::raw("OS::Heat::RandomString").property("length", get_param("length")),
    )
    .unwrap();
    let made = s
        .send(CreateStack::new("o1", StackContent::new(doc)).tags(["a", "b"]))
        .await
        .unwrap();
    let stack = made.stack;
    complete(s, &stack).await;
    s.send(PatchStack::new(stack.clone()).parameter("length", 9))
        .await
        .unwrap();
    let patched = complete(s, &stack).await;
    assert_eq!(
        (patched.tags.len(), patched.parameters["length"].as_str()),
        (2, Some("9"))
    );
    s.send(PatchStack::new(stack.clone()).tags(Vec::<String>::new()))
        .await
        .unwrap();
    assert!(complete(s, &stack).await.tags.is_empty());

    let snapshot = s
        .send(action::CreateSnapshot {
            stack: stack.clone(),
            name: "snap".into(),
        })
        .await
        .unwrap();
    complete(s, &stack).await;
    assert_eq!(
        s.send(action::ListSnapshots {
            stack: stack.clone()
        })
        .await
        .unwrap()
        .len(),
        1
    );
    let id = snapshot.id;
    s.send(action::ShowSnapshot {
        stack: stack.clone(),
        id: id.clone(),
    })
    .await
    .unwrap();
    s.send(action::RestoreSnapshot {
        stack: stack.clone(),
        id: id.clone(),
    })
    .await
    .unwrap();
    complete(s, &stack).await;
    s.send(action::DeleteSnapshot {
        stack: stack.clone(),
        id,
    })
    .await
    .unwrap();
    s.send(action::StackActionRequest::suspend(stack.clone()))
        .await
        .unwrap();
    complete(s, &stack).await;
    s.send(action::StackActionRequest::resume(stack.clone()))
        .await
        .unwrap();
    complete(s, &stack).await;
    match s
        .send(action::ExportStack {
            stack: stack.clone(),
        })
        .await
    {
        Ok(exported) => assert!(exported["resources"].is_object()),
        // Heat has it switched off unless its operator enables it.
        Err(error) => assert_eq!(
            error.api().unwrap().kind,
            FaultKind::Other("NotSupported".into()),
            "{error}"
        ),
    }

    let config = s
        .send(magnum_heat::heat::software::CreateConfig::new("conf", "script").config("#!/bin/sh"))
        .await
        .unwrap();
    assert!(
        !s.send(magnum_heat::heat::software::ListConfigs {})
            .await
            .unwrap()
            .is_empty()
    );
    s.send(magnum_heat::heat::software::ShowConfig {
        id: config.id.clone(),
    })
    .await
    .unwrap();
    s.send(magnum_heat::heat::software::ListDeployments { server: None })
        .await
        .unwrap();
    s.send(magnum_heat::heat::software::DeleteConfig { id: config.id })
        .await
        .unwrap();

    // Errors.
    let missing = s
        .send(ShowStack::new(StackRef::find("nope")))
        .await
        .unwrap_err();
    assert!(missing.is_not_found() && missing.request_id().is_some());
    let mut bad = Document::new();
    bad.add_resource("x", Resource::raw("OS::Nope::Nope"))
        .unwrap();
    let refused = s
        .send(CreateStack::new("bad", StackContent::new(bad)))
        .await
        .unwrap_err();
    assert_eq!(
        refused.api().unwrap().kind,
        FaultKind::StackValidationFailed,
        "{refused}"
    );
    gone(s, &stack).await;
    project.remove().await;
}
