//! The PKI files of a control-plane node, and the check that kubeadm will take them.

mod check;
mod problem;

pub use check::check_bundle;
pub use problem::BundleProblem;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{Authority, AuthorityKind, Certificate, ClusterPki, Error, PrivateKey};

/// kubeadm's default `certificatesDir`.
pub const PKI_DIR: &str = "/etc/kubernetes/pki";
/// Where a joining node finds its discovery kubeconfig.
pub const DISCOVERY_PATH: &str = "/etc/kubernetes/bootstrap/discovery.conf";

/// A file to be placed on a node. `Debug` does not show the content.
#[derive(Debug, Clone)]
pub struct NodeFile {
    /// Absolute path.
    pub path: String,
    /// Permission bits, such as `0o600`.
    pub mode: u32,
    /// `user:group`.
    pub owner: String,
    /// The text.
    pub content: SecretString,
}

impl NodeFile {
    /// A file of root with mode 0600, for what is secret.
    pub fn private(path: impl Into<String>, content: SecretString) -> Self {
        Self {
            path: path.into(),
            mode: 0o600,
            owner: "root:root".to_owned(),
            content,
        }
    }

    /// A file of root with mode 0644, for what is public.
    pub fn public(path: impl Into<String>, content: impl Into<String>) -> Self {
        let content = SecretString::from(content.into());
        Self {
            path: path.into(),
            mode: 0o644,
            owner: "root:root".to_owned(),
            content,
        }
    }
}

const fn stem(kind: AuthorityKind) -> &'static str {
    match kind {
        AuthorityKind::Kubernetes => "ca",
        AuthorityKind::Etcd => "etcd/ca",
        AuthorityKind::FrontProxy => "front-proxy-ca",
    }
}

impl ClusterPki {
    /// The files that every control-plane node gets before kubeadm runs: `ca`, `front-proxy-ca` and `etcd/ca` as `.crt` (0644)
    /// and `.key` (0600), `sa.key` (0600) and `sa.pub` (0644), all of root. During a rotation certificates and `sa.pub` hold both
    /// generations, the signing one first. Workers get none of them.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] when an authority's key lives elsewhere.
    pub fn control_plane_files(&self) -> Result<Vec<NodeFile>, Error> {
        let mut files = Vec::with_capacity(8);
        for kind in AuthorityKind::ALL {
            let key = self
                .authority(kind)
                .key_pem()
                .ok_or_else(|| Error::NotAllowed {
                    reason: format!(
                        "a PKI bundle needs the key of the {kind} authority, which lives elsewhere"
                    ),
                })?;
            let path = format!("{PKI_DIR}/{}", stem(kind));
            files.push(NodeFile::public(
                format!("{path}.crt"),
                self.trust_bundle(kind),
            ));
            files.push(NodeFile::private(format!("{path}.key"), key));
        }
        let keys = self.service_account();
        let public: String = keys
            .trusted()
            .map(|key| key.public_key().to_pem())
            .collect();
        files.push(NodeFile::private(
            format!("{PKI_DIR}/sa.key"),
            keys.signing().value.to_pem(),
        ));
        files.push(NodeFile::public(format!("{PKI_DIR}/sa.pub"), public));
        Ok(files)
    }

    /// Reads a control-plane node's files back, after [`check_bundle`]. Files outside of the PKI directory are left alone.
    /// Of a bundle with two generations the signing one is taken.
    ///
    /// # Errors
    /// [`Error::BadBundle`] with all problems.
    pub fn from_control_plane_files(
        label: &str,
        files: &[NodeFile],
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        check_bundle(files, now)?;
        let text = |name: &str| {
            let path = format!("{PKI_DIR}/{name}");
            files
                .iter()
                .find(|file| file.path == path)
                .map(|file| file.content.expose_secret())
                .unwrap_or_default()
        };
        let authority = |kind| {
            let first =
                Certificate::bundle_from_pem(text(&format!("{}.crt", stem(kind))))?.swap_remove(0);
            Authority::from_pem(kind, &first.to_pem(), text(&format!("{}.key", stem(kind))))
        };
        Self::from_parts(
            label,
            authority(AuthorityKind::Kubernetes)?,
            authority(AuthorityKind::Etcd)?,
            authority(AuthorityKind::FrontProxy)?,
            PrivateKey::from_pem(text("sa.key"))?,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyAlgorithm, PkiOptions};
    use chrono::{TimeDelta, TimeZone};

    fn now() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
    }

