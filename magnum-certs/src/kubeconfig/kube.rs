//! Conversion into the type of the `kube` crate.

use ::kube::config::Kubeconfig as KubeKubeconfig;
use secrecy::ExposeSecret as _;

use super::Kubeconfig;
use crate::Error;

/// What `kube::Config::from_custom_kubeconfig` takes, by way of the YAML that both read.
impl TryFrom<&Kubeconfig> for KubeKubeconfig {
    type Error = Error;

    /// # Errors
    /// [`Error::BadKubeconfig`] where `kube` does not read it.
    fn try_from(config: &Kubeconfig) -> Result<Self, Error> {
        let yaml = config.to_yaml()?;
        // The reader's own message may quote what it read.
        Self::from_yaml(yaml.expose_secret()).map_err(|_| Error::BadKubeconfig {
            reason: "kube does not read it".to_owned(),
        })
    }
}

impl TryFrom<Kubeconfig> for KubeKubeconfig {
    type Error = Error;

    /// # Errors
    /// [`Error::BadKubeconfig`] where `kube` does not read it.
    fn try_from(config: Kubeconfig) -> Result<Self, Error> {
        Self::try_from(&config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClusterPki, PkiOptions, Profile};
    use chrono::Utc;

    #[test]
    fn ck_04_kube_sees_the_same_as_we_do() {
        let now = Utc::now();
        let pki = ClusterPki::generate("c1", PkiOptions::default(), now).unwrap();
        let admin = Profile::Admin {
            user: "alice".into(),
        };
        let endpoint = pki.endpoint("[2001:db8::1]:6443");
        let ours = pki
            .kubeconfig("prod.x", &endpoint, &admin, None, now)
            .unwrap();
        let kube = KubeKubeconfig::try_from(&ours).unwrap();
        assert_eq!(kube.current_context.as_deref(), Some("alice@prod.x"));
        let cluster = kube.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(
            cluster.server.as_deref(),
            Some("https://[2001:db8::1]:6443")
        );
        let (entry, user) = ours.current().unwrap();
        assert_eq!(
            cluster.certificate_authority_data,
            entry.certificate_authority_data
        );
        let theirs = kube.auth_infos[0].auth_info.as_ref().unwrap();
        let key = theirs.client_key_data.as_ref().unwrap();
        let own = user.client_key_data.as_ref().unwrap();
        assert_eq!(key.expose_secret(), own.expose());
    }
}
