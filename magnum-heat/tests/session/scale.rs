//! `SP-04`: a tree of a thousand members, 22 000 resources and 47 008 events is looked at with few requests and little
//! memory.

use futures::TryStreamExt;
use magnum_heat::{
    Session,
    diagnose::{CauseKind, MAX_REQUESTS, root_cause},
    event::ListEvents,
    paging,
    stack::{ShowStack, StackRef},
    testing::{Reply, Script, Seen},
};
use serde_json::{Value, json};

const MEMBERS: usize = 1000;
const EVENTS: usize = 47_008;
/// Members whose server failed.
const FAILED: [usize; 3] = [7, 400, 901];
/// What the documentation of the crate promises.
const LIMIT_KIB: u64 = 16 * 1024;
/// Set in the process that measures.
const MEASURING: &str = "MAGNUM_HEAT_MEASURE_MEMORY";
const BASE: &str = "http://cloud.test/heat/v1/p1/stacks";

fn query(seen: &Seen, key: &str) -> Option<String> {
    let url = url::Url::parse(&format!("http://x{}", seen.path)).unwrap();
    url.query_pairs()
        .find(|(k, _)| k == key)
        .map(|(_, v)| v.into_owned())
}

fn links(stack: &str, resource: &str, nested: Option<usize>) -> Value {
    let mut links = vec![
        json!({"rel": "self", "href": format!("{BASE}/{stack}/{stack}-id/resources/{resource}")}),
        json!({"rel": "stack", "href": format!("{BASE}/{stack}/{stack}-id")}),
    ];
    if let Some(n) = nested {
        links.push(json!({"rel": "nested", "href": format!("{BASE}/m{n}/m{n}-id")}));
    }
    links.into()
}

fn event(n: usize) -> Value {
    let member = n % MEMBERS;
    let failed = FAILED.contains(&member) && n / MEMBERS == 46;
    json!({
        "id": format!("event-{n:08}-0000-0000-0000-000000000000"),
        "event_time": format!("2026-12-01T{:02}:{:02}:{:02}Z", 10 + n / 3600, n / 60 % 60, n % 60),
        "resource_name": "server", "logical_resource_id": "server",
        "physical_resource_id": format!("server-{member}"),
        "resource_status": if failed { "CREATE_FAILED" } else { "CREATE_IN_PROGRESS" },
        "resource_status_reason": if failed {
            "Resource CREATE failed: Forbidden: resources.server: Quota exceeded for instances: Requested 1, but already used 10 of 10 instances (HTTP 403) (Request-ID: req-1)"
        } else { "state changed" },
        "links": links(&format!("m{member}"), "server", None),
    })
}

/// The tree, a page at a time.
fn tree() -> Script {
    Script::new().rule(|seen| {
        let path = seen.path.split('?').next()?.strip_prefix("/heat/v1/p1/stacks")?;
        let failed_only = query(seen, "status").as_deref() == Some("FAILED");
        let body = match path {
            "/root/root-id" => json!({"stack": {"id": "root-id", "stack_name": "root",
                "stack_status": "CREATE_FAILED", "stack_status_reason": "Resource CREATE failed",
                "creation_time": "2026-12-01T09:00:00Z"}}),
            "/root/root-id/resources" if failed_only => {
                let members = FAILED.iter().map(|n| json!({"resource_name": format!("m{n}"),
                    "resource_type": "member.yaml", "physical_resource_id": format!("m{n}-id"),
                    "resource_status": "CREATE_FAILED", "resource_status_reason": format!("resources.m{n}: Resource CREATE failed"),
                    "links": links("root", &format!("m{n}"), Some(*n))}));
                json!({"resources": members.collect::<Vec<_>>()})
            }
            "/root/root-id/events" => {
                if query(seen, "resource_status").is_some() {
                    let last = FAILED.iter().rev().map(|n| event(46 * MEMBERS + n));
                    return Some(Reply::json(200, &json!({"events": last.collect::<Vec<_>>()})));
                }
                let limit: usize = query(seen, "limit")?.parse().ok()?;
                let first = query(seen, "marker").map_or(0, |m| m[6..14].parse::<usize>().unwrap() + 1);
                let page = (first..EVENTS.min(first + limit)).map(event);
                json!({"events": page.collect::<Vec<_>>()})
            }
            nested => {
                let member = nested.strip_prefix("/m")?.split('/').next()?;
                if !failed_only || !nested.ends_with("/resources") {
                    return None;
                }
                let reason = event(46 * MEMBERS + FAILED[0])["resource_status_reason"].clone();
                json!({"resources": [{"resource_name": "server", "resource_type": "OS::Nova::Server",
                    "physical_resource_id": format!("server-{member}"), "resource_status": "CREATE_FAILED",
                    "resource_status_reason": reason, "links": links(&format!("m{member}"), "server", None)}]})
            }
        };
        Some(Reply::json(200, &body))
    })
}

async fn all_of_it(session: &Session, script: &Script) {
    let root = StackRef::new("root", "root-id");
    let requests = || script.seen().len();
    // The state: one request, whatever the size.
    let before = requests();
    let shown = session.send(ShowStack::new(&root)).await.unwrap();
    assert!(shown.status.is_failed());
    assert_eq!(requests() - before, 1);

    // The cause: the failed branches and nothing else.
    let before = requests();
    let cause = root_cause(session, &root).await.unwrap().unwrap();
    let made = script.seen()[before..].to_vec();
    assert!(made.len() <= MAX_REQUESTS, "{}", made.len());
    let opened = made
        .iter()
        .filter(|s| s.path.contains("/resources"))
        .map(|s| s.path.split('/').nth(5).unwrap().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(opened, ["root", "m7", "m400", "m901"]);
    assert!(
        matches!(&cause.kind, CauseKind::Quota(q) if q.limit == Some(10)),
        "{cause:?}"
    );
    assert_eq!(cause.path, ["m7", "server"]);

    // The events: all of them, one page held at a time.
    let list = ListEvents::new(&root).nested_depth(5);
    let count = paging::stream(session, list)
        .try_fold(0_usize, |count, event| async move {
            assert_eq!(event.resource, "server");
            Ok(count + 1)
        })
        .await
        .unwrap();
    assert_eq!(count, EVENTS);
}

fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[tokio::test(start_paused = true)]
async fn sp_04_a_thousand_members_are_looked_at_in_bounded_memory() {
    let script = tree();
    let session = script.session().await.unwrap();
    if std::env::var_os(MEASURING).is_some() {
        let first = ListEvents::new(StackRef::new("root", "root-id")).page_size(1);
        session.send(first).await.unwrap();
        let before = peak_kib().unwrap();
        all_of_it(&session, &script).await;
        println!("peak-kib {}", peak_kib().unwrap() - before);
        return;
    }
    if peak_kib().is_none() {
        // Not Linux: the requests are still counted.
        return all_of_it(&session, &script).await;
    }
    // In a process of its own, so that no other test's memory is measured.
    let name = "scale::sp_04_a_thousand_members_are_looked_at_in_bounded_memory";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(MEASURING, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&child.stderr)
    );
    let peak: u64 = text
        .split("peak-kib ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| panic!("no measurement in {text}"));
    println!("{peak} KiB above an idle session");
    assert!(peak < LIMIT_KIB, "{peak} KiB");
}
