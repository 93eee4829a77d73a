//! A thousand calls of magnum-heat through a proxy that breaks four of ten.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use magnum_heat::hot::{Document, Resource};
use magnum_heat::http::{HttpConfig, ReqwestService};
use magnum_heat::stack::{
    CreateStack, DeleteStack, ListStacks, ShowStack, StackContent, StackRef, create_stack_or_adopt,
    list_stacks,
};
use magnum_heat::{Error, RetryPolicy, Session, heat::service, neutron, nova, resource};

use crate::flaky::{Fate, FlakyProxy};
use crate::{Bench, Failure};

const CALLS: usize = 1000;
const CREATES: usize = 20;
const MARK: &str = "flaky-proxy";

/// How one call ended.
#[derive(Debug)]
enum Ended {
    /// A create, with what it reported.
    Create(String, Result<StackRef, Error>),
    /// A call that may be repeated.
    Idempotent(Result<(), Error>),
}

/// Of a thousand calls at least 99 % of those that may be repeated succeed, the rest end in a typed error, none hangs,
/// and the stacks on the cloud are those that creates reported as made or adopted (`HC-06`, `SP-05`).
///
/// # Errors
/// Whatever does not hold.
pub async fn thousand_calls_through_a_flaky_proxy(bench: Bench) -> Result<(), Failure> {
    let direct = bench.project.session.clone();
    let proxy = FlakyProxy::start(20_261_201).await?;
    let http = HttpConfig::default().with_proxy(proxy.url().clone());
    // One try more than usual: with three of ten tries failing, five would miss 99 % once in ten thousand runs.
    let session = Session::builder(direct.cloud().clone())
        .http(Arc::new(ReqwestService::new(http)?))
        .retry(RetryPolicy::default().with_attempts(6))
        .seed(1)
        .connect()
        .await?;
    let began = Instant::now();
    let anchor = anchor(&session).await?;
    let mut ended = run(&session, &anchor, 0..CALLS - CREATES).await?;

    let on_cloud = marked(&direct).await?;
    let (mut reported, mut undecided) =
        (BTreeSet::from([anchor.name().to_owned()]), BTreeSet::new());
    for call in &ended {
        match call {
            Ended::Create(_, Ok(stack)) => drop(reported.insert(stack.name().to_owned())),
            Ended::Create(name, Err(error)) if error.may_have_happened() => {
                undecided.insert(name.clone());
            }
            _ => {}
        }
    }
    assert!(
        reported.is_subset(&on_cloud),
        "reported {reported:?}, there are {on_cloud:?}"
    );
    let unreported: BTreeSet<_> = on_cloud.difference(&reported).cloned().collect();
    assert!(
        unreported.is_subset(&undecided),
        "nobody reported {unreported:?}"
    );
    assert!(reported.len() > CREATES * 9 / 10, "{reported:?}");

    // Deletes are calls, too.
    ended.extend(run(&session, &anchor, CALLS - CREATES..CALLS).await?);
    let took = began.elapsed();
    let results: Vec<&Result<(), Error>> = ended
        .iter()
        .filter_map(|e| match e {
            Ended::Idempotent(result) => Some(result),
            Ended::Create(..) => None,
        })
        .collect();
    let failed: Vec<String> = results
        .iter()
        .filter_map(|r| r.as_ref().err().map(ToString::to_string))
        .collect();
    assert_eq!(results.len(), CALLS - CREATES);
    assert!(
        failed.len() * 100 <= results.len(),
        "{} of {}: {failed:#?}",
        failed.len(),
        results.len()
    );

    let passages = proxy.passages();
    let count = |fate: Fate| passages.iter().filter(|p| p.2 == fate).count();
    println!(
        "{CALLS} calls in {:.1} s, {} requests at the proxy; {} of {} idempotent calls failed, {} creates reported",
        took.as_secs_f64(),
        passages.len(),
        failed.len(),
        results.len(),
        reported.len() - 1,
    );
    for fate in [
        Fate::ResetBefore,
        Fate::ResetAfter,
        Fate::BadGatewayBefore,
        Fate::BadGatewayAfter,
        Fate::Overloaded,
        Fate::Slow,
    ] {
        let share = count(fate) * 100 / passages.len();
        assert!((2..=15).contains(&share), "{fate:?} {share} %");
    }

    for stack in list_stacks(&direct, ListStacks::new().with_tags([MARK])).await? {
        direct
            .send(DeleteStack {
                stack: stack.reference(),
            })
            .await?;
    }
    for _ in 0..240 {
        if marked(&direct).await?.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(marked(&direct).await?.is_empty(), "a stack stays");
    bench.end().await
}

fn content() -> Result<StackContent, Failure> {
    let mut doc = Document::new();
    doc.add_resource("nothing", Resource::raw("OS::Heat::None"))?;
    Ok(StackContent::new(doc))
}

/// A stack that the reads look at.
async fn anchor(session: &Session) -> Result<StackRef, Failure> {
    let made = create_stack_or_adopt(session, CreateStack::new("anchor", content()?), MARK).await?;
    Ok(made.stack().clone())
}

async fn marked(session: &Session) -> Result<BTreeSet<String>, Failure> {
    let stacks = list_stacks(session, ListStacks::new().with_tags([MARK])).await?;
    Ok(stacks.into_iter().map(|s| s.name).collect())
}

/// Runs these calls, sixteen at a time, each within three minutes.
async fn run(
    session: &Session,
    anchor: &StackRef,
    numbers: std::ops::Range<usize>,
) -> Result<Vec<Ended>, Failure> {
    let content = content()?;
    let calls = numbers.map(|n| {
        let content = content.clone();
        async move {
            let limit = Duration::from_secs(180);
            tokio::time::timeout(limit, call(session, anchor, content, n))
                .await
                .map_err(|_| format!("call {n} hangs"))
        }
    });
    let ended: Vec<Result<Ended, String>> = futures::stream::iter(calls)
        .buffer_unordered(16)
        .collect()
        .await;
    Ok(ended.into_iter().collect::<Result<_, _>>()?)
}

/// The n-th call: creates among reads, at the end deletes of what they made.
async fn call(session: &Session, anchor: &StackRef, content: StackContent, n: usize) -> Ended {
    let every = (CALLS - CREATES) / CREATES;
    if n >= CALLS - CREATES {
        let stack = StackRef::find(format!("s{}", n - (CALLS - CREATES)));
        return Ended::Idempotent(session.send(DeleteStack { stack }).await);
    }
    if n.is_multiple_of(every) {
        let name = format!("s{}", n / every);
        let create = CreateStack::new(&name, content);
        let made = create_stack_or_adopt(session, create, MARK).await;
        return Ended::Create(name, made.map(|made| made.stack().clone()));
    }
    Ended::Idempotent(match n % 8 {
        0 => session.send(nova::GetLimits {}).await.map(drop),
        1 => session.send(ListStacks::new()).await.map(drop),
        2 => {
            let networks = neutron::ListItems::<neutron::Network>::new();
            neutron::list(session, networks).await.map(drop)
        }
        3 => session.send(service::GetBuildInfo {}).await.map(drop),
        4 => session
            .send(resource::ListResources::new(anchor))
            .await
            .map(drop),
        5 => session.send(nova::ListServers::new()).await.map(drop),
        _ => session.send(ShowStack::new(anchor)).await.map(drop),
    })
}
