//! The embedded cloud: inside this process, or as a process of its own that outlives it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use magnum_embedded_cloud::{EmbeddedCloud, Options};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};
use url::Url;

use crate::Failure;

/// How long the process may take to answer.
const START_LIMIT: Duration = Duration::from_secs(30);
/// After how long without a request it ends by itself.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// Where it says how it is reached, in its journal's folder.
const ADDRESSES: &str = "addresses.json";
/// Held by the process that serves a journal.
const LOCK: &str = "lock";
/// What that process says.
const LOG: &str = "log";

/// How the embedded cloud is reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Addresses {
    /// Where `/_embedded` is.
    pub(crate) base_url: Url,
    /// Its `clouds.yaml`.
    pub(crate) clouds_yaml: String,
    /// The proxy through which clusters are reached.
    pub(crate) proxy_url: Url,
}

impl Addresses {
    fn of(cloud: &EmbeddedCloud) -> Result<Self, Failure> {
        Ok(Self {
            base_url: cloud.base_url().parse()?,
            clouds_yaml: cloud.clouds_yaml(),
            proxy_url: cloud.proxy_url().parse()?,
        })
    }
}

/// The cloud's own record of what it created and deleted, in order.
#[derive(Debug, Deserialize)]
struct Ledger {
    ledger: Vec<LedgerEntry>,
}

#[derive(Debug, Deserialize)]
struct LedgerEntry {
    kind: String,
    action: String,
    name: String,
}

/// The embedded cloud of this run.
#[derive(Debug)]
pub(crate) enum Embedded {
    /// It ends with this process.
    Inside(EmbeddedCloud, Addresses),
    /// It outlives this process; its journal is in this folder.
    Beside(Addresses, PathBuf),
}

impl Embedded {
    /// Starts one inside this process.
    pub(crate) async fn inside() -> Result<Self, Failure> {
        let cloud = EmbeddedCloud::start(Options::default()).await?;
        let addresses = Addresses::of(&cloud)?;
        Ok(Self::Inside(cloud, addresses))
    }

    /// Finds the one of this journal, or starts it as a process of its own.
    pub(crate) async fn beside(journal: &Path) -> Result<Self, Failure> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(journal)?;
        let began = tokio::time::Instant::now();
        let mut child: Option<Child> = None;
        while began.elapsed() < START_LIMIT {
            if let Some(addresses) = answering(journal).await {
                return Ok(Self::Beside(addresses, journal.to_owned()));
            }
            let ended = match &mut child {
                Some(child) => child.try_wait()?,
                None => None,
            };
            match ended {
                Some(status) if !status.success() => {
                    let log = fs::read_to_string(journal.join(LOG)).unwrap_or_default();
                    let last = log.lines().last().unwrap_or("it left no word");
                    return Err(format!("the embedded cloud ended at its start: {last}").into());
                }
                // It found another one at work, which has ended since.
                Some(_) => child = None,
                None => {}
            }
            if child.is_none() && is_free(journal)? {
                child = Some(spawn(journal)?);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(format!(
            "the embedded cloud did not answer within {} s; see {}",
            START_LIMIT.as_secs(),
            journal.join(LOG).display()
        )
        .into())
    }

    /// How it is reached.
    pub(crate) const fn addresses(&self) -> &Addresses {
        match self {
            Self::Inside(_, addresses) | Self::Beside(addresses, _) => addresses,
        }
    }

    /// How many stacks and servers the cloud itself says it has created, over all runs of its journal. Names are never used again, so
    /// one that was created twice is a failure.
    pub(crate) async fn created_once(&self) -> Result<(usize, usize), Failure> {
        let url = self.addresses().base_url.join("/_embedded/ledger")?;
        let ledger: Ledger = serde_json::from_slice(reach(http::Method::GET, &url).await?.body())?;
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for entry in &ledger.ledger {
            if entry.action == "create" {
                *counts.entry((&entry.kind, &entry.name)).or_default() += 1;
            }
        }
        let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
        if !doubled.is_empty() {
            return Err(format!("created more than once: {doubled:?}").into());
        }
        let of = |kind: &str| counts.keys().filter(|(k, _)| *k == kind).count();
        Ok((of("stack"), of("server")))
    }

    /// Ends it, wherever it runs.
    pub(crate) async fn end(self) -> Result<(), Failure> {
        match self {
            Self::Inside(cloud, _) => cloud.shutdown().await,
            Self::Beside(addresses, journal) => {
                let url = addresses.base_url.join("/_embedded/shutdown")?;
                post(&url).await?;
                // Only then can the directory be used again.
                let began = tokio::time::Instant::now();
                while began.elapsed() < START_LIMIT && !is_free(&journal)? {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        Ok(())
    }
}

/// Serves until asked to end or idle: the process that [`Embedded::beside`] starts.
pub(crate) async fn serve(journal: &Path) -> Result<(), Failure> {
    let lock = fs::File::create(journal.join(LOCK))?;
    if lock.try_lock().is_err() {
        // One is running, or about to; whoever started this one finds that.
        return Ok(());
    }
    let cloud = EmbeddedCloud::start(Options {
        journal: Some(journal.to_owned()),
        idle: Some(IDLE),
        ..Options::default()
    })
    .await?;
    let path = journal.join(ADDRESSES);
    let draft = path.with_extension("tmp");
    fs::write(&draft, serde_json::to_vec(&Addresses::of(&cloud)?)?)?;
    fs::rename(draft, &path)?;
    cloud.stopped().await;
    fs::remove_file(path)?;
    cloud.shutdown().await;
    Ok(())
}

/// Whether no cloud is at work on this journal.
fn is_free(journal: &Path) -> Result<bool, Failure> {
    Ok(fs::File::create(journal.join(LOCK))?.try_lock().is_ok())
}

fn spawn(journal: &Path) -> Result<Child, Failure> {
    let log = fs::File::create(journal.join(LOG))?;
    // Its own process group: Ctrl-C reaches the quick start only.
    Ok(Command::new(std::env::current_exe()?)
        .arg("--serve-embedded-cloud")
        .arg(journal)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?)
}

/// The addresses of the cloud that is at work on this journal. An address that an older one left behind does not count.
async fn answering(journal: &Path) -> Option<Addresses> {
    if is_free(journal).ok()? {
        return None;
    }
    let text = fs::read(journal.join(ADDRESSES)).ok()?;
    let addresses: Addresses = serde_json::from_slice(&text).ok()?;
    let url = addresses.base_url.join("/_embedded/ledger").ok()?;
    let answered = reach(http::Method::GET, &url).await.ok()?;
    (answered.status() == http::StatusCode::OK).then_some(addresses)
}

async fn post(url: &Url) -> Result<(), Failure> {
    let status = reach(http::Method::POST, url).await?.status();
    if status.is_success() {
        return Ok(());
    }
    Err(format!("the embedded cloud answered {status} to {url}").into())
}

async fn reach(method: http::Method, url: &Url) -> Result<http::Response<bytes::Bytes>, Failure> {
    use magnum_heat::http::{HttpConfig, HttpService as _, ReqwestService};
    let service = ReqwestService::new(HttpConfig::default())?;
    let request = http::Request::builder()
        .method(method)
        .uri(url.as_str())
        .body(bytes::Bytes::new())?;
    Ok(service.call(request).await?)
}
