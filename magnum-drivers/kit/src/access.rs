//! How clusters' APIs are reached and what is installed in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use magnum_certs::{AuthorityKind, ClusterPki, KeyAlgorithm, Profile};
use magnum_core::driver::DriverError;
use magnum_core::{ClusterId, Retry};

use crate::addons::{AddonSource, BuiltinAddons};
use crate::bootstrap::Endpoint;
use crate::connector::{Direct, EndpointConnector, connect_kubernetes};
use crate::fault::certificate_error;
use crate::kubernetes::KubernetesClient;
use crate::memo::InfraOutputs;
use crate::stacks::API_PORT;

/// Life of the certificate with which the engine comes to a cluster. Renewed at half time.
const LIFE: Duration = Duration::from_secs(8 * 3600);

/// The way to clusters' APIs and the source of add-ons, with the clients that are in use.
#[derive(Debug)]
pub struct Access {
    connector: Arc<dyn EndpointConnector>,
    addons: Arc<dyn AddonSource>,
    clients: Mutex<HashMap<ClusterId, Known>>,
}

#[derive(Debug)]
struct Known {
    client: KubernetesClient,
    authority: String,
    renew_at: DateTime<Utc>,
}

impl Default for Access {
    fn default() -> Self {
        Self::new(Arc::new(Direct), Arc::new(BuiltinAddons))
    }
}

impl Access {
    /// By this way, with these add-ons.
    #[must_use]
    pub fn new(connector: Arc<dyn EndpointConnector>, addons: Arc<dyn AddonSource>) -> Self {
        Self {
            connector,
            addons,
            clients: Mutex::default(),
        }
    }

    /// The source of add-ons.
    #[must_use]
    pub fn addons(&self) -> &dyn AddonSource {
        self.addons.as_ref()
    }

    /// The way to clusters' APIs.
    #[must_use]
    pub fn connector(&self) -> &dyn EndpointConnector {
        self.connector.as_ref()
    }

    /// A client of a cluster's API as its administrator. It does not try the connection.
    ///
    /// # Errors
    /// [`DriverError::Unavailable`] where the connector finds no way now.
    pub async fn client(
        &self,
        cluster: ClusterId,
        pki: &ClusterPki,
        outputs: &InfraOutputs,
        now: DateTime<Utc>,
    ) -> Result<KubernetesClient, DriverError> {
        let endpoint = Endpoint::new(outputs.client_address().to_string(), API_PORT);
        let authority = pki.trust_bundle(AuthorityKind::Kubernetes);
        if let Some(known) = self.locked().get(&cluster)
            && known.authority == authority
            && known.renew_at > now
            && *known.client.endpoint() == endpoint
        {
            return Ok(known.client.clone());
        }
        let profile = Profile::Admin {
            user: "magnum-engine".to_owned(),
        };
        let credential = pki
            .issue(&profile, KeyAlgorithm::EcdsaP256, Some(LIFE), now)
            .map_err(certificate_error)?;
        let client = connect_kubernetes(
            self.connector.as_ref(),
            cluster,
            &endpoint,
            &authority,
            &credential.certificate().to_pem(),
            credential.key_pem(),
        )
        .await
        .map_err(|error| DriverError::Unavailable {
            service: "Kubernetes API".to_owned(),
            reason: format!("{endpoint} cannot be reached: {error}"),
            retry: Retry::Later,
            source: Some(Box::new(error)),
        })?;
        self.locked().insert(
            cluster,
            Known {
                client: client.clone(),
                authority,
                renew_at: now + LIFE / 2,
            },
        );
        Ok(client)
    }

    /// Forgets what was kept of a cluster that is gone.
    pub fn forget(&self, cluster: ClusterId) {
        self.locked().remove(&cluster);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<ClusterId, Known>> {
        self.clients.lock().expect("no holder of this lock panics")
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use chrono::TimeDelta;
    use magnum_certs::{PkiOptions, RotationPhase, RotationPlan};
    use uuid::Uuid;

    use super::*;

    /// The engine's own credential is kept in memory only, and made anew in every phase of a rotation and at half time.
    #[tokio::test]
    async fn p_04_no_client_of_before_a_rotation_is_used_again() {
        let now = Utc::now();
        let cluster = ClusterId::from_uuid(Uuid::from_u128(1));
        let outputs = InfraOutputs {
            network: String::new(),
            subnet: String::new(),
            cidr: "10.0.0.0/24".parse().unwrap(),
            mtu: None,
            control_plane_group: None,
            worker_group: None,
            server_group: None,
            pool: None,
            api_port: None,
            address: Ipv4Addr::LOCALHOST.into(),
            floating_address: None,
        };
        let access = Access::default();
        let seen = async |pki: &ClusterPki, at| {
            access.client(cluster, pki, &outputs, at).await.unwrap();
            let clients = access.locked();
            let known = &clients[&cluster];
            (known.authority.clone(), known.renew_at)
        };
        let mut pki = ClusterPki::generate("c1", PkiOptions::default(), now).unwrap();
        let first = seen(&pki, now).await;
        assert_eq!(seen(&pki, now + TimeDelta::hours(1)).await, first);
        let later = now + TimeDelta::hours(5);
        assert_ne!(seen(&pki, later).await, first, "renewed at half time");

        let plan = RotationPlan::all(&pki);
        let mut before = seen(&pki, later).await;
        for phase in RotationPhase::ALL {
            pki = pki
                .in_phase(&plan, phase, PkiOptions::default(), now)
                .unwrap();
            let after = seen(&pki, later).await;
            assert_ne!(after, before, "{phase:?}");
            assert_eq!(after.0, pki.trust_bundle(AuthorityKind::Kubernetes));
            before = after;
        }
    }
}
