//! The embedder's door: certificates of the clusters that an engine keeps.

mod policy;
mod warnings;

pub use policy::{MagnumSigningPolicy, SigningPolicy};
pub use warnings::ExpiryWarning;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use magnum_core::driver::RotationPhase;
use magnum_core::{
    Accepted, Clock, Cluster, ClusterKey, Engine, RequestContext, SecretStore, SystemClock,
};
use url::Url;

use crate::{
    ApiEndpoint, AuthorityKind, Certificate, ClusterPki, Csr, Error, Expiry, Inventory,
    IssuedQuery, IssuedRecord, KeyAlgorithm, Kubeconfig, Profile, RevocationReason, UserAuth,
};

/// Certificates of an engine's clusters. Every call takes the caller's context: what the caller cannot see looks absent, and a
/// [`SigningPolicy`] decides who may have which profile. Clones share everything.
///
/// Everything signed here is in the cluster's [`Inventory`] before it is handed out.
#[derive(Debug, Clone)]
pub struct Certificates {
    engine: Engine,
    clock: Arc<dyn Clock>,
    policy: Arc<dyn SigningPolicy>,
    proxy: Option<Url>,
}

impl Certificates {
    /// The certificates of `engine`'s clusters, under [`MagnumSigningPolicy`].
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        Self {
            engine: engine.clone(),
            clock: Arc::new(SystemClock),
            policy: Arc::new(MagnumSigningPolicy::default()),
            proxy: None,
        }
    }

    /// Another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Another policy.
    #[must_use]
    pub fn with_policy(mut self, policy: Arc<dyn SigningPolicy>) -> Self {
        self.policy = policy;
        self
    }

    /// Kubeconfigs lead through this proxy (`http`, `https` or `socks5`).
    #[must_use]
    pub fn with_proxy(mut self, proxy: Url) -> Self {
        self.proxy = Some(proxy);
        self
    }

    /// What to trust, as PEM: an authority's certificate, two during a rotation. Whoever sees the cluster may have it.
    ///
    /// # Errors
    /// [`Error::Engine`] (not found, forbidden), [`Error::NoAuthorities`], [`Error::Store`].
    pub async fn ca(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        kind: AuthorityKind,
    ) -> Result<String, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        Ok(self.pki(&cluster).await?.trust_bundle(kind))
    }

    /// A kubeconfig with a fresh client certificate. `life` counts from now; `None` is the profile's default, and the profile's
    /// longest life and the authority's end cut it.
    ///
    /// # Errors
    /// As [`Certificates::ca`]; [`Error::NotAllowed`] by the policy or for a profile that is no client of the Kubernetes API,
    /// [`Error::NoEndpoint`] while the cluster has no address.
    pub async fn kubeconfig(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        profile: &Profile,
        life: Option<Duration>,
    ) -> Result<Kubeconfig, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        self.policy.allows(cx, &cluster, profile)?;
        let endpoint = self.endpoint(&cluster)?;
        let pki = self.pki(&cluster).await?;
        let endpoint = ApiEndpoint {
            trust: Some(pki.trust_bundle(AuthorityKind::Kubernetes)),
            ..endpoint
        };
        let now = self.clock.now();
        let config = pki.kubeconfig(&entry_name(&cluster), &endpoint, profile, life, now)?;
        if let Some(credential) = config
            .current()
            .map(|(_, user)| user.credential())
            .transpose()?
            .flatten()
        {
            self.record(cx, &cluster, credential.certificate(), profile, now)
                .await?;
        }
        Ok(config)
    }

    /// A kubeconfig without a certificate: a credential plugin (Keystone, OIDC) or a token proves who the user is.
    ///
    /// # Errors
    /// As [`Certificates::ca`]; [`Error::NoEndpoint`] while the cluster has no address.
    pub async fn kubeconfig_with(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        user: &str,
        auth: &UserAuth,
    ) -> Result<Kubeconfig, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        let endpoint = self.endpoint(&cluster)?;
        let trust = self
            .pki(&cluster)
            .await?
            .trust_bundle(AuthorityKind::Kubernetes);
        Kubeconfig::single(
            &entry_name(&cluster),
            &ApiEndpoint {
                trust: Some(trust),
                ..endpoint
            },
            user,
            auth,
        )
    }

    /// Signs a request (one PEM block). With `profile: None` the request's subject says what it asks for, as in Magnum's API; see
    /// [`Profile::requested_by`]. Which authority signs follows from the profile.
    ///
    /// # Errors
    /// As [`Certificates::ca`]; [`Error::BadRequest`] for what is wrong with the request, [`Error::NotAllowed`] by the policy or for
    /// a request that goes beyond its profile.
    pub async fn sign_csr(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        csr: &str,
        profile: Option<&Profile>,
        life: Option<Duration>,
    ) -> Result<Certificate, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        let csr = Csr::from_pem(csr)?;
        let profile = match profile {
            Some(profile) => profile.clone(),
            None => Profile::requested_by(&csr)?,
        };
        self.policy.allows(cx, &cluster, &profile)?;
        let now = self.clock.now();
        let certificate = self
            .pki(&cluster)
            .await?
            .sign_csr(&csr, &profile, life, now)?;
        self.record(cx, &cluster, &certificate, &profile, now)
            .await?;
        Ok(certificate)
    }

    /// A fresh key and certificate, for components of the embedder's own.
    ///
    /// # Errors
    /// As [`Certificates::sign_csr`], without a request.
    pub async fn issue(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        profile: &Profile,
        life: Option<Duration>,
    ) -> Result<crate::Credential, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        self.policy.allows(cx, &cluster, profile)?;
        let now = self.clock.now();
        let credential =
            self.pki(&cluster)
                .await?
                .issue(profile, KeyAlgorithm::default(), life, now)?;
        self.record(cx, &cluster, credential.certificate(), profile, now)
            .await?;
        Ok(credential)
    }

    /// A fresh key and certificate in the place of `leaf` where it has to be replaced ([`ClusterPki::renewal`]); none where it is still
    /// good, and nothing is signed then.
    ///
    /// # Errors
    /// As [`Certificates::issue`].
    pub async fn renew(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        leaf: &Certificate,
        profile: &Profile,
        life: Option<Duration>,
    ) -> Result<Option<crate::Credential>, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        self.policy.allows(cx, &cluster, profile)?;
        let (pki, now) = (self.pki(&cluster).await?, self.clock.now());
        let Some(new) = pki.renew(leaf, profile, KeyAlgorithm::default(), life, now)? else {
            return Ok(None);
        };
        self.record(cx, &cluster, new.certificate(), profile, now)
            .await?;
        Ok(Some(new))
    }

    /// Asks the engine to replace the cluster's authorities and service-account keys, as `PATCH` does in Magnum's API. It leads the driver
    /// through the [`RotationPhase`]s; watch the operation. Nothing is touched where the driver cannot do it.
    ///
    /// # Errors
    /// [`Error::Engine`] as [`Engine::change`]: not found, forbidden, busy, not supported by the driver.
    pub async fn rotate(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Accepted, Error> {
        Ok(self.engine.rotate_ca(cx, cluster).await?)
    }

    /// Where a rotation of the cluster's keys stands; none where none is under way.
    ///
    /// # Errors
    /// As [`Certificates::ca`].
    pub async fn rotation(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Option<RotationPhase>, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        Ok(self.pki(&cluster).await?.phase())
    }

    /// The authorities' certificates and, for whoever may read the inventory ([`Certificates::issued`]), what was signed for the cluster and
    /// not revoked, with their ends, soonest first (rule CK-10). What has ended is listed until it is pruned from the inventory.
    ///
    /// # Errors
    /// As [`Certificates::ca`].
    pub async fn expiries(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Vec<Expiry>, Error> {
        let cluster = self.engine.cluster(cx, cluster).await?;
        let all = self.overview(cx, &cluster, self.clock.now()).await?;
        Ok(all.into_iter().map(|listed| listed.expiry).collect())
    }

    /// What was signed for the cluster.
    ///
    /// # Errors
    /// As [`Certificates::ca`]; [`Error::Engine`] when the caller may not read the cluster's secrets.
    pub async fn issued(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        query: &IssuedQuery,
    ) -> Result<Vec<IssuedRecord>, Error> {
        let (id, store) = self.engine.secrets(cx, cluster).await?;
        Inventory::new(&*store, id).list(query).await
    }

    /// Marks a certificate as revoked and gives the new revocation list of its authority (PEM, valid for `life`); `None` when
    /// nothing of that serial number was signed. Kubernetes itself takes no such list.
    ///
    /// # Errors
    /// As [`Certificates::issued`].
    pub async fn revoke(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        serial: &str,
        reason: RevocationReason,
        life: Duration,
    ) -> Result<Option<String>, Error> {
        let (id, store) = self.engine.secrets(cx, cluster).await?;
        let inventory = Inventory::new(&*store, id);
        let now = self.clock.now();
        if !inventory.revoke(serial, reason, now).await? {
            return Ok(None);
        }
        let all = inventory.list(&IssuedQuery::default()).await?;
        let Some(kind) = all
            .iter()
            .find(|record| record.serial == serial)
            .map(|record| record.authority)
        else {
            return Ok(None);
        };
        let pki = ClusterPki::load(&*store, id)
            .await?
            .ok_or(Error::NoAuthorities { cluster: id })?;
        let revoked = inventory.revocations(kind, now).await?;
        // Seconds since 1970 grow with every list, and need no counter to be kept.
        let number = now.timestamp().unsigned_abs();
        pki.authority(kind)
            .revocation_list(&revoked, number, life, now)
            .map(Some)
    }

    async fn pki(&self, cluster: &Cluster) -> Result<ClusterPki, Error> {
        let found = ClusterPki::load(&*self.store(), cluster.id).await?;
        found.ok_or(Error::NoAuthorities {
            cluster: cluster.id,
        })
    }

    fn store(&self) -> Arc<dyn SecretStore> {
        self.engine.secret_store()
    }

    fn endpoint(&self, cluster: &Cluster) -> Result<ApiEndpoint, Error> {
        let server = cluster.facts.api_address.clone().ok_or(Error::NoEndpoint {
            cluster: cluster.id,
        })?;
        Ok(ApiEndpoint {
            server,
            trust: None,
            proxy: self.proxy.clone(),
            tls_server_name: None,
        })
    }

    async fn record(
        &self,
        cx: &RequestContext,
        cluster: &Cluster,
        certificate: &Certificate,
        profile: &Profile,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let record = IssuedRecord::new(certificate, profile, &cx.user_id, now);
        Inventory::new(&*self.store(), cluster.id)
            .record(&record)
            .await
    }
}

/// The cluster's name as a kubeconfig can have it.
fn entry_name(cluster: &Cluster) -> String {
    cluster.name.as_str().replace('/', "-")
}
