//! Every group of calls against a real OpenStack, in a project of its own that is removed afterwards.
//!
//! Needs `MAGNUM_TEST_CLOUD_ADMIN` (a cloud of clouds.yaml whose user is an administrator); see `tests/cloud`.

#![allow(clippy::unwrap_used)]

#[path = "../operations/mod.rs"]
mod operations;

// The module's name tells these tests apart: they run only where a cloud is.
#[path = "."]
mod live {
    mod members;
    mod operations;
    mod project;
    mod quota;
    mod recorder;
    mod services;
    mod token;
}
