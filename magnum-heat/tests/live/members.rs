//! A stack of explicit members: create, adopt, follow, edit, look at, delete.

use std::time::Duration;

use futures::StreamExt;
use magnum_heat::{
    Error,
    event::{ListEvents, list_events},
    follow::{Follow, Until, wait_for},
    heat::{action, service},
    neutron, nova,
    resource::{
        GetResourceMetadata, ListResources, MarkUnhealthy, ShowResource, SignalResource,
        received_signals,
    },
    stack::{
        AdoptOutcome, CreateStack, GetEnvironment, GetFiles, GetTemplate, ListOutputs, ListStacks,
        PreviewStack, ReplaceStack, ShowOutput, ShowStack, create_stack_or_adopt, find_stack,
        list_stacks,
    },
};
use serde_json::json;

use super::project::*;
#[tokio::test(flavor = "multi_thread")]
async fn stacks_of_explicit_members() {
    let project = Project::new("heat-members").await;
    let s = &project.session;
    let content = cluster();
    s.send(service::ValidateTemplate::new(content.template.clone()).files(content.files.clone()))
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
    // Nova's list can show a server for a moment after Heat has seen it go.
    let mut left = usize::MAX;
    for _ in 0..60 {
        let servers = nova::list_servers(s, nova::ListServers::new()).await;
        left = servers.unwrap().len();
        if left == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    assert_eq!(left, 0);
    project.remove().await;
}
