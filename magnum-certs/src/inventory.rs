//! What was ever signed for a cluster: serial, subject, who asked, when.

use chrono::{DateTime, Utc};
use magnum_core::{ClusterId, Secret, SecretStore};
use serde::{Deserialize, Serialize};

use crate::crl::{Revocation, RevocationReason};
use crate::{AuthorityKind, Certificate, Error, Profile};

/// Prefix of the purposes of the records; [`crate::ClusterPki::delete`] takes them with the rest.
const PREFIX: &str = "pki.issued.";

/// A signed certificate in the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedRecord {
    /// Serial number in hexadecimal.
    pub serial: String,
    /// The authority that signed.
    pub authority: AuthorityKind,
    /// Name of the profile.
    pub profile: String,
    /// Common name of the subject.
    pub common_name: String,
    /// Organizations of the subject.
    pub organizations: Vec<String>,
    /// Who asked.
    pub requester: String,
    /// When it was signed.
    pub issued_at: DateTime<Utc>,
    /// When it ends.
    pub not_after: DateTime<Utc>,
    /// When and why it was revoked.
    pub revoked: Option<(DateTime<Utc>, RevocationReason)>,
}

impl IssuedRecord {
    /// Describes a certificate that was just signed.
    #[must_use]
    pub fn new(
        certificate: &Certificate,
        profile: &Profile,
        requester: &str,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            serial: certificate.serial(),
            authority: profile.authority(),
            profile: profile.name().to_owned(),
            common_name: certificate.common_name().to_owned(),
            organizations: certificate.organizations().to_vec(),
            requester: requester.to_owned(),
            issued_at: now,
            not_after: certificate.not_after(),
            revoked: None,
        }
    }

    /// Whether it is a person's; see [`Profile::is_for_people`].
    #[must_use]
    pub fn is_for_people(&self) -> bool {
        Profile::PEOPLE.contains(&self.profile.as_str())
    }
}

/// Which records to list. The default is all.
#[derive(Debug, Clone, Default)]
pub struct IssuedQuery {
    /// Only these authorities' certificates.
    pub authority: Option<AuthorityKind>,
    /// Only of this subject.
    pub common_name: Option<String>,
    /// Only asked for by this requester.
    pub requester: Option<String>,
    /// Only those that are valid at this time and not revoked.
    pub valid_at: Option<DateTime<Utc>>,
}

impl IssuedQuery {
    fn takes(&self, record: &IssuedRecord) -> bool {
        self.authority
            .is_none_or(|authority| authority == record.authority)
            && self
                .common_name
                .as_ref()
                .is_none_or(|name| *name == record.common_name)
            && self
                .requester
                .as_ref()
                .is_none_or(|requester| *requester == record.requester)
            && self
                .valid_at
                .is_none_or(|at| at <= record.not_after && record.revoked.is_none())
    }
}

/// The inventory of one cluster, one record a certificate, in a secret store.
#[derive(Debug, Clone, Copy)]
pub struct Inventory<'a> {
    store: &'a dyn SecretStore,
    cluster: ClusterId,
}

impl<'a> Inventory<'a> {
    /// The inventory of `cluster` in `store`.
    #[must_use]
    pub fn new(store: &'a dyn SecretStore, cluster: ClusterId) -> Self {
        Self { store, cluster }
    }

