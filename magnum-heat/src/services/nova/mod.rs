//! Nova: servers, flavors, keypairs, limits, server groups.

mod flavor;
mod limits;
mod server;

pub use flavor::{
    Flavor, GetExtraSpecs, Keypair, ListFlavors, ListKeypairs, ShowFlavor, ShowKeypair,
    find_flavor, find_keypair,
};
pub use limits::{
    AvailabilityZone, DeleteServerGroup, GetLimits, GetQuota, Limits, ListAvailabilityZones,
    ListServerGroups, Quota, QuotaDetail, ServerGroup, SetQuota,
};
pub use server::{
    Address, ConsoleOutput, DeleteServer, Fault, FlavorOf, ListServers, Server, ShowServer,
    list_servers,
};
