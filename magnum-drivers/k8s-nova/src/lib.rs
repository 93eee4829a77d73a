//! Kubernetes driver for virtual machines (Nova)
