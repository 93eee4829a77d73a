//! A cluster's keys in a secret store: made once, found again, rotated, deleted.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use magnum_core::{ClusterId, Secret, SecretStore};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::generations::{Generation, Generations};
use crate::kubeconfig::SecretText;
use crate::pki::{new_authority, new_service_account_key};
use crate::{Authority, AuthorityKind, ClusterPki, Error, PkiOptions, PrivateKey};

/// Prefix of all purposes of this crate in a secret store.
pub const PKI_PURPOSE_PREFIX: &str = "pki.";
const SERVICE_ACCOUNT: &str = "pki.sa";

/// What is stored under one purpose. Each record is complete in itself, so a crash between any two writes leaves whole records only.
#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    signing: StoredGeneration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trusted: Option<StoredGeneration>,
}

#[derive(Serialize, Deserialize)]
struct StoredGeneration {
    number: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
    key: SecretText,
}

impl ClusterPki {
    /// The cluster's keys from `store`; those that are not there yet are made and stored.
    ///
    /// Idempotent and safe against crashes and second writers: each part is put if absent, and what the store holds afterwards is
    /// what is used. Slow key types are generated on a blocking thread. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::BadRecord`] when a stored record cannot be read, and as [`ClusterPki::generate`].
    pub async fn load_or_create(
        store: &dyn SecretStore,
        cluster: ClusterId,
        options: PkiOptions,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let label = cluster.to_string();
        let authority = |kind| {
            let label = label.clone();
            let make = move || {
                Ok(Generations::first(new_authority(
                    kind, &label, 1, options, now,
                )?))
            };
            part(
                store,
                cluster,
                authority_purpose(kind),
                authority_codec(kind),
                options.algorithm.is_slow(),
                make,
            )
        };
        Ok(Self {
            kubernetes: authority(AuthorityKind::Kubernetes).await?,
            etcd: authority(AuthorityKind::Etcd).await?,
            front_proxy: authority(AuthorityKind::FrontProxy).await?,
            service_account: part(
                store,
                cluster,
                SERVICE_ACCOUNT,
                KEY_CODEC,
                options.algorithm.is_slow(),
                move || Ok(Generations::first(new_service_account_key(options)?)),
            )
            .await?,
            label,
        })
    }

    /// The cluster's keys from `store`, or `None` when not all of them are there.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::BadRecord`].
    pub async fn load(store: &dyn SecretStore, cluster: ClusterId) -> Result<Option<Self>, Error> {
        let mut authorities = Vec::with_capacity(3);
        for kind in AuthorityKind::ALL {
            match store.get(cluster, authority_purpose(kind)).await? {
                Some(secret) => authorities.push(read(
                    authority_purpose(kind),
                    &secret,
                    authority_codec(kind),
                )?),
                None => return Ok(None),
            }
        }
        let Some(key) = store.get(cluster, SERVICE_ACCOUNT).await? else {
            return Ok(None);
        };
        let service_account = read(SERVICE_ACCOUNT, &key, KEY_CODEC)?;
        let label = cluster.to_string();
        let mut authorities = authorities.into_iter();
        Ok(
            match (authorities.next(), authorities.next(), authorities.next()) {
                (Some(kubernetes), Some(etcd), Some(front_proxy)) => Some(Self {
                    label,
                    kubernetes,
                    etcd,
                    front_proxy,
                    service_account,
                }),
                _ => None,
            },
        )
    }

    /// Stores all parts, replacing what is there: after a step of a rotation. Repeat it when it fails or is cut short; each
    /// record is written whole, and the step itself can be repeated on whatever mixture a crash has left.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::NotAllowed`] when an authority's key lives elsewhere and so cannot be stored.
    pub async fn save(&self, store: &dyn SecretStore, cluster: ClusterId) -> Result<(), Error> {
        for kind in AuthorityKind::ALL {
            let record = write(self.generations(kind), authority_codec(kind))?;
            store.put(cluster, authority_purpose(kind), record).await?;
        }
        store
            .put(
                cluster,
                SERVICE_ACCOUNT,
                write(&self.service_account, KEY_CODEC)?,
            )
            .await?;
        Ok(())
    }

    /// Deletes everything that this crate stored for the cluster, all generations. Nothing there is success.
    ///
    /// # Errors
    /// [`Error::Store`]; call again, nothing is forgotten.
    pub async fn delete(store: &dyn SecretStore, cluster: ClusterId) -> Result<(), Error> {
        for purpose in store.purposes(cluster).await? {
            if purpose.starts_with(PKI_PURPOSE_PREFIX) {
                store.delete(cluster, &purpose).await?;
            }
        }
        Ok(())
    }
}

