//! Real keys and certificates on the nodes of core's reference driver.

use async_trait::async_trait;
use magnum_core::driver::memory::NodeKeys;
use magnum_core::driver::{DriverContext, DriverError, RotationPhase};
use magnum_core::{ClusterId, Secret};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::kubeconfig::SecretText;
use crate::{
    AltNames, AuthorityKind, Certificate, ClusterPki, Credential, Error, PkiOptions, PrivateKey,
    Profile, RotationPlan,
};

/// Gives each node of a [`MemoryDriver`](magnum_core::driver::memory::MemoryDriver) a kubelet's two certificates and what it has to
/// trust: for tests, demonstrations, and to read before doing it in a driver.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReferenceKeys {
    options: PkiOptions,
}

/// What a node holds: see [`ReferenceKeys::read`].
#[derive(Debug)]
pub struct NodeIdentity {
    /// The certificates of the Kubernetes authorities that the node trusts, as PEM.
    pub trust: String,
    /// The public keys that verify service accounts' tokens, as PEM.
    pub service_account_keys: String,
    /// What the node shows its clients.
    pub serving: Credential,
    /// What the node shows the API server.
    pub client: Credential,
}

#[derive(Serialize, Deserialize)]
struct Held {
    trust: String,
    service_account_keys: String,
    serving: Pair,
    client: Pair,
}

#[derive(Serialize, Deserialize)]
struct Pair {
    certificate: String,
    key: SecretText,
}

impl Pair {
    fn of(credential: &Credential) -> Self {
        Self {
            certificate: credential.certificate().to_pem(),
            key: credential.key_pem().into(),
        }
    }

    fn read(&self) -> Result<Credential, Error> {
        Credential::new(
            Certificate::from_pem(&self.certificate)?,
            PrivateKey::from_pem(self.key.expose())?,
        )
    }
}

impl ReferenceKeys {
    /// Keys made with these options.
    #[must_use]
    pub const fn new(options: PkiOptions) -> Self {
        Self { options }
    }

    /// What a node holds, from [`Thing::keys`](magnum_core::driver::memory::Thing::keys).
    ///
    /// # Errors
    /// [`Error::BadRecord`] where it was not written by this type.
    pub fn read(held: &Secret) -> Result<NodeIdentity, Error> {
        let held = parse(held)?;
        Ok(NodeIdentity {
            serving: held.serving.read()?,
            client: held.client.read()?,
            trust: held.trust,
            service_account_keys: held.service_account_keys,
        })
    }

    async fn pki(&self, cx: &DriverContext) -> Result<ClusterPki, Error> {
        let (store, now) = (&**cx.secrets(), cx.now());
        ClusterPki::load_or_create(store, cx.cluster, self.options, now).await
    }

    async fn held(
        &self,
        cx: &DriverContext,
        node: &str,
        before: Option<&Secret>,
    ) -> Result<Secret, Error> {
        let (pki, now) = (self.pki(cx).await?, cx.now());
        let kind = AuthorityKind::Kubernetes;
        let trust = pki.trust_bundle(kind);
        let keys = pki.service_account().trusted();
        let service_account_keys: String = keys.map(|key| key.public_key().to_pem()).collect();
        let old = before.map(parse).transpose()?;
        let pair = |old: Option<&Pair>, profile: &Profile| -> Result<(Pair, bool), Error> {
            if let Some(old) = old {
                let leaf = Certificate::from_pem(&old.certificate)?;
                if pki.renewal(&leaf, kind, now).is_none() {
                    let (certificate, key) = (old.certificate.clone(), old.key.clone());
                    return Ok((Pair { certificate, key }, false));
                }
            }
            let new = pki.issue(profile, self.options.algorithm, None, now)?;
            Ok((Pair::of(&new), true))
        };
        let node = node.to_owned();
        let serving = Profile::KubeletServing {
            node: node.clone(),
            names: AltNames::new(),
        };
        let (serving, renewed) = pair(old.as_ref().map(|old| &old.serving), &serving)?;
        let client = Profile::KubeletClient { node };
        let (client, also) = pair(old.as_ref().map(|old| &old.client), &client)?;
        let same =
            |old: &Held| old.trust == trust && old.service_account_keys == service_account_keys;
        if let (Some(before), Some(old), false) = (before, &old, renewed || also)
            && same(old)
        {
            return Ok(before.clone());
        }
        let held = Held {
            trust,
            service_account_keys,
            serving,
            client,
        };
        let mut text = Zeroizing::new(Vec::with_capacity(16 * 1024));
        serde_json::to_writer(&mut *text, &held).map_err(|_| Error::Crypto {
            operation: "write a record",
        })?;
        Ok(Secret::new(text.as_slice()))
    }
}

fn parse(held: &Secret) -> Result<Held, Error> {
    serde_json::from_slice(held.expose()).map_err(|_| Error::BadRecord {
        purpose: "node",
        reason: "it is not the JSON that this crate writes".to_owned(),
    })
}

fn plan_of(cluster: ClusterId, text: &str) -> Result<RotationPlan, DriverError> {
    serde_json::from_str(text).map_err(|_| {
        DriverError::internal(format!("the rotation of cluster {cluster} has no plan"))
    })
}

#[async_trait]
impl NodeKeys for ReferenceKeys {
    async fn plan(&self, cx: &DriverContext) -> Result<String, DriverError> {
        let plan = RotationPlan::all(&self.pki(cx).await?);
        serde_json::to_string(&plan).map_err(|error| DriverError::internal(error.to_string()))
    }

    async fn enter(
        &self,
        cx: &DriverContext,
        plan: &str,
        phase: RotationPhase,
    ) -> Result<(), DriverError> {
        let (plan, now) = (plan_of(cx.cluster, plan)?, cx.now());
        let store = &**cx.secrets();
        ClusterPki::enter_phase(store, cx.cluster, &plan, phase, self.options, now).await?;
        Ok(())
    }

    async fn of_node(
        &self,
        cx: &DriverContext,
        node: &str,
        held: Option<&Secret>,
    ) -> Result<Secret, DriverError> {
        Ok(self.held(cx, node, held).await?)
    }

    /// Whether the node trusts what it shows, and what it shows is valid.
    async fn is_proven(
        &self,
        cx: &DriverContext,
        _: &str,
        held: &Secret,
    ) -> Result<bool, DriverError> {
        let identity = Self::read(held)?;
        let trust = Certificate::bundle_from_pem(&identity.trust)?;
        let good = |credential: &Credential| {
            let leaf = credential.certificate();
            leaf.is_valid_at(cx.now()) && trust.iter().any(|ca| leaf.is_issued_by(ca))
        };
        Ok(good(&identity.serving) && good(&identity.client))
    }
}
