//! The ways in which each operation is tried.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Options;
use super::bench::{Bench, CLUSTER};
use super::gate::{Gate, Stop};
use super::rig::{Fault, Rig};
use super::subject::{Subject, done};
use crate::engine::{ChangeRequest, Engine};
use crate::id::OperationId;
use crate::model::{MemberPhase, NodeGroup};
use crate::state::Health;

/// How often a cluster is looked at until it must be healthy.
const LOOKS: usize = 100;

/// A way in which an operation is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Plainly,
    Twice,
    CallsRefused,
    AnswersLost,
    CrashedBeforeWrites,
    CrashedAfterWrites,
    Cancelled,
    SecondWriter,
}

impl Mode {
    pub(super) const ALL: [Self; 8] = [
        Self::Plainly,
        Self::Twice,
        Self::CallsRefused,
        Self::AnswersLost,
        Self::CrashedBeforeWrites,
        Self::CrashedAfterWrites,
        Self::Cancelled,
        Self::SecondWriter,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Plainly => "plainly",
            Self::Twice => "twice",
            Self::CallsRefused => "with each call refused once",
            Self::AnswersLost => "with each answer lost once",
            Self::CrashedBeforeWrites => "crashed before each write",
            Self::CrashedAfterWrites => "crashed after each write",
            Self::Cancelled => "cancelled",
            Self::SecondWriter => "raced by a second writer",
        }
    }
}

/// What a plain run of an operation looks like.
#[derive(Debug, Default)]
pub(super) struct Plain {
    calls: u64,
    commits: u64,
    rounds: u64,
    counts: BTreeMap<String, usize>,
    facts: Vec<&'static str>,
}

/// Runs one case of an operation that works plainly.
pub(super) async fn run<F, R>(
    factory: &F,
    subject: Subject,
    mode: Mode,
    plain: &Plain,
    options: &Options,
) -> Result<(), String>
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Box<dyn Rig>> + Send,
{
    let calls = || spread(plain.calls, options);
    let commits = || spread(plain.commits, options);
    match mode {
        Mode::Plainly => {}
        Mode::Twice => twice(&ready(factory, subject).await?, subject, plain).await?,
        Mode::CallsRefused | Mode::AnswersLost => {
            let fault = if mode == Mode::CallsRefused {
                Fault::Refused
            } else {
                Fault::AnswerLost
            };
            for point in calls() {
                let bench = ready(factory, subject).await?;
                let (engine, _) = bench.engine(None)?;
                let id = ask(&bench, &engine, subject).await?;
                bench.rig.inject(point, fault);
                let outcome = done(&bench, &engine, id).await;
                at("call", point, outcome)?;
                at("call", point, check(&bench, &engine, subject, plain).await)?;
            }
        }
        Mode::CrashedBeforeWrites | Mode::CrashedAfterWrites => {
            let stop = if mode == Mode::CrashedBeforeWrites {
                Stop::Before
            } else {
                Stop::After
            };
            for point in commits() {
                let bench = ready(factory, subject).await?;
                at(
                    "write",
                    point,
                    crashed(&bench, subject, plain, point, stop).await,
                )?;
            }
        }
        Mode::Cancelled => {
            for point in spread(plain.rounds, options) {
                let bench = ready(factory, subject).await?;
                at("round", point, cancelled(&bench, subject, point).await)?;
            }
        }
        Mode::SecondWriter => {
            for point in commits() {
                let bench = ready(factory, subject).await?;
                at("write", point, raced(&bench, subject, plain, point).await)?;
            }
        }
    }
    Ok(())
}

fn at<T>(what: &str, point: u64, result: Result<T, String>) -> Result<T, String> {
    result.map_err(|why| format!("at {what} {point}: {why}"))
}

/// The points at which something is done to an operation: all of them, or some, evenly spread.
fn spread(count: u64, options: &Options) -> BTreeSet<u64> {
    let wanted = options.points.map_or(count, |points| points as u64).max(1);
    (0..wanted.min(count))
        .map(|n| n * count / wanted.min(count))
        .collect()
}

async fn ready<F, R>(factory: &F, subject: Subject) -> Result<Bench, String>
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Box<dyn Rig>> + Send,
{
    let bench = Bench::new(factory().await);
    let prepared = subject.prepare(&bench).await;
    prepared.map_err(|why| format!("before it began: {why}"))?;
    Ok(bench)
}