const fn authority_purpose(kind: AuthorityKind) -> &'static str {
    match kind {
        AuthorityKind::Kubernetes => "pki.ca",
        AuthorityKind::Etcd => "pki.etcd-ca",
        AuthorityKind::FrontProxy => "pki.front-proxy-ca",
    }
}

/// Gives the certificate, where there is one, and the key.
type Write<T> = fn(&T) -> Result<(Option<String>, SecretText), Error>;
/// Takes kind, certificate and key.
type Read<T> = fn(Option<AuthorityKind>, Option<&str>, &str) -> Result<T, Error>;

/// How a value of one purpose becomes text and back.
struct Codec<T> {
    kind: Option<AuthorityKind>,
    write: Write<T>,
    read: Read<T>,
}

impl<T> Clone for Codec<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Codec<T> {}

const fn authority_codec(kind: AuthorityKind) -> Codec<Authority> {
    Codec {
        kind: Some(kind),
        write: |authority| {
            let key = authority.key_pem().ok_or_else(|| Error::NotAllowed {
                reason: format!(
                    "the key of the {} authority lives elsewhere and cannot be stored",
                    authority.kind()
                ),
            })?;
            Ok((Some(authority.certificate().to_pem()), key.into()))
        },
        read: |kind, certificate, key| {
            let missing = || Error::BadCertificate {
                reason: "it is missing".to_owned(),
            };
            Authority::from_pem(
                kind.ok_or_else(missing)?,
                certificate.ok_or_else(missing)?,
                key,
            )
        },
    }
}

const KEY_CODEC: Codec<Arc<PrivateKey>> = Codec {
    kind: None,
    write: |key| Ok((None, key.to_pem().into())),
    read: |_, _, key| PrivateKey::from_pem(key).map(Arc::new),
};

async fn part<T: Send + 'static>(
    store: &dyn SecretStore,
    cluster: ClusterId,
    purpose: &'static str,
    codec: Codec<T>,
    slow: bool,
    make: impl FnOnce() -> Result<Generations<T>, Error> + Send + 'static,
) -> Result<Generations<T>, Error> {
    if let Some(secret) = store.get(cluster, purpose).await? {
        return read(purpose, &secret, codec);
    }
    let record = if slow {
        tokio::task::spawn_blocking(move || write(&make()?, codec))
            .await
            .map_err(|_| Error::Crypto {
                operation: "finish generating a key",
            })??
    } else {
        write(&make()?, codec)?
    };
    let stored = store.put_if_absent(cluster, purpose, record).await?;
    read(purpose, &stored, codec)
}

fn write<T>(generations: &Generations<T>, codec: Codec<T>) -> Result<Secret, Error> {
    let stored = |generation: &Generation<T>| {
        (codec.write)(&generation.value).map(|(certificate, key)| StoredGeneration {
            number: generation.number,
            certificate,
            key,
        })
    };
    let record = Record {
        version: 1,
        signing: stored(generations.signing())?,
        trusted: generations.also_trusted().map(stored).transpose()?,
    };
    let mut text = Zeroizing::new(Vec::with_capacity(32 * 1024));
    serde_json::to_writer(&mut *text, &record).map_err(|_| Error::Crypto {
        operation: "write a record",
    })?;
    Ok(Secret::new(text.as_slice()))
}

fn read<T>(
    purpose: &'static str,
    secret: &Secret,
    codec: Codec<T>,
) -> Result<Generations<T>, Error> {
    // The parser's own message may quote what it read.
    let record: Record = serde_json::from_slice(secret.expose()).map_err(|_| Error::BadRecord {
        purpose,
        reason: "it is not the JSON that this crate writes".to_owned(),
    })?;
    if record.version != 1 {
        return Err(Error::BadRecord {
            purpose,
            reason: format!("version {} is not known", record.version),
        });
    }
    let parse = |stored: StoredGeneration| {
        (codec.read)(
            codec.kind,
            stored.certificate.as_deref(),
            stored.key.expose(),
        )
        .map(|value| Generation {
            number: stored.number,
            value,
        })
        .map_err(|error| Error::BadRecord {
            purpose,
            reason: error.to_string(),
        })
    };
    Ok(Generations::from_parts(
        parse(record.signing)?,
        record.trusted.map(parse).transpose()?,
    ))
}
