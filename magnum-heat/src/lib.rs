//! OpenStack session, typed Heat client and typed HOT builder.

pub mod auth;
mod clock;
mod cloud;
pub mod diagnose;
pub mod discovery;
mod error;
mod fault;
pub mod heat;
pub mod hot;
pub mod http;
mod lookup;
pub mod paging;
pub mod request;
pub mod services;
mod session;
pub mod testing;
mod wire;
mod yaml;

pub use auth::{Auth, Scope};
pub use clock::{Clock, SystemClock};
pub use cloud::{CloudConfig, ConfigError, Env, Interface};
pub use error::{Error, Result, Retry};
pub use fault::{ApiError, FaultKind};
pub use heat::{Phase, StackAction, StackStatus, event, follow, resource, stack};
pub use lookup::{Candidate, LookupError, Named, pick};
pub use request::{Request, ServiceType};
pub use services::{barbican, cinder, glance, ironic, keystone, neutron, nova, octavia, placement};
pub use session::{
    Catalog, CatalogService, Endpoint, NamedRef, RetryPolicy, Session, SessionBuilder, TokenInfo,
};
