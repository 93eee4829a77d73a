//! Typed properties of the resource types that drivers use.
//!
//! Each struct has a constructor of what Heat requires and a setter for everything else; all take a literal or a function.

mod cinder;
mod heat;
mod network;
mod nova;
mod octavia;
mod port;
mod security;

pub use cinder::Volume;
pub use heat::{SignalTransport, WaitCondition, WaitConditionHandle};
pub use network::{FloatingIp, FloatingIpAssociation, Net, Router, RouterInterface, Subnet};
pub use nova::{BlockDevice, Server, ServerGroup, ServerNetwork};
pub use octavia::{HealthMonitor, HttpCheck, Listener, LoadBalancer, Pool, PoolMember};
pub use port::Port;
pub use security::{SecurityGroup, SecurityGroupRule};

/// Declares typed properties: a constructor of the required ones, setters of the others.
macro_rules! properties {
    (
        $(#[$doc:meta])*
        $name:ident = $kind:literal {
            $( required { $( $(#[$rdoc:meta])* $rfield:ident ),* $(,)? } )?
            optional { $( $(#[$odoc:meta])* $ofield:ident $(= $okey:literal)? ),* $(,)? }
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $( $( $(#[$rdoc])* pub $rfield: $crate::hot::Value, )* )?
            $( $(#[$odoc])* pub $ofield: Option<$crate::hot::Value>, )*
        }

        impl $name {
            $crate::hot::types::properties!(@new $name [$( $($rfield),* )?] [$($ofield),*]);

            $(
                $(#[$odoc])*
                #[must_use]
                pub fn $ofield(mut self, value: impl Into<$crate::hot::Value>) -> Self {
                    self.$ofield = Some(value.into());
                    self
                }
            )*
        }

        impl $crate::hot::Properties for $name {
            const TYPE: &'static str = $kind;

            fn into_properties(self) -> serde_json::Map<String, serde_json::Value> {
                let mut map = serde_json::Map::new();
                $( $( map.insert(stringify!($rfield).to_owned(), self.$rfield.into_json()); )* )?
                $(
                    if let Some(value) = self.$ofield {
                        map.insert($crate::hot::types::properties!(@key $ofield $($okey)?).to_owned(), value.into_json());
                    }
                )*
                map
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@new $name:ident [] [$($ofield:ident),*]) => {
        /// Nothing set yet.
        #[expect(clippy::new_without_default, reason = "a resource without properties is made on purpose only")]
        pub fn new() -> Self {
            Self { $( $ofield: None, )* }
        }
    };
    (@new $name:ident [$($rfield:ident),+] [$($ofield:ident),*]) => {
        /// What Heat requires.
        pub fn new($( $rfield: impl Into<$crate::hot::Value> ),+) -> Self {
            Self { $( $rfield: $rfield.into(), )* $( $ofield: None, )* }
        }
    };
}
pub(crate) use properties;
