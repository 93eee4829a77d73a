//! Errors of the services, as the driver contract has them.

use magnum_core::Retry;
use magnum_core::driver::DriverError;

use crate::kubernetes::KubernetesError;

/// An error of an OpenStack service: worth another try where the service may come back, else the end of the change.
#[must_use]
pub fn cloud_error(error: magnum_heat::Error) -> DriverError {
    let retry = match error.retry() {
        magnum_heat::Retry::Backoff => Retry::Later,
        magnum_heat::Retry::After(pause) => Retry::After(pause),
        // The session's source may have another login by the next call (rule `SM-06`); where it has not, the operation's time runs out.
        _ if error.is_unauthorized() => Retry::Later,
        _ => Retry::Never,
    };
    let reason = error.to_string();
    if retry == Retry::Never {
        return DriverError::Internal {
            what: reason,
            source: Some(Box::new(error)),
        };
    }
    DriverError::Unavailable {
        service: error
            .api()
            .map_or_else(|| "OpenStack".to_owned(), |api| api.service.to_string()),
        reason,
        retry,
        source: Some(Box::new(error)),
    }
}

/// Whether the session's login is the reason.
pub(crate) fn is_login_refused(error: &DriverError) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<magnum_heat::Error>())
        .is_some_and(magnum_heat::Error::is_unauthorized)
}

/// An error of a cluster's API.
#[must_use]
pub fn kubernetes_error(error: KubernetesError) -> DriverError {
    DriverError::Unavailable {
        service: "Kubernetes API".to_owned(),
        reason: error.to_string(),
        retry: match error.retry() {
            Retry::Never => Retry::Later,
            other => other,
        },
        source: Some(Box::new(error)),
    }
}

/// An error of the cluster's certificates.
#[must_use]
pub fn certificate_error(error: magnum_certs::Error) -> DriverError {
    error.into()
}
