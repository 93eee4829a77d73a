//! What the quick start can be told.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::NonEmptyStringValueParser;

/// Creates a Kubernetes cluster on OpenStack through Heat, resizes it, replaces a node, and deletes it again.
///
/// Without options it needs no cloud: an OpenStack and Kubernetes stand-in runs inside.
#[derive(Debug, Clone, Parser)]
#[command(name = "quickstart", version)]
pub(crate) struct Arguments {
    /// Stop before the deletion and serve until Ctrl-C, so that kubectl can be tried.
    #[arg(long)]
    pub(crate) keep: bool,

    /// Use this cloud of clouds.yaml instead of the embedded one.
    #[arg(long, value_name = "NAME")]
    pub(crate) cloud: Option<String>,

    /// Keep everything in this directory and go on from what is there. With --cloud the default is `quickstart-data`.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Where the kubeconfig is written.
    #[arg(long, value_name = "FILE", default_value = "kubeconfig")]
    pub(crate) kubeconfig: PathBuf,

    /// Node image, by name or id; it must carry the property `kube_version`.
    #[arg(long, default_value = "ubuntu-k8s-v1.36", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) image: String,

    /// Flavor of all nodes.
    #[arg(long, default_value = "m1.small", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) flavor: String,

    /// External network, for the router and the API's floating address.
    #[arg(long, default_value = "public", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) external_network: String,

    /// Reach the cluster's API through this HTTP CONNECT proxy (with --cloud; the embedded cloud has its own).
    #[arg(long, value_name = "URL", requires = "cloud")]
    pub(crate) proxy: Option<url::Url>,

    /// Serve the embedded cloud with its journal in this directory: how the quick start runs it as a process of its own.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) serve_embedded_cloud: Option<PathBuf>,
}
