//! The files that do the work on the node. They are the same for every node of a library version.

/// The bootstrap script, one text made of its parts.
pub(crate) const BOOTSTRAP_SH: &str = concat!(
    include_str!("../../templates/bootstrap/10-base.sh"),
    include_str!("../../templates/bootstrap/20-signal.sh"),
    include_str!("../../templates/bootstrap/30-facts.sh"),
    include_str!("../../templates/bootstrap/40-preflight.sh"),
    include_str!("../../templates/bootstrap/50-kubeadm.sh"),
    include_str!("../../templates/bootstrap/60-main.sh"),
);
/// Renewal of a control plane's leaf certificates.
pub(crate) const RENEW_CERTS_SH: &str = include_str!("../../templates/renew-certs.sh");
/// The unit that runs the bootstrap script.
pub(crate) const BOOTSTRAP_SERVICE: &str =
    include_str!("../../templates/clusternode-bootstrap.service");
/// The unit that closes the metadata address.
pub(crate) const METADATA_SERVICE: &str =
    include_str!("../../templates/clusternode-metadata.service");
/// The unit that renews certificates.
pub(crate) const CERTS_SERVICE: &str = include_str!("../../templates/clusternode-certs.service");
/// The timer of [`CERTS_SERVICE`].
pub(crate) const CERTS_TIMER: &str = include_str!("../../templates/clusternode-certs.timer");

#[cfg(test)]
mod tests;
