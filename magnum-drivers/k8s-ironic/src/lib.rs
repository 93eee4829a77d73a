//! Kubernetes driver for bare metal (Ironic)
