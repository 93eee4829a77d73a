//! When certificates end, and who should hear of it (rule CK-10).

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::{AuthorityKind, Certificate, ClusterPki, IssuedRecord};

/// Days before the end at which a warning is due, for leaves and authorities alike; `0` is the end itself.
pub const WARNING_DAYS: [i64; 5] = [90, 30, 7, 1, 0];

/// One certificate in an overview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expiry {
    /// What the certificate is, for example `kubernetes-ca` or `node k8s-pool-7f2kq`.
    pub name: String,
    /// Common name of its subject.
    pub subject: String,
    /// Serial number in hexadecimal.
    pub serial: String,
    /// End of validity.
    pub not_after: DateTime<Utc>,
    /// Whole days left, rounded down; negative once it is over.
    pub days_left: i64,
}

impl Expiry {
    /// Describes a certificate at `now`.
    pub fn of(name: impl Into<String>, certificate: &Certificate, now: DateTime<Utc>) -> Self {
        Self {
            name: name.into(),
            subject: certificate.common_name().to_owned(),
            serial: certificate.serial(),
            not_after: certificate.not_after(),
            days_left: days_between(now, certificate.not_after()),
        }
    }

    /// Describes a certificate of the inventory at `now`, named after its profile and subject.
    #[must_use]
    pub fn of_issued(record: &IssuedRecord, now: DateTime<Utc>) -> Self {
        Self {
            name: format!("{} {}", record.profile, record.common_name),
            subject: record.common_name.clone(),
            serial: record.serial.clone(),
            not_after: record.not_after,
            days_left: days_between(now, record.not_after),
        }
    }

    /// Whether it ends within so many days (or has ended).
    #[must_use]
    pub const fn is_within(&self, days: i64) -> bool {
        self.days_left < days
    }

    /// The warning that became due after `since` and until `now`: the smallest number of [`WARNING_DAYS`] that was reached in between.
    ///
    /// Ask with the time of the last round as `since`, and every warning comes once; it follows from the certificate alone, so
    /// nothing has to be remembered beside that time. With `since: None` a warning that is due already comes now.
    #[must_use]
    pub fn warning(&self, since: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Option<i64> {
        let due = |days: i64| self.not_after - TimeDelta::days(days);
        let reached = WARNING_DAYS.into_iter().filter(|days| due(*days) <= now);
        reached
            .filter(|days| since.is_none_or(|since| due(*days) > since))
            .min()
    }
}

impl ClusterPki {
    /// The cluster's own certificates: each authority's, and the other generation's during a rotation. Sorted by their end, soonest first.
    /// `others` are added, for example the serving certificates that the nodes present.
    pub fn expiries<'a>(
        &self,
        others: impl IntoIterator<Item = (String, &'a Certificate)>,
        now: DateTime<Utc>,
    ) -> Vec<Expiry> {
        let mut all: Vec<Expiry> = others
            .into_iter()
            .map(|(name, certificate)| Expiry::of(name, certificate, now))
            .collect();
        for kind in AuthorityKind::ALL {
            let generations = self.generations(kind);
            for generation in
                std::iter::once(generations.signing()).chain(generations.also_trusted())
            {
                let name = format!("{kind}-ca generation {}", generation.number);
                all.push(Expiry::of(name, generation.value.certificate(), now));
            }
        }
        all.sort_by(|a, b| {
            a.not_after
                .cmp(&b.not_after)
                .then_with(|| a.name.cmp(&b.name))
        });
        all
    }
}

fn days_between(from: DateTime<Utc>, to: DateTime<Utc>) -> i64 {
    (to - from).num_seconds().div_euclid(24 * 3600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyAlgorithm, PkiOptions, Profile};
    use chrono::TimeZone;
    use std::time::Duration;

    fn now() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
    }

    fn days(days: u64) -> Duration {
        Duration::from_secs(days * 24 * 3600)
    }

    #[test]
    fn ck_10_the_overview_names_every_certificate_and_its_days() {
        let options = PkiOptions {
            authority_life: days(100),
            ..PkiOptions::default()
        };
        let pki = ClusterPki::generate("c1", options, now()).unwrap();
        let node = Profile::KubeletClient { node: "n1".into() };
        let leaf = pki
            .issue(&node, KeyAlgorithm::EcdsaP256, Some(days(20)), now())
            .unwrap();
        let at = |offset| now() + TimeDelta::days(offset);
        let list = |offset| pki.expiries([("node n1".to_owned(), leaf.certificate())], at(offset));

        let today = list(0);
        assert_eq!(today.len(), 4);
        assert_eq!(
            (today[0].name.as_str(), today[0].days_left),
            ("node n1", 20)
        );
        assert_eq!(today[0].subject, "system:node:n1");
        assert_eq!(
            (today[1].name.as_str(), today[1].days_left),
            ("etcd-ca generation 1", 100)
        );
        let within = |offset| {
            list(offset)
                .into_iter()
                .filter(|one| one.is_within(30))
                .count()
        };
        assert_eq!([within(0), within(70), within(71)], [1, 1, 4]);
        assert_eq!(list(21)[0].days_left, -1);
        let renew = leaf.certificate().renew_at() - now();
        assert!(
            TimeDelta::days(13) < renew && renew < TimeDelta::days(14),
            "{renew}"
        );
    }

    #[test]
    fn ck_10_every_warning_comes_once() {
        let options = PkiOptions {
            authority_life: days(100),
            ..PkiOptions::default()
        };
        let pki = ClusterPki::generate("c1", options, now()).unwrap();
        let mut heard = Vec::new();
        let mut since = None;
        for hour in 0..(110 * 24) {
            let at = now() + TimeDelta::hours(hour);
            let one = pki.expiries([], at).swap_remove(0);
            heard.extend(one.warning(since, at).map(|days| (days, hour / 24)));
            since = Some(at);
        }
        assert_eq!(heard, [(90, 10), (30, 70), (7, 93), (1, 99), (0, 100)]);
        // A round that was late says the most urgent thing only.
        let late = now() + TimeDelta::days(98);
        assert_eq!(
            pki.expiries([], late)[0].warning(Some(now()), late),
            Some(7)
        );
    }
}
