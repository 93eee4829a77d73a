//! A cloud that is a map, with a ledger, faults and patience.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::driver::{DriverError, Leftover};
use crate::id::{ClusterId, NodeGroupId};
use crate::retry::Retry;
use crate::secret::Secret;

/// Something in the cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thing {
    /// `network`, `node` or `backup`.
    pub kind: &'static str,
    /// The mark: whose it is.
    pub cluster: ClusterId,
    /// The node group of a node.
    pub group: Option<NodeGroupId>,
    /// The version of a node.
    pub version: String,
    /// Why it will never be ready, where it will not.
    pub broken: Option<String>,
    /// How often it must be looked at until it is ready.
    pub waits: u32,
    /// The keys and certificates on a node, as [`NodeKeys`](super::NodeKeys) gave them.
    pub keys: Option<Secret>,
}

/// What was done in the cloud, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerEntry {
    /// A thing of this name was made.
    Created(String),
    /// The thing of this name was removed.
    Deleted(String),
}

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudFault {
    /// The service answers that it is not available; nothing is done.
    Refuse,
    /// The effect happens and the answer is lost.
    LoseAnswer,
    /// The call never returns.
    Hang,
    /// The driver's code panics.
    Panic,
    /// A node that is made by the call is broken.
    Break,
}

#[derive(Debug, Default)]
struct State {
    things: BTreeMap<String, Thing>,
    ledger: Vec<LedgerEntry>,
    faults: VecDeque<(u64, CloudFault)>,
    calls: u64,
    missing_images: BTreeSet<String>,
    polls_until_ready: u32,
    capacity: Option<usize>,
    outage: bool,
    forgetful: bool,
}

/// A cloud in memory. Clones are the same cloud: keep one in a test to look at what a driver did, and to make things go wrong.
#[derive(Debug, Clone)]
pub struct MemoryCloud(Arc<Mutex<State>>);

impl Default for MemoryCloud {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryCloud {
    /// An empty cloud where a node is ready at the second look.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            polls_until_ready: 1,
            ..State::default()
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// How often a node is looked at before it is ready.
    pub fn set_polls_until_ready(&self, polls: u32) {
        self.state().polls_until_ready = polls;
    }

    /// How many nodes there may be; none for no limit. A node beyond it is broken with a sentence about the quota.
    pub fn set_capacity(&self, nodes: Option<usize>) {
        self.state().capacity = nodes;
    }

    /// Lets the image of this name be missing.
    pub fn remove_image(&self, name: impl Into<String>) {
        self.state().missing_images.insert(name.into());
    }

    /// Makes something go wrong with the call number `after` from now; 0 is the next.
    pub fn inject(&self, after: u64, fault: CloudFault) {
        let mut state = self.state();
        let at = state.calls + after;
        state.faults.push_back((at, fault));
    }

    /// Lets every call be refused, until it is switched off again.
    pub fn set_outage(&self, outage: bool) {
        self.state().outage = outage;
    }

    /// Lets the driver make nodes before it writes their names down: a planted fault, by which simulations prove that they would notice.
    #[cfg(feature = "conformance")]
    #[doc(hidden)]
    pub fn set_forgetful(&self) {
        self.state().forgetful = true;
    }

    /// Forgets all faults that have not come about yet.
    pub fn clear_faults(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.outage = false;
        state.capacity = None;
    }

    pub(super) fn is_forgetful(&self) -> bool {
        self.state().forgetful
    }

    /// How many calls there were.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Everything that was made and removed, in order.
    #[must_use]
    pub fn ledger(&self) -> Vec<LedgerEntry> {
        self.state().ledger.clone()
    }

    /// How many entries the ledger has.
    #[must_use]
    pub fn ledger_len(&self) -> usize {
        self.state().ledger.len()
    }

    /// Names that were made more than once. Names hold random ids, so there must be none.
    #[must_use]
    pub fn made_twice(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut twice = Vec::new();
        for entry in &self.state().ledger {
            if let LedgerEntry::Created(name) = entry
                && !seen.insert(name.clone())
            {
                twice.push(name.clone());
            }
        }
        twice
    }

    /// Everything that is there, by name.
    #[must_use]
    pub fn inventory(&self) -> BTreeMap<String, Thing> {
        self.state().things.clone()
    }

    /// Lets a thing vanish as if somebody had removed it by hand.
    pub fn remove_by_hand(&self, name: &str) {
        self.state().things.remove(name);
    }

    pub(super) fn is_image_missing(&self, name: &str) -> bool {
        self.state().missing_images.contains(name)
    }

    pub(super) fn leftovers(&self, cluster: ClusterId) -> Vec<Leftover> {
        let state = self.state();
        let own = state.things.iter().filter(|(_, t)| t.cluster == cluster);
        own.map(|(name, thing)| Leftover {
            kind: thing.kind.to_owned(),
            id: name.clone(),
            name: name.clone(),
        })
        .collect()
    }

    /// One call: an await before the effect, the effect, an await before the answer, and whatever goes wrong.
    pub(super) async fn call<T>(
        &self,
        effect: impl FnOnce(&mut BTreeMap<String, Thing>, &mut Vec<LedgerEntry>, &Limits) -> T + Send,
    ) -> Result<T, DriverError>
    where
        T: Send,
    {
        pause().await;
        let fault = {
            let mut state = self.state();
            let number = state.calls;
            state.calls += 1;
            let due = state.faults.iter().position(|(at, _)| *at <= number);
            if state.outage {
                Some(CloudFault::Refuse)
            } else {
                due.and_then(|index| state.faults.remove(index))
                    .map(|(_, fault)| fault)
            }
        };
        match fault {
            Some(CloudFault::Refuse) => return Err(away("refused by a test")),
            Some(CloudFault::Hang) => std::future::pending().await,
            Some(CloudFault::Panic) => panic!("a test asked for this panic"),
            _ => {}
        }
        let value = {
            let state = &mut *self.state();
            let nodes = state.things.values().filter(|t| t.kind == "node").count();
            let limits = Limits {
                polls_until_ready: state.polls_until_ready,
                breaks: fault == Some(CloudFault::Break),
                full: state.capacity.filter(|capacity| nodes >= *capacity),
            };
            effect(&mut state.things, &mut state.ledger, &limits)
        };
        pause().await;
        if fault == Some(CloudFault::LoseAnswer) {
            return Err(away("the answer was lost by a test"));
        }
        Ok(value)
    }
}

/// What a call is subject to.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) polls_until_ready: u32,
    pub(super) breaks: bool,
    pub(super) full: Option<usize>,
}

/// One await, as a network would have: a place where the caller may be dropped. Needs no runtime.
async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut paused, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

fn away(reason: &str) -> DriverError {
    DriverError::Unavailable {
        service: "memory cloud".to_owned(),
        reason: reason.to_owned(),
        retry: Retry::Later,
        source: None,
    }
}
