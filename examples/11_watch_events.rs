//! The stream of events: what an operation does, step by step, and how to go on where one stopped reading.
//!
//! `cargo run -p magnum-examples --example watch_events`

use std::sync::Arc;

use futures::StreamExt as _;
use magnum_certs::{Envelope, SealingKey};
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::MemoryStore;
use magnum_core::{
    ClusterName, Engine, Event, EventKind, NewCluster, NewClusterTemplate, RequestContext,
    TemplateName, TemplateSpec,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In this cloud a node is there at once.
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(0);
    let engine = Engine::builder()
        .store(Arc::new(MemoryStore::new()))
        .sealer(Arc::new(Envelope::new(SealingKey::generate()?)))
        .driver(Arc::new(MemoryDriver::new(cloud)))
        .build()?;
    let caller = RequestContext::new("project", "user");
    let mut spec = TemplateSpec::new("ubuntu", "m1.small");
    spec.external_network = Some("public".to_owned());
    let template = NewClusterTemplate {
        name: TemplateName::new("small")?,
        spec,
        public: false,
        hidden: false,
    };
    engine.create_cluster_template(&caller, template).await?;

    // Watch from the next event on; what was before is history that can be read with `events`.
    let mut events = engine.watch(&caller, engine.last_event().await?);
    let worker = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(std::future::pending()).await }
    });
    let mut new = NewCluster::new(ClusterName::new("prod")?, "small");
    new.node_count = 2;
    let accepted = engine.create_cluster(&caller, new).await?;

    // A reader that stops after its third event keeps the number of the last one it has seen ..
    let mut seen = 0;
    for _ in 0..3 {
        let event = events.next().await.ok_or("the stream has no end")??;
        print(&event);
        seen = event.seq;
    }
    drop(events);
    println!("   stopped after {seen}");

    // .. and goes on from there, in this process or another: nothing is missed, nothing comes twice.
    let mut events = engine.watch(&caller, seen);
    loop {
        let event = events.next().await.ok_or("the stream has no end")??;
        assert_eq!(event.seq, seen + 1, "no gap: there is one project only");
        seen = event.seq;
        print(&event);
        let ours = event.operation == Some(accepted.operation.id);
        if ours && matches!(event.kind, EventKind::OperationEnded { .. }) {
            break;
        }
    }
    worker.abort();
    println!("watch_events: {seen} events in order");
    Ok(())
}

fn print(event: &Event) {
    let text = match &event.kind {
        EventKind::ClusterStatus { from, to, .. } => match from {
            Some(from) => format!("cluster {from} -> {to}"),
            None => format!("cluster {to}"),
        },
        EventKind::NodeGroupStatus { name, to, .. } => format!("node group {name} {to}"),
        EventKind::OperationAccepted { change, .. } => format!("{change} accepted"),
        EventKind::OperationStarted { change } => format!("{change} started"),
        EventKind::OperationProgress { progress } => progress.step.clone(),
        EventKind::OperationEnded {
            change, outcome, ..
        } => format!("{change} {outcome:?}"),
        EventKind::MemberChanged { name, to, .. } => match to {
            Some(phase) => format!("node {name} {}", phase.as_str()),
            None => format!("node {name} is gone"),
        },
        // New kinds may come with new versions: a reader shows what it does not know, or leaves it out.
        other => format!("{other:?}"),
    };
    println!("{:4} {text}", event.seq);
}
