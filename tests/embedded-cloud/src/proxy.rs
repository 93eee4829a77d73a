//! The HTTP CONNECT proxy through which clusters of the simulated nodes are reached.
