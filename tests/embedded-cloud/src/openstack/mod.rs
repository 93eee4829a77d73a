//! OpenStack services over HTTP.
