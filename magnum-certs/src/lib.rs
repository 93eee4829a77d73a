//! Cluster certificate authorities, CSR signing, kubeconfig and sealed storage.
//!
//! All that a cluster's trust needs, without any HTTP: authorities and what they sign under [`Profile`]s, the files that a
//! kubeadm control plane starts from, kubeconfigs, storage through core's `SecretStore`, rotation, expiry, revocation.
//!
//! Time comes in as a parameter and keys from the crypto library, so nothing here reads a clock. Functions are synchronous
//! where they compute and async where they reach a store; only RSA is slow enough to matter ([`KeyAlgorithm::is_slow`]).
//!
//! ```
//! use chrono::{TimeZone, Utc};
//! use magnum_certs::{ClusterPki, PkiOptions, Profile};
//! use secrecy::ExposeSecret;
//!
//! # fn main() -> Result<(), magnum_certs::Error> {
//! let now = Utc.with_ymd_and_hms(2026, 12, 1, 8, 0, 0).unwrap();
//! let pki = ClusterPki::generate("3f2c8a52", PkiOptions::default(), now)?;
//!
//! // What a control-plane node gets before kubeadm runs.
//! assert_eq!(pki.control_plane_files()?.len(), 8);
//!
//! // An administrator's kubeconfig, valid for a day.
//! let admin = Profile::Admin { user: "alice".to_owned() };
//! let kubeconfig = pki.kubeconfig("prod", &pki.endpoint("192.0.2.10:6443"), &admin, None, now)?;
//! assert!(kubeconfig.to_yaml()?.expose_secret().contains("current-context: alice@prod"));
//! # Ok(())
//! # }
//! ```
//!
//! Embedders of an engine use [`Certificates`]; drivers use [`ClusterPki`] with the secret store of their context.
//!
//! # Rotation
//!
//! The engine leads a driver through three [`RotationPhase`]s: old and new trusted, certificates re-issued, only the new trusted. A
//! [`RotationPlan`] says to which generation each part goes; [`ClusterPki::enter_phase`] brings the stored keys to a phase, however
//! often it is entered; [`ClusterPki::renewal`] says which leaves are to be replaced. [`ReferenceKeys`] show all of it on core's reference driver.
//!
//! # Rules kept everywhere
//!
//! - A certificate is made from its profile; a signing request adds its key and, of the profile's names, those that it wants.
//!   A request for more is refused, not trimmed.
//! - A leaf never outlives its authority, its issuer is the authority's subject byte for byte, and strict verifiers
//!   (`openssl verify -x509_strict`, Python with `VERIFY_X509_STRICT`, Go, rustls) accept it.
//! - `Debug`, `Display` and errors never show a secret; text that holds one is a `SecretString`.

mod access;
mod authority;
mod authority_kind;
mod bundle;
mod certificate;
mod crl;
mod csr;
mod der;
mod door;
mod error;
mod expiry;
mod generations;
mod inventory;
mod key;
mod kubeconfig;
mod name;
mod pem;
mod pki;
mod profile;
mod reference_keys;
mod renewal;
mod rotation;
mod sealed;
mod store;
mod tbs;

pub use authority::{AUTHORITY_BACKDATE, AUTHORITY_LIFE, Authority, Credential, LEAF_BACKDATE};
pub use authority_kind::AuthorityKind;
pub use bundle::{BundleProblem, DISCOVERY_PATH, NodeFile, PKI_DIR, check_bundle};
pub use certificate::Certificate;
pub use crl::{Revocation, RevocationReason};
pub use csr::{Csr, CsrProblem, MAX_CSR_BYTES};
pub use door::{Certificates, ExpiryWarning, MagnumSigningPolicy, SigningPolicy};
pub use error::Error;
pub use expiry::{Expiry, WARNING_DAYS};
pub use generations::{Generation, Generations};
pub use inventory::{Inventory, IssuedQuery, IssuedRecord};
pub use key::{KeyAlgorithm, PrivateKey, PublicKey, SignatureScheme, Signer};
pub use kubeconfig::{
    ApiEndpoint, ClusterEntry, ContextEntry, ExecConfig, ExecEnv, ExecPlugin, Kubeconfig,
    MAX_KUBECONFIG_BYTES, NamedCluster, NamedContext, NamedUser, OnConflict, SecretText, UserAuth,
    UserEntry,
};
pub use name::{AltNames, Subject, api_server_names, first_address};
pub use pki::{ClusterPki, PkiOptions};
pub use profile::{
    ADMIN_GROUP, BREAK_GLASS_GROUP, NODE_USER_PREFIX, NODES_GROUP, Profile, VIEWER_GROUP,
};
pub use reference_keys::{NodeIdentity, ReferenceKeys};
pub use renewal::RenewalReason;
pub use rotation::{RotationPart, RotationPlan};
pub use sealed::{
    Envelope, KeyWrapper, SealingKey, WrapError, WrappedKey, load_or_create_sealing_key,
    write_private_file,
};
pub use store::PKI_PURPOSE_PREFIX;

pub use magnum_core::driver::RotationPhase;
