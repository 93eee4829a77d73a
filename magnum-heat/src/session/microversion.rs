//! Which microversion a call is sent with.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;

use super::Session;
use crate::{
    Error, Result,
    discovery::{Microversion, negotiate},
    request::{Request, ServiceType},
};

/// Oldest and newest microversion of a service; `None` when it has none.
type Range = Option<(Microversion, Microversion)>;

/// What each service offers, asked for once.
#[derive(Debug, Default)]
pub(super) struct Offers(Mutex<HashMap<ServiceType, Arc<OnceCell<Range>>>>);

impl Offers {
    fn of(&self, service: ServiceType) -> Arc<OnceCell<Range>> {
        let mut offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(offers.entry(service).or_default())
    }
}

fn parse(operation: &'static str, text: &str) -> Result<Microversion> {
    text.parse().map_err(|e| Error::invalid(operation, e))
}

impl Session {
    /// Oldest and newest microversion that a service offers; `None` when it has none. The service is asked once; a
    /// failure is not kept.
    ///
    /// # Errors
    /// As [`Session::api_versions`].
    pub async fn microversions(
        &self,
        service: ServiceType,
    ) -> Result<Option<(Microversion, Microversion)>> {
        let cell = self.inner.microversions.of(service);
        let range = cell
            .get_or_try_init(|| async {
                let versions = self.api_versions(service).await?;
                let ranges = versions.iter().filter_map(|v| v.microversions());
                Ok::<_, Error>(ranges.max_by_key(|(_, newest)| *newest))
            })
            .await?;
        Ok(*range)
    }

    /// The version that this request is sent with.
    pub(super) async fn microversion_for<R: Request>(
        &self,
        _request: &R,
    ) -> Result<Option<Cow<'static, str>>> {
        let Some(newest) = R::NEWEST_MICROVERSION else {
            return Ok(R::MICROVERSION.map(Cow::Borrowed));
        };
        let want = parse(R::OPERATION, newest)?;
        let offered = self.microversions(R::SERVICE).await?;
        let Some(needed) = R::MICROVERSION else {
            // The oldest will do, so a service without microversions will, too.
            let used = offered.and_then(|offered| negotiate(offered, offered.0, want));
            return Ok(used.map(|version| version.to_string().into()));
        };
        let need = parse(R::OPERATION, needed)?;
        match offered.and_then(|offered| negotiate(offered, need, want)) {
            Some(version) => Ok(Some(version.to_string().into())),
            None => Err(missing::<R>(needed, offered)),
        }
    }

    /// After a 406: the error that says so when the needed version is not offered.
    pub(super) async fn missing_microversion<R: Request>(&self, _request: &R) -> Option<Error> {
        let needed = R::MICROVERSION?;
        let need = needed.parse().ok()?;
        let offered = self.microversions(R::SERVICE).await.ok()?;
        let is_offered = offered.is_some_and(|(oldest, newest)| (oldest..=newest).contains(&need));
        (!is_offered).then(|| missing::<R>(needed, offered))
    }
}

fn missing<R: Request>(needed: &str, offered: Range) -> Error {
    Error::Microversion {
        service: R::SERVICE,
        operation: R::OPERATION,
        needed: needed.to_owned(),
        offered: offered.map_or_else(
            || "none".to_owned(),
            |(oldest, newest)| format!("{oldest} to {newest}"),
        ),
    }
}
