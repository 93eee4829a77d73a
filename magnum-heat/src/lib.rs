//! OpenStack session and typed Heat client with a typed HOT builder
