//! Every group of calls against a real OpenStack, in a project of its own that is removed afterwards.
//!
//! Needs `MAGNUM_TEST_CLOUD_ADMIN` (a cloud of clouds.yaml whose user is an administrator); see `tests/cloud`.

#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::StreamExt;
use http::HeaderValue;
use magnum_heat::{
    Auth, CloudConfig, Env, Error, FaultKind, Scope, ServiceType, Session,
    auth::UserRef,
    barbican, cinder,
    diagnose::{CauseKind, root_cause},
    event::{ListEvents, list_events},
    follow::{Follow, Until, wait_for},
    glance,
    heat::{action, misc},
    hot::{
        Document, Files, Parameter, ParameterType, Resource, get_attr, get_param, get_resource,
        str_replace,
        types::{
            FloatingIp, Net, Port, Router, RouterInterface, SecurityGroup, SecurityGroupRule,
            Server, ServerGroup, ServerNetwork, SignalTransport, Subnet, WaitConditionHandle,
        },
    },
    http::{HttpError, HttpService},
    ironic, keystone, neutron, nova, octavia, placement,
    resource::{
        GetResourceMetadata, ListResources, MarkUnhealthy, ShowResource, SignalResource,
        received_signals,
    },
    stack::{
        AdoptOutcome, CreateStack, DeleteStack, DeleteWait, GetEnvironment, GetFiles, GetTemplate,
        ListOutputs, ListStacks, PatchStack, PreviewStack, ReplaceStack, ShowOutput, ShowStack,
        StackContent, StackRef, create_stack_or_adopt, find_stack, list_stacks, wait_deleted,
    },
};
use serde_json::json;

/// An image that the test cloud's bootstrap makes.
const IMAGE: &str = "ubuntu-k8s-v1.36";

struct Project {
    admin: Session,
    session: Session,
    id: String,
    user: String,
}

