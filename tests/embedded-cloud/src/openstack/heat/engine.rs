//! The way of an operation over the graph of a stack's resources.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::client::Client;
use super::failure::Failure;
use super::model::{Action, Resource, Stack, Status};
use super::step::{Job, Outcome};
use super::template::{self, Blank, section};
use super::{Heat, events, validate};
use crate::openstack::{Cloud, seed};

/// A step of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Node {
    /// Bring this resource to what the template says.
    Update(String),
    /// Delete this version of a resource if the template does not want it.
    Cleanup(u64),
}

#[derive(Debug, Default)]
struct Plan {
    /// What each step waits for.
    waits: HashMap<Node, HashSet<Node>>,
    wanted: BTreeSet<String>,
}

/// Adds a row for a resource that is to be created.
pub(super) fn insert_row(cloud: &Cloud, stack: &mut Stack, name: &str) -> u64 {
    let rid = stack.next_rid;
    stack.next_rid += 1;
    let definition = stack.definition(name).cloned().unwrap_or(Value::Null);
    let kind = definition
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let random = &cloud.hex()[..12];
    let mut data = Map::new();
    data.insert(
        "physical_name".to_owned(),
        json!(format!("{}-{name}-{random}", stack.name)),
    );
    let now = cloud.now();
    let row = Resource {
        rid,
        name: name.to_owned(),
        kind,
        physical_id: None,
        action: Action::Init,
        status: Status::Complete,
        reason: String::new(),
        created: now,
        updated: now,
        properties: Map::new(),
        requires: template::requirements(&definition),
        definition,
        data,
        metadata: Map::new(),
        replaced_by: None,
    };
    stack.resources.insert(rid, row);
    rid
}