async fn ask(bench: &Bench, engine: &Engine, subject: Subject) -> Result<OperationId, String> {
    if subject == Subject::Create {
        return bench.ask_to_create(engine).await;
    }
    let request = subject.request(bench, engine).await?;
    bench.ask(engine, request).await
}

/// Does an operation without any disturbance, and looks whether everything is as it should be.
pub(super) async fn plainly<F, R>(factory: &F, subject: Subject) -> Result<Plain, String>
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Box<dyn Rig>> + Send,
{
    let bench = ready(factory, subject).await?;
    let (engine, gate) = bench.engine(None)?;
    if subject == Subject::ProbeHealth {
        healthy(&bench, &engine).await?;
        return Ok(Plain::default());
    }
    let id = ask(&bench, &engine, subject).await?;
    let (calls, commits, rounds) = (bench.rig.calls(), gate.commits(), bench.rounds());
    done(&bench, &engine, id).await?;
    let plain = Plain {
        calls: bench.rig.calls() - calls,
        commits: gate.commits() - commits,
        rounds: bench.rounds() - rounds,
        counts: counts(&bench).await,
        facts: facts(&bench, &engine).await,
    };
    check(&bench, &engine, subject, &plain).await?;
    if subject != Subject::Delete {
        looked_at(&bench, &engine).await?;
        empty_after_deletion(&bench, &engine).await?;
    }
    Ok(plain)
}

/// A fresh look finds the members that were reported, all of them ready.
async fn looked_at(bench: &Bench, engine: &Engine) -> Result<(), String> {
    let reported = engine.cluster_view(&bench.cx, CLUSTER).await;
    let reported = reported.map_err(|error| error.to_string())?;
    let seen = engine.refresh(&bench.cx, CLUSTER).await;
    let seen = seen.map_err(|error| error.to_string())?;
    for (reported, seen) in reported.node_groups.iter().zip(&seen.node_groups) {
        let names = |group: &NodeGroup| -> BTreeSet<String> {
            let members = group.members.iter();
            members
                .map(|m| format!("{} {}", m.name, m.phase.as_str()))
                .collect()
        };
        let (reported, found) = (names(reported), names(seen));
        if reported != found {
            let name = &seen.name;
            return Err(format!(
                "{name} reports {reported:?}, and a fresh look finds {found:?}"
            ));
        }
    }
    Ok(())
}

/// A cluster that was just made is soon found healthy.
async fn healthy(bench: &Bench, engine: &Engine) -> Result<(), String> {
    let mut health = Health::Unknown;
    for _ in 0..LOOKS {
        let seen = engine.refresh(&bench.cx, CLUSTER).await;
        health = seen.map_err(|error| error.to_string())?.cluster.health;
        if health == Health::Healthy {
            return Ok(());
        }
        bench.rig.settle().await;
    }
    Err(format!("a cluster that was just made is found {health:?}"))
}

/// Which facts of the cluster were reported.
async fn facts(bench: &Bench, engine: &Engine) -> Vec<&'static str> {
    let Ok(cluster) = engine.cluster(&bench.cx, CLUSTER).await else {
        return Vec::new();
    };
    let facts = &cluster.facts;
    let named = [
        ("API address", facts.api_address.is_some()),
        ("internal API address", facts.internal_api_address.is_some()),
        ("version", facts.coe_version.is_some()),
        ("stack", facts.stack_id.is_some()),
    ];
    let known = named.iter().filter(|(_, known)| *known);
    known.map(|(name, _)| *name).collect()
}

/// How many things of each kind there are.
async fn counts(bench: &Bench) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for thing in bench.rig.inventory().await {
        let kind = thing.split(' ').next().unwrap_or_default().to_owned();
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

/// What must hold after an operation, however it was disturbed.
async fn check(
    bench: &Bench,
    engine: &Engine,
    subject: Subject,
    plain: &Plain,
) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in bench.rig.created().await {
        if !seen.insert(name.clone()) {
            return Err(format!("{name} was made twice"));
        }
    }
    let now = counts(bench).await;
    if now != plain.counts {
        let expected = &plain.counts;
        return Err(format!("there is {now:?} instead of {expected:?}"));
    }
    if subject == Subject::Delete {
        let left = bench.rig.inventory().await;
        if !left.is_empty() {
            return Err(format!("left over: {left:?}"));
        }
        return Ok(());
    }
    let (known, expected) = (facts(bench, engine).await, &plain.facts);
    if known != *expected {
        return Err(format!("{known:?} is known instead of {expected:?}"));
    }
    let groups = engine.node_groups(&bench.cx, CLUSTER).await;
    for group in groups.map_err(|error| error.to_string())? {
        let ready = group
            .members
            .iter()
            .filter(|m| m.phase == MemberPhase::Ready);
        let (ready, wanted) = (ready.count(), group.node_count as usize);
        if ready != wanted || group.members.len() != wanted {
            let have = group.members.len();
            let name = &group.name;
            return Err(format!(
                "{name} reports {have} members, {ready} of them ready, instead of {wanted}"
            ));
        }
    }
    Ok(())
}

