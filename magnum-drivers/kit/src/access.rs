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
