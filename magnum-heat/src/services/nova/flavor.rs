//! Flavors and keypairs.

use indexmap::IndexMap;
use serde::Deserialize;

use crate::{
    LookupError, Named, Result, Session, pick,
    request::{request, segments},
};

/// A flavor.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Flavor {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Virtual CPUs.
    pub vcpus: u64,
    /// Memory, in MiB.
    pub ram: u64,
    /// Disk, in GiB.
    pub disk: u64,
    /// Further disk, in GiB.
    #[serde(default, rename = "OS-FLV-EXT-DATA:ephemeral")]
    pub ephemeral: u64,
    /// Whether everybody may use it.
    #[serde(default, rename = "os-flavor-access:is_public")]
    pub is_public: bool,
    /// Extra specs; those of bare metal name the resource class. Filled from microversion 2.61 on.
    #[serde(default)]
    pub extra_specs: IndexMap<String, String>,
}

impl Flavor {
    /// Resource class of bare metal: `baremetal` for `resources:CUSTOM_BAREMETAL=1`.
    pub fn resource_class(&self) -> Option<String> {
        self.extra_specs.iter().find_map(|(key, amount)| {
            let class = key.strip_prefix("resources:CUSTOM_")?;
            (amount != "0").then(|| class.to_ascii_lowercase())
        })
    }
}

impl Named for Flavor {
    const KIND: &'static str = "flavor";
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> &str {
        &self.name
    }
}

request! {
    /// Lists flavors with details and extra specs.
    ListFlavors {} => Vec<Flavor>;
    Compute GET "list flavors" @ "2.61";
    path: |_r| segments!["flavors", "detail"];
    query: |_r| vec![("limit".into(), "1000".to_owned())];
    decode: |answer| answer.json_at("flavors")
}

request! {
    /// Reads a flavor with its extra specs.
    ShowFlavor {
        /// Id.
        id: String,
    } => Flavor;
    Compute GET "show flavor" @ "2.61";
    path: |r| segments!["flavors", r.id];
    decode: |answer| answer.json_at("flavor")
}

request! {
    /// Reads a flavor's extra specs.
    GetExtraSpecs {
        /// Id.
        id: String,
    } => IndexMap<String, String>;
    Compute GET "get flavor extra specs";
    path: |r| segments!["flavors", r.id, "os-extra_specs"];
    decode: |answer| answer.json_at("extra_specs")
}

/// Finds a flavor by name or id, with its extra specs.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find_flavor(session: &Session, name_or_id: &str) -> Result<Flavor> {
    Ok(pick(name_or_id, session.send(ListFlavors {}).await?)?)
}

/// A keypair.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Keypair {
    /// Name, unique for its user.
    pub name: String,
    /// Public key.
    #[serde(default)]
    pub public_key: String,
    /// Fingerprint.
    #[serde(default)]
    pub fingerprint: String,
}

#[derive(Deserialize)]
struct Wrapped {
    keypair: Keypair,
}

request! {
    /// Lists the keypairs of the user.
    ListKeypairs {} => Vec<Keypair>;
    Compute GET "list keypairs";
    path: |_r| segments!["os-keypairs"];
    decode: |answer| Ok(answer.json_at::<Vec<Wrapped>>("keypairs")?.into_iter().map(|w| w.keypair).collect())
}

request! {
    /// Reads a keypair.
    ShowKeypair {
        /// Name.
        name: String,
    } => Keypair;
    Compute GET "show keypair";
    path: |r| segments!["os-keypairs", r.name];
    decode: |answer| answer.json_at("keypair")
}

/// Finds a keypair by name.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find_keypair(session: &Session, name: &str) -> Result<Keypair> {
    match session
        .send(ShowKeypair {
            name: name.to_owned(),
        })
        .await
    {
        Err(error) if error.is_not_found() => Err(LookupError::None {
            kind: "keypair",
            value: name.to_owned(),
        }
        .into()),
        other => other,
    }
}