    fn files() -> Vec<NodeFile> {
        ClusterPki::generate("c1", PkiOptions::default(), now())
            .unwrap()
            .control_plane_files()
            .unwrap()
    }

    fn problems(files: &[NodeFile], at: DateTime<Utc>) -> Vec<BundleProblem> {
        match check_bundle(files, at) {
            Ok(()) => Vec::new(),
            Err(Error::BadBundle(problems)) => problems,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn ck_07_every_control_plane_node_gets_the_same_complete_bundle() {
        let pki = ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap();
        let (one, two) = (
            pki.control_plane_files().unwrap(),
            pki.control_plane_files().unwrap(),
        );
        assert_eq!(one.len(), 8);
        for (a, b) in one.iter().zip(&two) {
            assert_eq!(a.content.expose_secret(), b.content.expose_secret());
            let secret = a.path.ends_with(".key");
            assert_eq!(a.mode, if secret { 0o600 } else { 0o644 }, "{}", a.path);
        }
        assert!(problems(&one, now()).is_empty());
        let read = ClusterPki::from_control_plane_files("c1", &one, now()).unwrap();
        for kind in AuthorityKind::ALL {
            assert_eq!(
                read.authority(kind).certificate(),
                pki.authority(kind).certificate()
            );
        }
    }

    #[test]
    fn a_bundle_of_two_generations_is_accepted() {
        let pki = ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap();
        let both = pki.begin_rotation(PkiOptions::default(), now()).unwrap();
        assert!(problems(&both.control_plane_files().unwrap(), now()).is_empty());
        let reissue = both.switch_rotation();
        assert!(problems(&reissue.control_plane_files().unwrap(), now()).is_empty());
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let mut bad = files();
        bad[1].mode = 0o644; // ca.key
        bad[3].content = bad[5].content.clone(); // etcd/ca.key is that of the front proxy
        bad.retain(|file| !file.path.ends_with("sa.pub"));
        bad.push(NodeFile::private(
            format!("{PKI_DIR}/apiserver.key"),
            SecretString::from("x"),
        ));
        let found = problems(&bad, now());
        assert!(found.iter().any(|p| matches!(
            p,
            BundleProblem::BadMode {
                mode: 0o644,
                expected: 0o600,
                ..
            }
        )));
        assert!(
            found
                .iter()
                .any(|p| matches!(p, BundleProblem::Mismatch { .. }))
        );
        assert!(
            found
                .iter()
                .any(|p| matches!(p, BundleProblem::Missing { path } if path.ends_with("sa.pub")))
        );
        assert!(
            found
                .iter()
                .any(|p| matches!(p, BundleProblem::Unexpected { .. }))
        );
        assert_eq!(found.len(), 4, "{found:?}");
    }

    #[test]
    fn what_kubeadm_refuses_is_refused() {
        let later = now() + TimeDelta::days(4000);
        assert_eq!(problems(&files(), later).len(), 3);

        let mut garbage = files();
        garbage[0].content = SecretString::from("garbage");
        assert!(matches!(
            problems(&garbage, now())[..],
            [BundleProblem::Unreadable { .. }]
        ));

        let mut ed = files();
        let key = PrivateKey::generate(KeyAlgorithm::Ed25519).unwrap();
        ed[6].content = key.to_pem();
        ed[7].content = SecretString::from(key.public_key().to_pem());
        assert!(matches!(
            problems(&ed, now())[..],
            [BundleProblem::UnsupportedKey { .. }]
        ));

        let mut twins = files();
        twins[4].content = twins[0].content.clone();
        twins[5].content = twins[1].content.clone();
        assert!(matches!(
            problems(&twins, now())[..],
            [BundleProblem::Shared { .. }]
        ));
    }

    #[test]
    fn ms_04_debug_of_a_file_shows_no_content() {
        for file in files() {
            assert!(!format!("{file:?}").contains("BEGIN"));
        }
    }
}
