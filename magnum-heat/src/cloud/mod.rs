//! Which cloud, as whom: `clouds.yaml`, `secure.yaml`, `clouds-public.yaml` and `OS_*`.

mod config;
mod env;
mod error;
mod file;

pub use config::{CloudConfig, Interface};
pub use env::Env;
pub use error::ConfigError;
