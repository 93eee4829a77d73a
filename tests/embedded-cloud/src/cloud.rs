//! The embedded cloud as a whole: OpenStack, node simulator and proxy in one process.

/// How an embedded cloud is started.
#[derive(Debug, Clone, Default)]
pub struct Options {}

/// A running embedded cloud.
#[derive(Debug)]
pub struct EmbeddedCloud {}