    /// Writes a record. Do it before the certificate leaves the process. Idempotent; cancel safe.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn record(&self, record: &IssuedRecord) -> Result<(), Error> {
        let json = serde_json::to_vec(record).map_err(|_| Error::Crypto {
            operation: "write a record",
        })?;
        self.store
            .put(
                self.cluster,
                &format!("{PREFIX}{}", record.serial),
                Secret::new(json),
            )
            .await?;
        Ok(())
    }

    /// The records that `query` takes, oldest first.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::BadRecord`].
    pub async fn list(&self, query: &IssuedQuery) -> Result<Vec<IssuedRecord>, Error> {
        let mut found = Vec::new();
        for purpose in self.store.purposes(self.cluster).await? {
            if purpose.starts_with(PREFIX)
                && let Some(secret) = self.store.get(self.cluster, &purpose).await?
            {
                let record = parse(&secret)?;
                if query.takes(&record) {
                    found.push(record);
                }
            }
        }
        found.sort_by(|a, b| {
            a.issued_at
                .cmp(&b.issued_at)
                .then_with(|| a.serial.cmp(&b.serial))
        });
        Ok(found)
    }

    /// Marks a certificate as revoked; `false` when there is no record of it. The first mark stays.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::BadRecord`].
    pub async fn revoke(
        &self,
        serial: &str,
        reason: RevocationReason,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let Some(secret) = self
            .store
            .get(self.cluster, &format!("{PREFIX}{serial}"))
            .await?
        else {
            return Ok(false);
        };
        let mut record = parse(&secret)?;
        if record.revoked.is_none() {
            record.revoked = Some((now, reason));
            self.record(&record).await?;
        }
        Ok(true)
    }

    /// What belongs into an authority's revocation list at `now`: everything revoked that has not ended by itself.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::BadRecord`].
    pub async fn revocations(
        &self,
        authority: AuthorityKind,
        now: DateTime<Utc>,
    ) -> Result<Vec<Revocation>, Error> {
        let query = IssuedQuery {
            authority: Some(authority),
            ..IssuedQuery::default()
        };
        let mut list = Vec::new();
        for record in self.list(&query).await? {
            if let Some((at, reason)) = record.revoked
                && record.not_after >= now
            {
                list.push(Revocation::of_serial(&record.serial, reason, at)?);
            }
        }
        Ok(list)
    }

    /// Forgets certificates that ended before `before`; gives how many.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::BadRecord`].
    pub async fn prune(&self, before: DateTime<Utc>) -> Result<usize, Error> {
        let mut count = 0;
        for record in self.list(&IssuedQuery::default()).await? {
            if record.not_after < before {
                self.store
                    .delete(self.cluster, &format!("{PREFIX}{}", record.serial))
                    .await?;
                count += 1;
            }
        }
        Ok(count)
    }
}

fn parse(secret: &Secret) -> Result<IssuedRecord, Error> {
    serde_json::from_slice(secret.expose()).map_err(|_| Error::BadRecord {
        purpose: "pki.issued",
        reason: "it is not the JSON that this crate writes".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClusterPki, KeyAlgorithm, PkiOptions};
    use chrono::{TimeDelta, TimeZone};
    use magnum_core::MemorySecretStore;
    use uuid::Uuid;

    #[tokio::test]
    async fn everything_signed_is_found_and_can_be_revoked() {
        let now = Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap();
        let store = MemorySecretStore::default();
        let cluster = ClusterId::from_uuid(Uuid::from_u128(1));
        let inventory = Inventory::new(&store, cluster);
        let pki = ClusterPki::load_or_create(&store, cluster, PkiOptions::default(), now)
            .await
            .unwrap();
        for (number, user) in ["alice", "bob", "alice"].into_iter().enumerate() {
            let at = now + TimeDelta::hours(i64::try_from(number).unwrap());
            let profile = Profile::Admin { user: user.into() };
            let issued = pki
                .issue(&profile, KeyAlgorithm::EcdsaP256, None, at)
                .unwrap();
            inventory
                .record(&IssuedRecord::new(
                    issued.certificate(),
                    &profile,
                    "u-1",
                    at,
                ))
                .await
                .unwrap();
        }
        let all = inventory.list(&IssuedQuery::default()).await.unwrap();
        assert_eq!(
            all.iter()
                .map(|r| r.common_name.as_str())
                .collect::<Vec<_>>(),
            ["alice", "bob", "alice"]
        );
        let alice = IssuedQuery {
            common_name: Some("alice".into()),
            ..IssuedQuery::default()
        };
        assert_eq!(inventory.list(&alice).await.unwrap().len(), 2);

        assert!(
            inventory
                .revoke(&all[0].serial, RevocationReason::KeyCompromise, now)
                .await
                .unwrap()
        );
        assert!(
            !inventory
                .revoke("00", RevocationReason::KeyCompromise, now)
                .await
                .unwrap()
        );
        let valid = IssuedQuery {
            valid_at: Some(now),
            ..alice
        };
        assert_eq!(inventory.list(&valid).await.unwrap().len(), 1);
        let kubernetes = AuthorityKind::Kubernetes;
        assert_eq!(
            inventory.revocations(kubernetes, now).await.unwrap().len(),
            1
        );
        assert_eq!(
            inventory
                .revocations(AuthorityKind::Etcd, now)
                .await
                .unwrap()
                .len(),
            0
        );
        assert_eq!(
            inventory
                .revocations(kubernetes, now + TimeDelta::days(2))
                .await
                .unwrap()
                .len(),
            0
        );

        assert_eq!(
            inventory.prune(now + TimeDelta::hours(25)).await.unwrap(),
            1
        );
        ClusterPki::delete(&store, cluster).await.unwrap();
        assert!(
            inventory
                .list(&IssuedQuery::default())
                .await
                .unwrap()
                .is_empty()
        );
    }
}
