//! A stream of certificates that will end.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::{Stream, stream};
use magnum_core::{Cluster, ClusterId, RequestContext};
use serde::Serialize;

use super::Certificates;
use crate::{ClusterPki, Error, Expiry, Inventory, IssuedQuery};

/// A certificate of a cluster ends soon, or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExpiryWarning {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub cluster_name: String,
    /// Which of [`WARNING_DAYS`](crate::WARNING_DAYS) was reached; 0 says that it has ended.
    pub days: i64,
    /// The certificate.
    pub expiry: Expiry,
}

struct Watching {
    certificates: Certificates,
    cx: RequestContext,
    every: Duration,
    since: Option<DateTime<Utc>>,
    /// Clusters that could not be looked at, with the time until which they were.
    behind: BTreeMap<ClusterId, Option<DateTime<Utc>>>,
    next_look: Option<DateTime<Utc>>,
    ready: VecDeque<Result<ExpiryWarning, Error>>,
}

impl Certificates {
    /// Warnings about certificates of the clusters that the caller can see, without end: one at each of
    /// [`WARNING_DAYS`](crate::WARNING_DAYS) before a certificate's end, and at the end. Authorities are looked at, and of the
    /// inventory the components' certificates; people's end often and are asked for anew.
    ///
    /// A look is taken at once and then `every` so often, by the clock of this door. `since` is the time of the last look, where there was
    /// one before: keep the time of the last item, and no warning is missed or repeated over a restart. With none, what is due already comes now.
    ///
    /// An error concerns one cluster, or the list of them; it is given, and that look is made up for in the next. Dropping the stream ends it.
    pub fn expiry_warnings(
        &self,
        cx: &RequestContext,
        since: Option<DateTime<Utc>>,
        every: Duration,
    ) -> impl Stream<Item = Result<ExpiryWarning, Error>> + Send + Unpin + 'static {
        let watching = Watching {
            certificates: self.clone(),
            cx: cx.clone(),
            every,
            since,
            behind: BTreeMap::new(),
            next_look: None,
            ready: VecDeque::new(),
        };
        Box::pin(stream::unfold(watching, |mut watching| async move {
            let item = watching.next().await;
            Some((item, watching))
        }))
    }
}

impl Watching {
    async fn next(&mut self) -> Result<ExpiryWarning, Error> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return item;
            }
            let clock = &self.certificates.clock;
            if let Some(wait) = self
                .next_look
                .and_then(|at| (at - clock.now()).to_std().ok())
            {
                clock.sleep(wait).await;
            }
            self.look().await;
        }
    }

    async fn look(&mut self) {
        let now = self.certificates.clock.now();
        self.next_look = Some(now + self.every);
        let clusters = match self.certificates.engine.clusters(&self.cx).await {
            Ok(clusters) => clusters,
            Err(error) => return self.ready.push_back(Err(error.into())),
        };
        let behind = std::mem::take(&mut self.behind);
        for cluster in clusters {
            let since = behind.get(&cluster.id).copied().unwrap_or(self.since);
            let found = self
                .certificates
                .warnings_of(&self.cx, &cluster, since, now);
            match found.await {
                Ok(found) => self.ready.extend(found.into_iter().map(Ok)),
                // Its creation has not come so far.
                Err(Error::NoAuthorities { .. }) => {}
                Err(error) => {
                    self.behind.insert(cluster.id, since);
                    self.ready.push_back(Err(error));
                }
            }
        }
        self.since = Some(now);
    }
}

impl Certificates {
    /// The authorities of a cluster and, for whoever may read its inventory, what was signed for it and not revoked; soonest end first.
    pub(super) async fn overview(
        &self,
        cx: &RequestContext,
        cluster: &Cluster,
        now: DateTime<Utc>,
    ) -> Result<Vec<Listed>, Error> {
        let store = self.store();
        let pki = ClusterPki::load(&*store, cluster.id).await?;
        let pki = pki.ok_or(Error::NoAuthorities {
            cluster: cluster.id,
        })?;
        let mut all: Vec<Listed> = pki
            .expiries([], now)
            .into_iter()
            .map(|expiry| Listed {
                expiry,
                issued_at: None,
                for_people: false,
            })
            .collect();
        let issued = match self.engine.secrets(cx, cluster.id).await {
            Ok((id, store)) => {
                let inventory = Inventory::new(&*store, id);
                inventory.list(&IssuedQuery::default()).await?
            }
            Err(magnum_core::Error::Forbidden { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        all.extend(
            issued
                .into_iter()
                .filter(|record| record.revoked.is_none())
                .map(|record| Listed {
                    expiry: Expiry::of_issued(&record, now),
                    issued_at: Some(record.issued_at),
                    for_people: record.is_for_people(),
                }),
        );
        all.sort_by(|a, b| {
            let key = |listed: &Listed| (listed.expiry.not_after, listed.expiry.name.clone());
            key(a).cmp(&key(b))
        });
        Ok(all)
    }

    async fn warnings_of(
        &self,
        cx: &RequestContext,
        cluster: &Cluster,
        since: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<Vec<ExpiryWarning>, Error> {
        let mut found = Vec::new();
        for listed in self.overview(cx, cluster, now).await? {
            // Nobody is warned of what was true when it was signed.
            let since = since.max(listed.issued_at);
            if listed.for_people {
                continue;
            }
            if let Some(days) = listed.expiry.warning(since, now) {
                found.push(ExpiryWarning {
                    cluster: cluster.id,
                    cluster_name: cluster.name.to_string(),
                    days,
                    expiry: listed.expiry,
                });
            }
        }
        Ok(found)
    }
}

/// A line of the overview.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) expiry: Expiry,
    issued_at: Option<DateTime<Utc>>,
    for_people: bool,
}
