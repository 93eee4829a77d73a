//! Load balancer provider and balancing method belong together (rule `NL-09`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a pool chooses a member, by Octavia's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BalancingMethod {
    /// In turn.
    RoundRobin,
    /// The one with the fewest connections.
    LeastConnections,
    /// By the client's address.
    SourceIp,
    /// By the client's address and port; the only one of the `ovn` provider.
    SourceIpPort,
}

impl BalancingMethod {
    /// Octavia's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RoundRobin => "ROUND_ROBIN",
            Self::LeastConnections => "LEAST_CONNECTIONS",
            Self::SourceIp => "SOURCE_IP",
            Self::SourceIpPort => "SOURCE_IP_PORT",
        }
    }
}

impl fmt::Display for BalancingMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for BalancingMethod {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [
            Self::RoundRobin,
            Self::LeastConnections,
            Self::SourceIp,
            Self::SourceIpPort,
        ]
        .into_iter()
        .find(|method| method.as_str().eq_ignore_ascii_case(text))
        .ok_or(())
    }
}

/// A provider that cannot balance by the wanted method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("provider {provider} balances by {allowed} only")]
pub struct MethodProblem {
    /// The provider.
    pub provider: String,
    /// What it can do.
    pub allowed: BalancingMethod,
}

/// The method for a provider: the wanted one where the provider can do it, else the provider's default.
///
/// # Errors
/// Where the provider cannot do what is wanted.
pub fn method_for(
    provider: &str,
    wanted: Option<BalancingMethod>,
) -> Result<BalancingMethod, MethodProblem> {
    match (provider, wanted) {
        ("ovn", None | Some(BalancingMethod::SourceIpPort)) => Ok(BalancingMethod::SourceIpPort),
        ("ovn", Some(_)) => Err(MethodProblem {
            provider: provider.to_owned(),
            allowed: BalancingMethod::SourceIpPort,
        }),
        (_, Some(method)) => Ok(method),
        (_, None) => Ok(BalancingMethod::RoundRobin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nl_09_provider_and_method_are_checked_together() {
        assert_eq!(method_for("ovn", None), Ok(BalancingMethod::SourceIpPort));
        assert!(method_for("ovn", Some(BalancingMethod::RoundRobin)).is_err());
        assert_eq!(method_for("amphora", None), Ok(BalancingMethod::RoundRobin));
    }
}
