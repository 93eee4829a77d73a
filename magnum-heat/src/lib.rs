//! OpenStack session, typed Heat client and typed HOT builder; needs no other OpenStack crate.
//!
//! # Log in
//!
//! ```no_run
//! use magnum_heat::{CloudConfig, Env, Session};
//!
//! # async fn run() -> Result<(), magnum_heat::Error> {
//! // clouds.yaml, secure.yaml, OS_*: as openstacksdk reads them.
//! let cloud = CloudConfig::load(Some("mycloud"), &Env::from_process())?;
//! let session = Session::connect(cloud).await?;
//! println!("project {}", session.project_id().await?);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Session`] is cheap to clone, renews its token by itself and repeats what is safe to repeat. Requests are values
//! that implement [`Request`]; [`Session::send`] sends any of them, also those of your own.
//!
//! # Create a stack, once
//!
//! ```no_run
//! use magnum_heat::{
//!     Session,
//!     hot::{Document, get_resource, types::{Port, Server, ServerNetwork}},
//!     stack::{CreateStack, StackContent, create_stack_or_adopt},
//! };
//!
//! # async fn run(session: Session) -> Result<(), Box<dyn std::error::Error>> {
//! let mut doc = Document::new();
//! doc.add_resource("port", Port::new("private"))?;
//! let server = Server::new("m1.small").image("ubuntu").networks([ServerNetwork::Port(get_resource("port"))]);
//! doc.add_resource("server", server.immutable())?;
//! let request = CreateStack::new("demo", StackContent::new(doc));
//! // Made now, or found again by name and mark when an earlier answer was lost.
//! let made = create_stack_or_adopt(&session, request, "owner-1").await?;
//! println!("{}", made.stack());
//! # Ok(())
//! # }
//! ```
//!
//! # Wait, and say why it failed
//!
//! ```no_run
//! use std::time::Duration;
//! use magnum_heat::{Session, diagnose::root_cause, follow::{Until, wait_for}, stack::StackRef};
//!
//! # async fn run(session: Session, stack: StackRef) -> Result<(), magnum_heat::Error> {
//! let limit = Duration::from_secs(3600);
//! if wait_for(&session, &stack, Until::complete(), Duration::from_secs(5), limit).await.is_err() {
//!     if let Some(cause) = root_cause(&session, &stack).await? {
//!         // quota exceeded: instances 10 of 10 in use, 1 more requested (resource server)
//!         println!("{cause}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Change it, and prove what changes
//!
//! ```
//! use magnum_heat::hot::{Document, prove_only, types::Port};
//!
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut old = Document::new();
//! old.add_resource("port_a", Port::new("private"))?;
//! let mut new = old.clone();
//! new.add_resource("port_b", Port::new("private"))?;
//! // Only port_b appears; every other byte is the same.
//! let diff = prove_only(&old, &new, ["port_b"], [])?;
//! assert_eq!(diff.added, ["port_b"]);
//! # Ok(())
//! # }
//! # run().unwrap();
//! ```
//!
//! # Follow its events
//!
//! ```no_run
//! use futures::StreamExt;
//! use magnum_heat::{Session, follow::Follow, stack::StackRef};
//!
//! # async fn run(session: Session, stack: StackRef) -> Result<(), magnum_heat::Error> {
//! let mut events = std::pin::pin!(Follow::new(stack).stream(session));
//! while let Some(event) = events.next().await {
//!     let event = event?;
//!     println!("{} {} {}", event.resource, event.status, event.reason);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Read a long list
//!
//! ```no_run
//! use futures::TryStreamExt;
//! use magnum_heat::{Session, event::ListEvents, paging, stack::StackRef};
//!
//! # async fn run(session: Session, stack: StackRef) -> Result<(), magnum_heat::Error> {
//! // One page is held at a time; a service that repeats a page ends it in an error.
//! let mut events = std::pin::pin!(paging::stream(&session, ListEvents::new(stack).nested_depth(5)));
//! while let Some(event) = events.try_next().await? {
//!     println!("{} {}", event.resource, event.status);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! State and cause of a stack cost a fixed number of requests; with them and this stream a tree of 1000 members,
//! 22 000 resources and 47 008 events is looked at in less than 16 MiB (`SP-04`, measured by a test).
//!
//! # Read and change a template
//!
//! ```
//! use magnum_heat::hot::{Document, Resource};
//!
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! // YAML as PyYAML reads it, or JSON; what is sent is JSON in the same order.
//! let mut document = Document::parse("heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}")?;
//! document.add_resource("text", Resource::raw("OS::Heat::RandomString").property("length", 12))?;
//! document.remove_resource("a")?;
//! assert!(document.to_text().contains("RandomString"));
//! # Ok(())
//! # }
//! # run().unwrap();
//! ```
//!
//! # Look something up
//!
//! ```no_run
//! use magnum_heat::{Session, glance, neutron, nova};
//!
//! # async fn run(session: Session) -> Result<(), magnum_heat::Error> {
//! let image = glance::find_image(&session, "ubuntu-k8s").await?; // none and several are different errors
//! let flavor = nova::find_flavor(&session, "m1.large").await?;
//! let network = neutron::find::<neutron::Network>(&session, "public").await?;
//! # let _ = (image, flavor, network);
//! # Ok(())
//! # }
//! ```
//!
//! # Send a request of your own
//!
//! ```
//! use magnum_heat::{Request, Result, ServiceType, request::{Answer, Path}};
//!
//! /// Names of Designate's zones.
//! struct ListZones;
//!
//! impl Request for ListZones {
//!     type Output = Vec<String>;
//!     const SERVICE: ServiceType = ServiceType::Other("dns");
//!     const METHOD: http::Method = http::Method::GET;
//!     const IDEMPOTENT: bool = true;
//!     const OPERATION: &'static str = "list zones";
//!     fn path(&self) -> Path {
//!         Path::new(["v2", "zones"])
//!     }
//!     fn decode(&self, answer: Answer) -> Result<Self::Output> {
//!         let zones = answer.value()?;
//!         let zones = zones["zones"].as_array().cloned().unwrap_or_default();
//!         Ok(zones.iter().filter_map(|z| Some(z["name"].as_str()?.to_owned())).collect())
//!     }
//! }
//! ```
//!
//! Token, endpoint, repeats and errors are those of every call. A service with microversions gets the one that
//! [`Request::MICROVERSION`] names, or the newest that both sides know up to [`Request::NEWEST_MICROVERSION`].
//!
//! # Keep calls within limits
//!
//! ```no_run
//! use std::{sync::Arc, time::Duration};
//! use magnum_heat::{CloudConfig, RetryPolicy, Session, http::{RateLimit, ReqwestService}, stack::ListStacks};
//!
//! # async fn run(cloud: CloudConfig) -> Result<(), Box<dyn std::error::Error>> {
//! let http = ReqwestService::new(cloud.http_config())?;
//! let session = Session::builder(cloud)
//!     .http(Arc::new(RateLimit::new(http, 20.0, 40)))    // calls a second to each host, and at once after a rest
//!     .parallel_calls(8)                                 // of each service at a time
//!     .retry(RetryPolicy::default().with_attempts(3))    // of what may be repeated
//!     .deadline(Duration::from_secs(60))                 // of each call, all that included
//!     .connect()
//!     .await?;
//! // One call in a hurry.
//! session.with_deadline(Duration::from_secs(5)).send(ListStacks::new()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Watch the calls
//!
//! Each call is a `tracing` span `openstack` with `service`, `operation`, `status` and `request_id`. With feature
//! `metrics` the facade of that name gets, with labels `service` and `operation`: counter `openstack_calls_total`
//! (`outcome`: `2xx` to `5xx`, `no_answer`, `not_sent`), histogram `openstack_call_seconds` (repeats included), counter
//! `openstack_repeats_total` (`reason`); and counter `openstack_logins_total` (`outcome`: `ok`, `failed`).
//!
//! # Seams
//!
//! [`http::HttpService`] is the only way out (a scripted one is in [`testing`]), [`Clock`] the only clock for token
//! lifetimes, [`auth::AuthMethod`] the door for other logins. Nothing reads the environment but [`Env::from_process`]
//! and, when asked to, the HTTP client's proxy settings. `Debug` and error texts never show a secret.

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
