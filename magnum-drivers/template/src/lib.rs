//! A small driver to copy.
//!
//! It builds "clusters" of plain machines on a [`MachineService`], of which [`Machines`] is a pretended one, and keeps the whole contract
//! of [`magnum_core::driver`]: `tests/conformance.rs` proves it. To write a driver of your own:
//!
//! 1. put the client of your service where [`MachineService`] is;
//! 2. say in [`Memo`] what must be remembered, above all the name of everything that is about to be made;
//! 3. write [`TemplateDriver`]'s `advance` as one bounded step: read the memo, decide, **checkpoint**, act, report;
//! 4. let a rig such as `TemplateRig` (feature `conformance`) lend the suite your driver, and claim a capability only when the suite
//!    passes with it.

mod driver;
mod machines;
mod memo;
#[cfg(feature = "conformance")]
mod rig;

pub use driver::TemplateDriver;
pub use machines::{Machine, MachineError, MachineService, Machines};
pub use memo::{Memo, Planned};
#[cfg(feature = "conformance")]
pub use rig::TemplateRig;
