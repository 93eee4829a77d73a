//! Domain, typed state machine, durable engine and driver contract for Kubernetes clusters on OpenStack
