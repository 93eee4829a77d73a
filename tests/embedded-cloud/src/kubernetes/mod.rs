//! A Kubernetes API stand-in over mutual TLS.
