//! Who may have which certificate.

use std::fmt::Debug;

use magnum_core::{Cluster, RequestContext};

use crate::{Error, Profile};

/// Decides who may have a certificate of which profile. Asked after the engine's own policy let the caller see the cluster.
pub trait SigningPolicy: Debug + Send + Sync + 'static {
    /// Whether `cx` may have `profile` in `cluster`.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] with a reason that the caller may read.
    fn allows(
        &self,
        cx: &RequestContext,
        cluster: &Cluster,
        profile: &Profile,
    ) -> Result<(), Error>;
}

/// The default: operators may have everything; members of the owning project administrators', readers' and ordinary users' certificates;
/// readers of it a viewer's. Break-glass and the components' certificates are the operators'.
#[derive(Debug, Clone, Copy, Default)]
pub struct MagnumSigningPolicy {
    /// Only the user who made the cluster gets certificates, as in Magnum. Off by default: the project's roles decide.
    pub creator_only: bool,
}

impl SigningPolicy for MagnumSigningPolicy {
    fn allows(
        &self,
        cx: &RequestContext,
        cluster: &Cluster,
        profile: &Profile,
    ) -> Result<(), Error> {
        if cx.is_admin {
            return Ok(());
        }
        let refuse = |reason: String| Err(Error::NotAllowed { reason });
        if cx.project_id != cluster.project_id {
            return refuse("the cluster belongs to another project".to_owned());
        }
        if self.creator_only && cx.user_id != cluster.user_id {
            return refuse("only the user who made the cluster gets its certificates".to_owned());
        }
        let allowed = match profile {
            Profile::Viewer { .. } => cx.has_role("member") || cx.has_role("reader"),
            Profile::Admin { .. } | Profile::User { .. } => cx.has_role("member"),
            _ => false,
        };
        if allowed {
            Ok(())
        } else {
            refuse(format!(
                "profile {:?} for user {}",
                profile.name(),
                cx.user_id
            ))
        }
    }
}