async fn empty_after_deletion(bench: &Bench, engine: &Engine) -> Result<(), String> {
    let id = bench.ask(engine, ChangeRequest::Delete).await?;
    done(bench, engine, id).await?;
    let left = bench.rig.inventory().await;
    if left.is_empty() {
        return Ok(());
    }
    Err(format!("left over after deletion: {left:?}"))
}

/// The same wish again changes nothing.
async fn twice(bench: &Bench, subject: Subject, plain: &Plain) -> Result<(), String> {
    let (engine, _) = bench.engine(None)?;
    let id = ask(bench, &engine, subject).await?;
    done(bench, &engine, id).await?;
    let made = bench.rig.created().await;
    engine
        .advance_again(&bench.cx, id)
        .await
        .map_err(|error| format!("the second time: {error}"))?;
    let again = bench.rig.created().await;
    if again != made {
        let new = &again[made.len().min(again.len())..];
        return Err(format!("the second time made {new:?}"));
    }
    check(bench, &engine, subject, plain).await
}

/// The engine dies at a write; another one goes on.
async fn crashed(
    bench: &Bench,
    subject: Subject,
    plain: &Plain,
    point: u64,
    stop: Stop,
) -> Result<(), String> {
    let (asking, _) = bench.engine(None)?;
    let id = ask(bench, &asking, subject).await?;
    let (dying, gate) = bench.engine(Some((point, stop)))?;
    until_stopped(bench, &dying, &gate, id).await?;
    drop(dying);
    bench.to_next_due().await?;
    let (next, _) = bench.engine(None)?;
    done(bench, &next, id).await?;
    check(bench, &next, subject, plain).await
}

/// Runs an engine until its gate stops it, then drops what it was doing; or until the operation has ended.
async fn until_stopped(
    bench: &Bench,
    engine: &Engine,
    gate: &Gate,
    id: OperationId,
) -> Result<(), String> {
    tokio::select! {
        biased;
        () = gate.reached.notified() => Ok(()),
        ended = bench.finish(engine, id) => ended.map(drop),
    }
}

/// The operation is asked to end early after some rounds; it ends, and nothing is left after deletion.
async fn cancelled(bench: &Bench, subject: Subject, rounds: u64) -> Result<(), String> {
    let (engine, _) = bench.engine(None)?;
    let id = ask(bench, &engine, subject).await?;
    for _ in 0..rounds.min(20) {
        bench.round(&engine).await?;
    }
    let asked = engine.cancel(&bench.cx, id).await;
    asked.map_err(|error| error.to_string())?;
    bench.finish(&engine, id).await?;
    let running = bench.running(&engine).await?;
    if !running.is_empty() {
        return Err("the operation still runs".to_owned());
    }
    empty_after_deletion(bench, &engine).await
}

/// An engine is held at a write until another one has taken over and ended the operation; then it goes on and must do nothing.
async fn raced(bench: &Bench, subject: Subject, plain: &Plain, point: u64) -> Result<(), String> {
    let (asking, _) = bench.engine(None)?;
    let id = ask(bench, &asking, subject).await?;
    let (slow, gate) = bench.engine(Some((point, Stop::Hold)))?;
    let gate: Arc<Gate> = gate;
    let mut held = Box::pin(async {
        loop {
            let round = bench.round(&slow).await;
            let ended = slow.operation(&bench.cx, id).await;
            if round.is_err() || ended.is_ok_and(|o| o.outcome.is_some()) {
                return round;
            }
        }
    });
    tokio::select! {
        biased;
        () = gate.reached.notified() => {}
        ended = &mut held => return ended,
    }
    bench.to_next_due().await?;
    let (fast, _) = bench.engine(None)?;
    done(bench, &fast, id).await?;
    gate.go_on.notify_one();
    held.await?;
    check(bench, &fast, subject, plain).await
}
