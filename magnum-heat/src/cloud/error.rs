//! Wrong or missing settings.

/// Settings are missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No configuration file and no `OS_AUTH_URL`.
    #[error("no clouds.yaml found (looked at {}) and OS_AUTH_URL is not set", .looked_at.join(", "))]
    NoSource {
        /// Paths that were tried.
        looked_at: Vec<String>,
    },
    /// The named cloud is in none of the files.
    #[error("no cloud {cloud:?} in {file} (it has: {})", .available.join(", "))]
    NoCloud {
        /// Cloud asked for.
        cloud: String,
        /// File that was read.
        file: String,
        /// Clouds in it.
        available: Vec<String>,
    },
    /// Several clouds and none chosen.
    #[error("{file} names several clouds ({}); choose one with OS_CLOUD", .available.join(", "))]
    ChooseCloud {
        /// File that was read.
        file: String,
        /// Clouds in it.
        available: Vec<String>,
    },
    /// A file cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A file is not what it should be.
    #[error("{file}: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// Where and why; shows no values.
        reason: String,
    },
    /// A setting is missing.
    #[error("{place}: {key} is missing")]
    Missing {
        /// File and cloud, or the environment.
        place: String,
        /// The setting.
        key: String,
    },
    /// A setting has an unusable value.
    #[error("{place}: {key}: {reason}")]
    BadValue {
        /// File and cloud, or the environment.
        place: String,
        /// The setting.
        key: String,
        /// What is wrong; shows no secret.
        reason: String,
    },
}
