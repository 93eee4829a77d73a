//! Cluster certificate authorities, CSR signing, kubeconfig and sealed storage
#![doc = ""]
mod authority;
mod bundle;
mod certificate;
mod csr;
mod der;
mod error;
mod key;
mod name;
mod pem;
mod profile;
mod tbs;

pub use authority::{AUTHORITY_BACKDATE, AUTHORITY_LIFE, Authority, Credential, LEAF_BACKDATE};
pub use bundle::BundleProblem;
pub use certificate::Certificate;
pub use csr::{Csr, CsrProblem, MAX_CSR_BYTES};
pub use error::Error;
pub use key::{KeyAlgorithm, PrivateKey, PublicKey, SignatureScheme, Signer};
pub use name::{AltNames, Subject, api_server_names, first_address};
pub use profile::{
    ADMIN_GROUP, AuthorityKind, BREAK_GLASS_GROUP, NODE_USER_PREFIX, NODES_GROUP, Profile, VIEWER_GROUP,
};
