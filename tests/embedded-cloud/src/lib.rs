//! An in-process OpenStack and Kubernetes for tests, examples and portal developers