/// Dependencies that Heat adds by itself: ports and servers on the subnets of their network, floating IPs on the routers.
fn implicit(template: &Value, graph: &mut BTreeMap<String, BTreeSet<String>>) {
    let empty = Map::new();
    let resources = section(template, "resources").unwrap_or(&empty);
    let kind = |name: &str| {
        resources
            .get(name)
            .and_then(|r| r.get("type"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let network = |name: &str| {
        resources
            .get(name)?
            .pointer("/properties/network/get_resource")?
            .as_str()
    };
    let names: Vec<String> = graph.keys().cloned().collect();
    let mut extra = Vec::new();
    for name in &names {
        let depends: Vec<&String> = match kind(name) {
            "OS::Neutron::Port" => {
                let own = network(name);
                names
                    .iter()
                    .filter(|o| {
                        kind(o) == "OS::Neutron::Subnet" && own.is_some() && network(o) == own
                    })
                    .collect()
            }
            "OS::Neutron::FloatingIP" | "OS::Neutron::FloatingIPAssociation" => names
                .iter()
                .filter(|o| {
                    matches!(
                        kind(o),
                        "OS::Neutron::RouterInterface" | "OS::Neutron::Router"
                    )
                })
                .collect(),
            _ => Vec::new(),
        };
        extra.extend(depends.into_iter().map(|o| (name.clone(), o.clone())));
    }
    for (name, other) in extra {
        if !reaches(graph, &other, &name) {
            graph.entry(name).or_default().insert(other);
        }
    }
}

fn reaches(graph: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    from == to
        || graph
            .get(from)
            .is_some_and(|needs| needs.iter().any(|n| reaches(graph, n, to)))
}

fn plan(cloud: &Cloud, stack: &mut Stack) -> Result<Plan, Failure> {
    let mut graph = BTreeMap::new();
    if stack.action != Action::Delete {
        let parameters = template::parameters(&stack.template, &stack.parameters)?;
        let resources = section(&stack.template, "resources")
            .into_iter()
            .flatten()
            .map(|(k, _)| k.clone())
            .collect();
        let scope = Blank {
            template: &stack.template,
            parameters: &parameters,
            files: &stack.files,
            resources,
        };
        let active = validate::active(&stack.template, &scope)?;
        graph = validate::dependencies(&stack.template, &active);
        implicit(&stack.template, &mut graph);
    }
    let wanted: BTreeSet<String> = graph.keys().cloned().collect();
    for name in &wanted {
        if stack.current(name).is_none() {
            insert_row(cloud, stack, name);
        }
    }
    let mut waits: HashMap<Node, HashSet<Node>> = HashMap::new();
    for (name, needs) in &graph {
        let needs = needs.iter().map(|n| Node::Update(n.clone())).collect();
        waits.insert(Node::Update(name.clone()), needs);
    }
    for row in stack.resources.values() {
        let mut needs: HashSet<Node> = HashSet::new();
        if wanted.contains(&row.name) {
            needs.insert(Node::Update(row.name.clone()));
        }
        let dependents = stack
            .resources
            .values()
            .filter(|o| o.rid != row.rid && depends(stack, o, row));
        needs.extend(dependents.map(|o| Node::Cleanup(o.rid)));
        waits.insert(Node::Cleanup(row.rid), needs);
    }
    Ok(Plan { waits, wanted })
}

/// Whether the version `row` was made with `other` in place; the implicit dependencies count too.
fn depends(_stack: &Stack, row: &Resource, other: &Resource) -> bool {
    if row.requires.contains(&other.name) {
        return true;
    }
    match row.kind.as_str() {
        "OS::Neutron::Port" => {
            other.kind == "OS::Neutron::Subnet"
                && row.properties.get("network") == other.properties.get("network")
        }
        "OS::Neutron::FloatingIP" | "OS::Neutron::FloatingIPAssociation" => {
            matches!(
                other.kind.as_str(),
                "OS::Neutron::RouterInterface" | "OS::Neutron::Router"
            ) && !other.requires.contains(&row.name)
        }
        _ => false,
    }
}

impl Heat {
    /// Runs the stack's current operation in the background.
    pub(super) fn start(self: &Arc<Self>, cloud: &Cloud, stack: &str) {
        let traversal = self
            .state
            .read(|s| s.stacks.get(stack).map_or(0, |s| s.traversal));
        let job = Job {
            heat: self.clone(),
            cloud: cloud.clone(),
            stack: stack.to_owned(),
            traversal,
        };
        cloud.spawn(run(job));
    }

    /// Starts again what was in progress when the process ended.
    pub(super) fn restart(self: &Arc<Self>, cloud: &Cloud) {
        let stacks: Vec<_> = self.state.read(|s| {
            let living = s.stacks.values().filter(|s| !s.is_deleted());
            let open = |s: &Stack| -> Vec<u64> {
                s.resources
                    .values()
                    .filter(|r| r.status == Status::InProgress)
                    .map(|r| r.rid)
                    .collect()
            };
            living
                .map(|s| (s.id.clone(), s.traversal, s.status, open(s)))
                .collect()
        });
        for (stack, traversal, status, open) in stacks {
            if status == Status::InProgress {
                self.start(cloud, &stack);
                continue;
            }
            for rid in open {
                let job = Job {
                    heat: self.clone(),
                    cloud: cloud.clone(),
                    stack: stack.clone(),
                    traversal,
                };
                cloud.spawn(async move { job.settle(rid).await });
            }
        }
    }
}

async fn run(job: Job) {
    let cloud = job.cloud.clone();
    let planned = job.heat.state.write(|s| {
        s.stacks
            .get_mut(&job.stack)
            .map(|stack| plan(&cloud, stack))
    });
    let mut plan = match planned {
        Some(Ok(plan)) => plan,
        Some(Err(failure)) => return finish(&job, Status::Failed, &failure.message).await,
        None => return,
    };
    let wanted = Arc::new(std::mem::take(&mut plan.wanted));
    let (sender, mut results) = mpsc::unbounded_channel();
    let mut running = 0_usize;
    let deadline = deadline(&job);
    loop {
        if !job.live() {
            return;
        }
        let mut ready: Vec<Node> = plan
            .waits
            .iter()
            .filter(|(_, w)| w.is_empty())
            .map(|(n, _)| n.clone())
            .collect();
        if ready.is_empty() && running == 0 && !plan.waits.is_empty() {
            // Versions of several generations can wait for each other; nothing else is left to do, so all go.
            ready = plan.waits.keys().cloned().collect();
        }
        for node in ready {
            plan.waits.remove(&node);
            running += 1;
            let (job, sender, wanted) = (job.clone(), sender.clone(), wanted.clone());
            cloud.spawn(async move {
                let outcome = match &node {
                    Node::Update(name) => Box::pin(job.update(name)).await,
                    Node::Cleanup(rid) => Box::pin(job.cleanup(*rid, &wanted)).await,
                };
                let _ = sender.send((node, outcome));
            });
        }
        if running == 0 {
            break;
        }
        let result = tokio::select! {
            result = results.recv() => result,
            () = tokio::time::sleep(deadline.saturating_duration_since(std::time::Instant::now())) => {
                return finish(&job, Status::Failed, "Timed out").await;
            }
            () = tokio::time::sleep(Duration::from_millis(200)) => continue,
        };
        let Some((node, outcome)) = result else {
            return;
        };
        running -= 1;
        match outcome {
            Outcome::Done => {
                for waits in plan.waits.values_mut() {
                    waits.remove(&node);
                }
            }
            Outcome::Superseded => return,
            Outcome::Failed(action, reason) => {
                return finish(
                    &job,
                    Status::Failed,
                    &format!("Resource {action} failed: {reason}"),
                )
                .await;
            }
        }
    }
    let action = job
        .heat
        .state
        .read(|s| s.stacks.get(&job.stack).map(|s| s.action));
    let Some(action) = action else { return };
    finish(
        &job,
        Status::Complete,
        &format!("Stack {action} completed successfully"),
    )
    .await;
}

fn deadline(job: &Job) -> std::time::Instant {
    let (started, minutes) = job
        .heat
        .state
        .read(|s| {
            s.stacks
                .get(&job.stack)
                .map(|s| (s.started, s.timeout_mins))
        })
        .unwrap_or_else(|| (job.cloud.now(), None));
    let passed = (job.cloud.now() - started).to_std().unwrap_or_default();
    std::time::Instant::now()
        + Duration::from_secs(minutes.unwrap_or(60) * 60).saturating_sub(passed)
}

async fn finish(job: &Job, status: Status, reason: &str) {
    let deleted = job
        .heat
        .state
        .read(|s| s.stacks.get(&job.stack).map(|s| s.action == Action::Delete))
        .unwrap_or(false);
    if deleted && status == Status::Complete && job.live() {
        // Users, project and trust of the stack go before it counts as deleted.
        if let Err(failure) = forget_owner(job).await {
            return set(job, Status::Failed, &failure.message);
        }
    }
    set(job, status, reason);
}

fn set(job: &Job, status: Status, reason: &str) {
    let cloud = &job.cloud;
    job.heat.state.write(|s| {
        let Some(stack) = s.stacks.get_mut(&job.stack) else {
            return;
        };
        if stack.traversal != job.traversal || stack.status != Status::InProgress {
            return;
        }
        let action = stack.action;
        events::stack(cloud, stack, action, status, reason);
        if action == Action::Delete && status == Status::Complete {
            stack.deleted = Some(cloud.now());
            stack.template = json!({});
            stack.files.clear();
            stack.parameters.clear();
            stack.resources.clear();
        }
    });
}

async fn forget_owner(job: &Job) -> Result<(), Failure> {
    let found = job.heat.state.read(|s| {
        s.stacks
            .get(&job.stack)
            .map(|s| (s.trust_id.clone(), s.user_project_id.clone()))
    });
    let Some((trust, project)) = found else {
        return Ok(());
    };
    let scope = json!({"project": {"id": seed::SERVICE_PROJECT}});
    let token = Client::login(&job.cloud, seed::HEAT_USER, scope).await?;
    let client = Client {
        cloud: job.cloud.clone(),
        token,
    };
    client
        .delete(&format!("/identity/v3/OS-TRUST/trusts/{trust}"))
        .await?;
    client
        .delete(&format!("/identity/v3/projects/{project}"))
        .await?;
    job.heat.forget_token(&job.stack);
    Ok(())
}
