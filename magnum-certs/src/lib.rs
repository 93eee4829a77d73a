//! Cluster certificate authorities, CSR signing, kubeconfig and sealed storage
#![doc = ""]
mod access;
mod authority;
mod bundle;
mod certificate;
mod csr;
mod der;
mod error;
mod generations;
mod key;
mod kubeconfig;
mod name;
mod pem;
mod pki;
mod profile;
mod sealed;
mod store;
mod tbs;

pub use authority::{AUTHORITY_BACKDATE, AUTHORITY_LIFE, Authority, Credential, LEAF_BACKDATE};
pub use bundle::{BundleProblem, DISCOVERY_PATH, NodeFile, PKI_DIR, check_bundle};
pub use certificate::Certificate;
pub use csr::{Csr, CsrProblem, MAX_CSR_BYTES};
pub use error::Error;
pub use generations::{Generation, Generations, RotationPhase};
pub use key::{KeyAlgorithm, PrivateKey, PublicKey, SignatureScheme, Signer};
pub use kubeconfig::{
    ApiEndpoint, ClusterEntry, ContextEntry, ExecConfig, ExecEnv, ExecPlugin, Kubeconfig,
    MAX_KUBECONFIG_BYTES, NamedCluster, NamedContext, NamedUser, OnConflict, SecretText, UserAuth,
    UserEntry,
};
pub use name::{AltNames, Subject, api_server_names, first_address};
pub use pki::{ClusterPki, PkiOptions};
pub use profile::{
    ADMIN_GROUP, AuthorityKind, BREAK_GLASS_GROUP, NODE_USER_PREFIX, NODES_GROUP, Profile,
    VIEWER_GROUP,
};
pub use sealed::{
    Envelope, KeyWrapper, SealingKey, WrapError, WrappedKey, load_or_create_sealing_key,
    write_private_file,
};
pub use store::PKI_PURPOSE_PREFIX;
