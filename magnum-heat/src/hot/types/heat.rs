//! `OS::Heat`: wait conditions and their handles.

use super::properties;
use crate::hot::Value;

properties! {
    /// Takes signals. Its attribute `signal` tells how to send one.
    WaitConditionHandle = "OS::Heat::WaitConditionHandle" {
        optional {
            /// How signals are sent.
            signal_transport,
        }
    }
}

/// How signals to a handle are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignalTransport {
    /// With a login of the handle's own, to Heat's API: the attribute `signal` is a map that holds it.
    HeatSignal,
    /// With a token in the address.
    TokenSignal,
    /// To a signed address of Heat's CloudFormation API.
    CfnSignal,
    /// To a temporary address of Swift.
    TempurlSignal,
    /// To a Zaqar queue.
    ZaqarSignal,
}

impl From<SignalTransport> for Value {
    fn from(transport: SignalTransport) -> Self {
        Self::from(match transport {
            SignalTransport::HeatSignal => "HEAT_SIGNAL",
            SignalTransport::TokenSignal => "TOKEN_SIGNAL",
            SignalTransport::CfnSignal => "CFN_SIGNAL",
            SignalTransport::TempurlSignal => "TEMP_URL_SIGNAL",
            SignalTransport::ZaqarSignal => "ZAQAR_SIGNAL",
        })
    }
}

properties! {
    /// Waits for signals of a handle.
    WaitCondition = "OS::Heat::WaitCondition" {
        required {
            /// Handle, by reference.
            handle,
            /// Longest time, in seconds.
            timeout,
        }
        optional {
            /// Signals waited for; Heat's default is 1.
            count,
        }
    }
}
