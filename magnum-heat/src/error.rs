//! The crate's one error type.

use std::{sync::Arc, time::Duration};

use http::StatusCode;

use crate::{
    cloud::ConfigError, fault::ApiError, http::HttpError, lookup::LookupError, request::ServiceType,
};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether trying again can help; decided where the error is born.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// The same call will fail again until somebody changes something.
    Never,
    /// The cause is passing; try again after a growing pause.
    Backoff,
    /// The service named the pause.
    After(Duration),
}

/// Everything that can go wrong.
///
/// `Display` is one sentence for people and holds no secret and no server traceback; causes are behind `source`.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Settings are missing or wrong; names file, cloud and key.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No complete answer was received.
    #[error("{operation}: {source}")]
    Http {
        /// What was being done.
        operation: &'static str,
        /// What happened to the request.
        source: HttpError,
    },
    /// The service answered with an error.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// Keystone refused the login.
    #[error("login at {auth_url} was refused: {source}")]
    Login {
        /// Identity address.
        auth_url: String,
        /// Keystone's answer.
        source: Box<ApiError>,
    },
    /// A service refused a token that was just issued.
    #[error("{operation}: the {service} service refuses a fresh token{}", request_id_text(.request_id.as_deref()))]
    Unauthorized {
        /// Service that refused.
        service: ServiceType,
        /// What was being done.
        operation: &'static str,
        /// Request id of the refusal.
        request_id: Option<String>,
    },
    /// The catalog has no such service.
    #[error("the cloud offers no {service} service (it has: {})", .available.join(", "))]
    NoService {
        /// What was looked for.
        service: ServiceType,
        /// Service types in the catalog.
        available: Vec<String>,
    },
    /// The service has no endpoint of the chosen interface in the chosen region.
    #[error("the {service} service has no {interface} endpoint{} (available: {})", region_text(.region.as_deref()), .available.join(", "))]
    NoEndpoint {
        /// The service.
        service: ServiceType,
        /// Interface asked for.
        interface: String,
        /// Region asked for.
        region: Option<String>,
        /// What exists: interface names, with region where that is what differs.
        available: Vec<String>,
    },
    /// Several regions offer the service and none was chosen.
    #[error("the {service} service exists in several regions ({}); choose one with region_name", .regions.join(", "))]
    AmbiguousRegion {
        /// The service.
        service: ServiceType,
        /// Regions, sorted.
        regions: Vec<String>,
    },
    /// A look-up by name or id did not find exactly one.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The answer was not what the API promises.
    #[error("{operation}: unexpected answer: {message}{}", request_id_text(.request_id.as_deref()))]
    Decode {
        /// What was being done.
        operation: &'static str,
        /// Where decoding stopped.
        message: String,
        /// Request id of the answer.
        request_id: Option<String>,
    },
    /// A redirect led elsewhere and was not followed.
    #[error("{operation}: redirect to {location} was not followed: {reason}")]
    Redirect {
        /// What was being done.
        operation: &'static str,
        /// Where it pointed, without query.
        location: String,
        /// Why it was refused.
        reason: &'static str,
    },
    /// The request is wrong and was not sent.
    #[error("{operation}: {message}")]
    Invalid {
        /// What was to be done.
        operation: &'static str,
        /// What is wrong.
        message: String,
    },
    /// The service does not speak the API version that the request needs.
    #[error("{operation}: needs {service} API version {needed}, the cloud offers {offered}")]
    Microversion {
        /// The service.
        service: ServiceType,
        /// What was to be done.
        operation: &'static str,
        /// Version needed: `2.61`.
        needed: String,
        /// Versions offered: `2.1 to 2.53`, or `none`.
        offered: String,
    },
    /// A listing repeated itself; stopped instead of looping.
    #[error("{operation}: the service repeats the page after marker {marker}")]
    PagingLoop {
        /// What was being listed.
        operation: &'static str,
        /// Marker that was answered with a page seen before.
        marker: String,
    },
    /// A stack of that name exists and is not ours.
    #[error("a stack named {name} exists and does not carry the mark of this request (stack {id})")]
    ForeignStack {
        /// Stack name.
        name: String,
        /// Id of the stack found.
        id: String,
    },
    /// A stack ended in another state than awaited.
    #[error("stack {name} is {status}: {reason}")]
    StackState {
        /// Stack name.
        name: String,
        /// Status as Heat spells it.
        status: String,
        /// Reason as Heat gives it.
        reason: String,
    },
    /// The awaited state, or the answer of a call with a deadline, did not come in time.
    #[error("{operation}: not done after {} s", .waited.as_secs())]
    Deadline {
        /// What was awaited.
        operation: &'static str,
        /// How long it was awaited.
        waited: Duration,
    },
}

fn request_id_text(id: Option<&str>) -> String {
    id.map(|id| format!(" (request {id})")).unwrap_or_default()
}

fn region_text(region: Option<&str>) -> String {
    region
        .map(|region| format!(" in region {region}"))
        .unwrap_or_default()
}

impl Error {
    /// Whether and when to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Http { source, .. } if source.is_transient() => Retry::Backoff,
            Self::Api(api) => api.retry(),
            Self::Login { source, .. } => source.retry(),
            _ => Retry::Never,
        }
    }

    /// The service's answer, where there was one.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(api) | Self::Login { source: api, .. } => Some(api),
            _ => None,
        }
    }

    /// HTTP status of the answer, where there was one.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Unauthorized { .. } => Some(StatusCode::UNAUTHORIZED),
            _ => self.api().map(|api| api.status),
        }
    }

    /// Whether the service says that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Lookup(lookup) => lookup.is_none(),
            _ => self
                .status()
                .is_some_and(|s| s == StatusCode::NOT_FOUND || s == StatusCode::GONE),
        }
    }

    /// Whether the service reports a conflict with the present state.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::ForeignStack { .. }) || self.status() == Some(StatusCode::CONFLICT)
    }

    /// Whether the login or the token was refused.
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(StatusCode::UNAUTHORIZED)
    }

    /// Request id of the answer, for the cloud's operator.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Unauthorized { request_id, .. } | Self::Decode { request_id, .. } => {
                request_id.as_deref()
            }
            _ => self.api().and_then(|api| api.request_id.as_deref()),
        }
    }

    /// Whether the request may have taken effect although no answer came.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Http { source, .. } => !source.never_sent(),
            Self::Api(api) => matches!(api.status.as_u16(), 502 | 504),
            Self::Decode { .. } | Self::Deadline { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn invalid(operation: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid {
            operation,
            message: message.into(),
        }
    }
}

impl From<ApiError> for Error {
    fn from(api: ApiError) -> Self {
        Self::Api(Box::new(api))
    }
}

/// An error that several waiters share.
pub(crate) type SharedError = Arc<Error>;
