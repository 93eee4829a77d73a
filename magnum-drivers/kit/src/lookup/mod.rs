//! Finding everything that a change names in the cloud, and whether there is room for it. All problems come in one answer.

mod capacity;
mod check;
mod network;
mod quota;
mod resolve;

pub use capacity::{MachineWish, fitting_machines};
pub use check::{check_flavor, check_image};
pub use quota::{QuotaNeeds, needs_of};
pub use resolve::{Found, resolve};