impl Project {
    async fn new(name: &str) -> Self {
        let env = Env::from_process();
        let cloud = env
            .var("MAGNUM_TEST_CLOUD_ADMIN")
            .expect("MAGNUM_TEST_CLOUD_ADMIN names the administrator's cloud");
        let config = CloudConfig::load(Some(cloud), &env).unwrap();
        let admin = Session::connect(config.clone()).await.unwrap();
        let name = format!("{name}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        let domain = "default".to_owned();
        let create = keystone::CreateProject {
            name: name.clone(),
            domain: domain.clone(),
            description: String::new(),
        };
        let project = admin.send(create).await.unwrap();
        let password = secrecy::SecretString::from(uuid::Uuid::new_v4().to_string());
        let user = admin
            .send(keystone::CreateUser {
                name,
                domain,
                password: password.clone(),
                default_project: Some(project.id.clone()),
                description: String::new(),
            })
            .await
            .unwrap();
        for role in ["member", "load-balancer_member", "creator"] {
            let role = keystone::find_role(&admin, role).await.unwrap().id;
            let assign = keystone::AssignRole {
                project: project.id.clone(),
                user: user.id.clone(),
                role,
            };
            admin.send(assign).await.unwrap();
        }
        let auth = Auth::Password {
            user: UserRef::Id(user.id.clone()),
            password,
        };
        let session = admin
            .reauthenticated(auth, Scope::project(&project.id))
            .await
            .unwrap();
        Self {
            admin,
            session,
            id: project.id,
            user: user.id,
        }
    }

    async fn remove(self) {
        for left in list_stacks(&self.session, ListStacks::new()).await.unwrap() {
            gone(&self.session, &left.reference()).await;
        }
        let mine = neutron::ListItems::<neutron::SecurityGroup>::new().of_project(&self.id);
        for group in neutron::list(&self.admin, mine).await.unwrap() {
            let _ = neutron::delete::<neutron::SecurityGroup>(&self.admin, &group.id).await;
        }
        self.admin
            .send(keystone::DeleteUser { id: self.user })
            .await
            .unwrap();
        self.admin
            .send(keystone::DeleteProject { id: self.id })
            .await
            .unwrap();
    }
}

async fn gone(session: &Session, stack: &StackRef) {
    let Ok(before) = session.send(ShowStack::new(stack)).await else {
        return;
    };
    session
        .send(DeleteStack {
            stack: stack.clone(),
        })
        .await
        .unwrap();
    let wait = DeleteWait::new(Some(&before), Duration::from_secs(60));
    wait_deleted(
        session,
        stack,
        wait,
        Duration::from_secs(1),
        Duration::from_secs(300),
    )
    .await
    .unwrap();
}

async fn complete(session: &Session, stack: &StackRef) -> magnum_heat::stack::Stack {
    wait_for(
        session,
        stack,
        Until::complete(),
        Duration::from_secs(1),
        Duration::from_secs(300),
    )
    .await
    .unwrap()
}

fn member(doc: &mut Document, files: &mut Files, n: usize) {
    let text = files.add("boot", "#cloud-config\n# @NAME@\n");
    let handle = WaitConditionHandle::new().signal_transport(SignalTransport::HeatSignal);
    doc.add_resource(format!("signal_{n}"), handle).unwrap();
    let port = Port::new(get_resource("net"))
        .subnet(get_resource("subnet"))
        .security_groups([get_resource("group")]);
    doc.add_resource(
        format!("port_{n}"),
        port.name(format!("m-{n}")).tags(["mark"]),
    )
    .unwrap();
    let server = Server::new("m1.small")
        .name(format!("m-{n}"))
        .image(IMAGE)
        .networks([ServerNetwork::Port(get_resource(&format!("port_{n}")))])
        .user_data(str_replace(
            text,
            [("@NAME@", get_attr(&format!("signal_{n}"), "signal"))],
        ))
        .group(get_resource("servers"))
        .metadata(magnum_heat::hot::Value::map([("mark", "m")]))
        .immutable();
    doc.add_resource(format!("server_{n}"), server).unwrap();
}

fn cluster() -> StackContent {
    let mut doc = Document::new().description("small cluster");
    let mut files = Files::new();
    doc.add_parameter(
        "external",
        Parameter::new(ParameterType::String).default_value("public"),
    )
    .unwrap();
    doc.add_resource("net", Net::new().name("net").tags(["mark"]))
        .unwrap();
    let subnet = Subnet::new(get_resource("net"))
        .cidr("10.77.0.0/24")
        .dns_nameservers(["192.0.2.53"])
        .tags(["mark"]);
    doc.add_resource("subnet", subnet).unwrap();
    doc.add_resource(
        "router",
        Router::new().gateway(get_param("external")).tags(["mark"]),
    )
    .unwrap();
    doc.add_resource(
        "link",
        RouterInterface::new(get_resource("router")).subnet(get_resource("subnet")),
    )
    .unwrap();
    doc.add_resource(
        "group",
        SecurityGroup::new().name("group").description("mark"),
    )
    .unwrap();
    let rule = SecurityGroupRule::new(get_resource("group"))
        .protocol("tcp")
        .ports(6443, 6443)
        .remote_ip_prefix("0.0.0.0/0");
    doc.add_resource("rule", rule).unwrap();
    doc.add_resource(
        "servers",
        ServerGroup::new()
            .name("servers")
            .policies(["soft-anti-affinity"]),
    )
    .unwrap();
    member(&mut doc, &mut files, 0);
    let fip = FloatingIp::new(get_param("external")).port_id(get_resource("port_0"));
    doc.add_resource("fip", Resource::new(fip).depends_on(["link"]))
        .unwrap();
    doc.add_output("address", get_attr("fip", "floating_ip_address"))
        .unwrap();
    StackContent::new(doc).files(files)
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_of_explicit_members() {
    let project = Project::new("heat-members").await;
    let s = &project.session;
    let content = cluster();
    s.send(misc::ValidateTemplate::new(content.template.clone()).files(content.files.clone()))
        .await
        .unwrap();
    s.send(PreviewStack(CreateStack::new("c1", content.clone())))
        .await
        .unwrap();
    let request = CreateStack::new("c1", content.clone()).timeout_mins(20);
    let made = create_stack_or_adopt(s, request.clone(), "mark-1")
        .await
        .unwrap();
    assert!(matches!(made, AdoptOutcome::Created(_)));
    let again = create_stack_or_adopt(s, request.clone(), "mark-1")
        .await
        .unwrap();
    assert_eq!(again, AdoptOutcome::Adopted(made.stack().clone()));
    assert!(matches!(
        create_stack_or_adopt(s, request, "mark-2").await,
        Err(Error::ForeignStack { .. })
    ));
    let stack = made.stack().clone();

    let mut follow = Box::pin(
        Follow::new(stack.clone())
            .every(Duration::from_secs(1))
            .stream(s.clone()),
    );
    let mut seen = Vec::new();
    while let Some(event) = follow.next().await {
        let event = event.unwrap();
        let last = event.is_of_stack() && !event.status.is_in_progress();
        seen.push(event.id);
        if last {
            break;
        }
    }
    assert!(seen.len() > 10);
    complete(s, &stack).await;
    let all = list_events(s, ListEvents::new(&stack).page_size(2))
        .await
        .unwrap();
    assert!(all.len() >= seen.len());
    let shown = s.send(ShowStack::new(&stack).with_outputs()).await.unwrap();
    assert!(
        shown
            .output_str("address")
            .is_some_and(|a| a.starts_with("172.24.4.")),
        "{shown:?}"
    );
    assert!(shown.has_tag("mark-1"));
    assert_eq!(
        list_stacks(s, ListStacks::new().with_tags(["mark-1"]))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(find_stack(s, "c1").await.unwrap().unwrap().id, shown.id);
    assert_eq!(
        s.send(ListOutputs {
            stack: stack.clone()
        })
        .await
        .unwrap()
        .len(),
        1
    );
    s.send(ShowOutput {
        stack: stack.clone(),
        key: "address".into(),
    })
    .await
    .unwrap();
    assert_eq!(
        s.send(GetTemplate {
            stack: stack.clone()
        })
        .await
        .unwrap()
        .resources()
        .len(),
        content.template.resources().len()
    );
    assert_eq!(
        s.send(GetFiles {
            stack: stack.clone()
        })
        .await
        .unwrap()
        .len(),
        1
    );
    s.send(GetEnvironment {
        stack: stack.clone(),
    })
    .await
    .unwrap();

    // Signals.
    let signal = SignalResource {
        stack: stack.clone(),
        name: "signal_0".into(),
        signal: json!({"id": "boot", "status": "SUCCESS", "reason": "r", "data": "d"}),
    };
    s.send(signal).await.unwrap();
    let signals = received_signals(s, &stack, "signal_0").await.unwrap();
    assert_eq!(
        (signals[0].id.as_str(), signals[0].status.as_str()),
        ("boot", "SUCCESS")
    );
    s.send(GetResourceMetadata {
        stack: stack.clone(),
        name: "signal_0".into(),
    })
    .await
    .unwrap();

    // One member comes; everything else keeps its physical id.
    let before = s.send(ListResources::new(&stack)).await.unwrap();
    let mut next = content.clone();
    member(&mut next.template, &mut next.files, 1);
    let named = ["signal_1", "port_1", "server_1"];
    magnum_heat::hot::prove_only(&content.template, &next.template, named, []).unwrap();
    s.send(ReplaceStack::new(stack.clone(), next.clone(), ["mark-1"]))
        .await
        .unwrap();
    let updated = complete(s, &stack).await;
    assert_eq!(updated.status.to_string(), "UPDATE_COMPLETE");
    let after = s.send(ListResources::new(&stack)).await.unwrap();
    for old in &before {
        let new = after.iter().find(|r| r.name == old.name).unwrap();
        assert_eq!(new.physical_id, old.physical_id, "{}", old.name);
    }
    assert_eq!(after.len(), before.len() + 3);
    let server = s
        .send(ShowResource {
            stack: stack.clone(),
            name: "server_1".into(),
        })
        .await
        .unwrap();
    assert_eq!(server.attributes["name"], "m-1");

    // A bad node is marked; the next update replaces it.
    let mark = MarkUnhealthy {
        stack: stack.clone(),
        name: "server_1".into(),
        unhealthy: true,
        reason: "test".into(),
    };
    s.send(mark).await.unwrap();
    s.send(action::StackActionRequest::check(stack.clone()))
        .await
        .unwrap();
    wait_for(
        s,
        &stack,
        Until::settled(),
        Duration::from_secs(1),
        Duration::from_secs(120),
    )
    .await
    .unwrap();

    // The other services see what the stack made.
    let servers = nova::list_servers(s, nova::ListServers::new())
        .await
        .unwrap();
    assert_eq!(servers.len(), 2);
    assert_eq!(
        s.send(nova::ShowServer {
            id: servers[0].id.clone()
        })
        .await
        .unwrap()
        .metadata["mark"],
        "m"
    );
    let ports = neutron::list(
        s,
        neutron::ListItems::<neutron::Port>::new().with_tag("mark"),
    )
    .await
    .unwrap();
    assert_eq!(ports.len(), 2);
    assert_eq!(
        neutron::list(s, neutron::ListItems::<neutron::FloatingIp>::new())
            .await
            .unwrap()
            .len(),
        1
    );
    let net = neutron::find::<neutron::Network>(s, "net").await.unwrap();
    assert!(net.mtu.is_some() && net.port_security_enabled == Some(true));
    assert_eq!(
        neutron::find::<neutron::Subnet>(s, &net.subnets[0])
            .await
            .unwrap()
            .cidr,
        "10.77.0.0/24"
    );
    let routers = neutron::list(
        s,
        neutron::ListItems::<neutron::Router>::new().with_tag("mark"),
    )
    .await
    .unwrap();
    assert!(routers[0].external_gateway_info.is_some());
    assert_eq!(
        s.send(nova::ListServerGroups {}).await.unwrap()[0]
            .members
            .len(),
        2
    );
    gone(s, &stack).await;
    assert!(
        nova::list_servers(s, nova::ListServers::new())
            .await
            .unwrap()
            .is_empty()
    );
    project.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_operations_of_heat() {
    let project = Project::new("heat-other").await;
    let s = &project.session;
    assert!(
        s.send(misc::ListResourceTypes::default())
            .await
            .unwrap()
            .len()
            > 50
    );
    let schema = s
        .send(misc::ShowResourceType {
            name: "OS::Nova::Server".into(),
        })
        .await
        .unwrap();
    assert!(schema.properties.contains_key("flavor"));
    s.send(misc::GenerateTemplate {
        name: "OS::Neutron::Port".into(),
    })
    .await
    .unwrap();
    let versions = s.send(misc::ListTemplateVersions {}).await.unwrap();
    assert!(versions.iter().any(|v| v.version.ends_with("2021-04-16")));
    let functions = s
        .send(misc::ListTemplateFunctions {
            version: "heat_template_version.2021-04-16".into(),
        })
        .await
        .unwrap();
    assert!(functions.iter().any(|f| f.name == "str_replace"));
    s.send(misc::GetBuildInfo {}).await.unwrap();
    assert!(
        !project
            .admin
            .send(misc::ListServices {})
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

#[tokio::test(flavor = "multi_thread")]
async fn quota_failure_is_diagnosed() {
    let project = Project::new("heat-quota").await;
    let quotas = json!({"instances": 0}).as_object().unwrap().clone();
    project
        .admin
        .send(nova::SetQuota {
            project: project.id.clone(),
            quotas,
        })
        .await
        .unwrap();
    let s = &project.session;
    let made = s.send(CreateStack::new("q1", cluster())).await.unwrap();
    let error = wait_for(
        s,
        &made.stack,
        Until::complete(),
        Duration::from_secs(1),
        Duration::from_secs(300),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, Error::StackState { .. }), "{error}");
    let cause = root_cause(s, &made.stack).await.unwrap().unwrap();
    let CauseKind::Quota(numbers) = &cause.kind else {
        panic!("{cause:?}")
    };
    assert_eq!(
        (numbers.resource.as_str(), numbers.limit),
        ("instances", Some(0))
    );
    assert_eq!(cause.path, ["server_0"]);
    println!("{cause}");
    assert_eq!(
        s.send(nova::GetQuota {
            project: project.id.clone()
        })
        .await
        .unwrap()
        .instances
        .free(),
        Some(0)
    );
    gone(s, &made.stack).await;
    project.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_services_and_credentials() {
    let project = Project::new("heat-services").await;
    let (s, admin) = (&project.session, &project.admin);
    let image = glance::find_image(s, IMAGE).await.unwrap();
    assert!(image.is_active());
    assert_eq!(glance::find_image(s, &image.id).await.unwrap().id, image.id);
    assert!(
        glance::find_image(s, "no such: image")
            .await
            .unwrap_err()
            .is_not_found()
    );
    let flavor = nova::find_flavor(s, "m1.small").await.unwrap();
    nova::find_flavor(s, &flavor.id).await.unwrap();
    assert_eq!(
        nova::find_flavor(s, "baremetal")
            .await
            .unwrap()
            .resource_class()
            .as_deref(),
        Some("baremetal")
    );
    assert!(
        nova::find_keypair(s, "nope")
            .await
            .unwrap_err()
            .is_not_found()
    );
    s.send(nova::GetLimits {}).await.unwrap();
    s.send(nova::ListAvailabilityZones {}).await.unwrap();
    assert!(
        neutron::find::<neutron::Network>(s, "public")
            .await
            .unwrap()
            .external
    );
    s.send(neutron::GetQuota {
        project: project.id.clone(),
    })
    .await
    .unwrap();
    s.send(neutron::ListExtensions {}).await.unwrap();
    let providers = s.send(octavia::ListProviders {}).await.unwrap();
    assert!(providers.iter().any(|p| p.name == "ovn"));
    assert!(
        s.send(octavia::ListLoadBalancers { filters: vec![] })
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        octavia::find_load_balancer(s, "nope")
            .await
            .unwrap_err()
            .is_not_found()
    );
    s.send(octavia::GetQuota {
        project: project.id.clone(),
    })
    .await
    .unwrap();
    s.send(cinder::ListVolumes { filters: vec![] })
        .await
        .unwrap();
    s.send(cinder::GetQuota {
        project: project.id.clone(),
    })
    .await
    .unwrap();
    let kinds = s.send(cinder::ListVolumeTypes {}).await.unwrap();
    cinder::find_volume_type(s, &kinds[0].name).await.unwrap();
    assert!(
        !admin
            .send(ironic::ListNodes {
                resource_class: Some("baremetal".into())
            })
            .await
            .unwrap()
            .is_empty()
    );
    let class = [("CUSTOM_BAREMETAL".to_owned(), 1)].into();
    admin
        .send(placement::ListResourceProviders { resources: class })
        .await
        .unwrap();
    let size = [("VCPU".to_owned(), 1), ("MEMORY_MB".to_owned(), 512)].into();
    let room = placement::GetAllocationCandidates {
        resources: size,
        required: vec![],
        limit: 10,
    };
    assert!(
        !admin
            .send(room)
            .await
            .unwrap()
            .allocation_requests
            .is_empty()
    );

    let secret = s
        .send(barbican::StoreSecret {
            name: "ca".into(),
            payload: "hello".into(),
        })
        .await
        .unwrap();
    let read = s
        .send(barbican::GetPayload {
            id: secret.id().to_owned(),
        })
        .await
        .unwrap();
    assert_eq!(secrecy::ExposeSecret::expose_secret(&read), "hello");
    assert_eq!(
        s.send(barbican::ListSecrets {
            name: Some("ca".into())
        })
        .await
        .unwrap()
        .len(),
        1
    );
    let acl = barbican::SetSecretAcl {
        id: secret.id().to_owned(),
        users: vec![project.user.clone()],
        project_access: true,
    };
    s.send(acl).await.unwrap();
    s.send(barbican::DeleteSecret {
        id: secret.id().to_owned(),
    })
    .await
    .unwrap();

    // Application credential: log in with it.
    let credential = s
        .send(keystone::CreateApplicationCredential::new(&project.user, "ac").roles(["member"]))
        .await
        .unwrap();
    let auth = Auth::ApplicationCredential {
        id: credential.id.clone(),
        secret: credential.secret.unwrap(),
    };
    let node = s.reauthenticated(auth, Scope::Unscoped).await.unwrap();
    assert_eq!(node.project_id().await.unwrap(), project.id);
    assert!(!node.token_info().await.unwrap().has_role("creator"));
    let list = keystone::ListApplicationCredentials {
        user: project.user.clone(),
        name: Some("ac".into()),
    };
    assert_eq!(s.send(list).await.unwrap().len(), 1);
    s.send(keystone::DeleteApplicationCredential {
        user: project.user.clone(),
        id: credential.id,
    })
    .await
    .unwrap();

    // Trust: another user acts in this project.
    let password = secrecy::SecretString::from("a-trustee-password");
    let trustee = admin
        .send(keystone::CreateUser {
            name: format!("trustee-{}", project.id),
            domain: "default".into(),
            password: password.clone(),
            default_project: None,
            description: String::new(),
        })
        .await
        .unwrap();
    let trust = s
        .send(keystone::CreateTrust::new(
            &project.user,
            &trustee.id,
            &project.id,
            ["member"],
        ))
        .await
        .unwrap();
    let auth = Auth::Password {
        user: UserRef::Id(trustee.id.clone()),
        password,
    };
    let trusted = s
        .reauthenticated(auth, Scope::Trust(trust.id.clone()))
        .await
        .unwrap();
    assert_eq!(trusted.project_id().await.unwrap(), project.id);
    assert_eq!(trusted.user_id().await.unwrap(), project.user);
    list_stacks(&trusted, ListStacks::new()).await.unwrap();
    assert_eq!(
        s.send(keystone::ListTrusts {
            trustor: project.user.clone()
        })
        .await
        .unwrap()
        .len(),
        1
    );
    s.send(keystone::DeleteTrust { id: trust.id })
        .await
        .unwrap();
    admin
        .send(keystone::DeleteUser { id: trustee.id })
        .await
        .unwrap();
    project.remove().await;
}

/// Replaces the first token it sees by an invalid one, as if it had been revoked, and counts logins.
#[derive(Debug)]
struct Revoking {
    inner: Arc<dyn HttpService>,
    revoked: Mutex<Option<HeaderValue>>,
    logins: AtomicUsize,
}

#[async_trait::async_trait]
impl HttpService for Revoking {
    async fn call(
        &self,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        if request.uri().path().ends_with("/auth/tokens") {
            self.logins.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(token) = request.headers_mut().get_mut("x-auth-token") {
            let mut revoked = self.revoked.lock().unwrap();
            if revoked.get_or_insert_with(|| token.clone()) == token {
                *token = HeaderValue::from_static("invalid");
            }
        }
        self.inner.call(request).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn au_01_a_revoked_token_is_replaced_once_by_fifty_calls() {
    let project = Project::new("heat-token").await;
    let revoking = Arc::new(Revoking {
        inner: project.session.http(),
        revoked: Mutex::new(None),
        logins: AtomicUsize::new(0),
    });
    let cloud = project.session.cloud().clone();
    let s = Session::builder(cloud)
        .http(revoking.clone())
        .connect()
        .await
        .unwrap();
    let results = futures::future::join_all((0..50).map(|_| s.send(ListStacks::new()))).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(revoking.logins.load(Ordering::SeqCst), 2);
    project.remove().await;
}
