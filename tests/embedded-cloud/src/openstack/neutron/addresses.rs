//! Address arithmetic of subnets: ranges, pools, and the next free address.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// One range of addresses from which ports are served, both ends included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// First address.
    pub start: IpAddr,
    /// Last address.
    pub end: IpAddr,
}

impl Pool {
    /// Whether the pool holds this address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.start.is_ipv4() == address.is_ipv4()
            && (number(self.start)..=number(self.end)).contains(&number(address))
    }
}

pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

fn address(number: u128, v4: bool) -> IpAddr {
    if v4 {
        IpAddr::V4(Ipv4Addr::from(
            u32::try_from(number & u128::from(u32::MAX)).unwrap_or(0),
        ))
    } else {
        IpAddr::V6(Ipv6Addr::from(number))
    }
}

/// The first address after the network address: Neutron's default gateway.
#[must_use]
pub fn default_gateway(cidr: IpNet) -> IpAddr {
    address(number(cidr.network()) + 1, cidr.addr().is_ipv4())
}

/// The pools Neutron makes when none are given: every host address but the gateway.
#[must_use]
pub fn default_pools(cidr: IpNet, gateway: Option<IpAddr>) -> Vec<Pool> {
    let v4 = cidr.addr().is_ipv4();
    let first = number(cidr.network()) + 1;
    let last = number(cidr.broadcast()) - u128::from(v4);
    if last < first {
        return Vec::new();
    }
    let pool = |from: u128, to: u128| {
        (from <= to).then(|| Pool {
            start: address(from, v4),
            end: address(to, v4),
        })
    };
    match gateway.map(number) {
        Some(gateway) if (first..=last).contains(&gateway) => {
            let before = gateway.checked_sub(1).and_then(|end| pool(first, end));
            before.into_iter().chain(pool(gateway + 1, last)).collect()
        }
        _ => pool(first, last).into_iter().collect(),
    }
}

/// The lowest address of the pools that is not taken.
#[must_use]
pub fn next_free(pools: &[Pool], taken: &HashSet<IpAddr>) -> Option<IpAddr> {
    pools.iter().find_map(|pool| {
        let v4 = pool.start.is_ipv4();
        (number(pool.start)..=number(pool.end))
            .map(|value| address(value, v4))
            .find(|ip| !taken.contains(ip))
    })
}

/// Whether two ranges share an address.
#[must_use]
pub fn overlap(left: IpNet, right: IpNet) -> bool {
    left.contains(&right.network()) || right.contains(&left.network())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_pool_excludes_the_gateway() {
        let cidr: IpNet = "10.77.0.0/28".parse().unwrap();
        let gateway = default_gateway(cidr);
        assert_eq!(gateway.to_string(), "10.77.0.1");
        let pools = default_pools(cidr, Some(gateway));
        assert_eq!(pools.len(), 1);
        assert_eq!(pools[0].start.to_string(), "10.77.0.2");
        assert_eq!(pools[0].end.to_string(), "10.77.0.14");
        let split = default_pools(cidr, Some("10.77.0.5".parse().unwrap()));
        assert_eq!(split.len(), 2);
        assert_eq!(default_pools(cidr, None)[0].start.to_string(), "10.77.0.1");
    }

    #[test]
    fn next_free_skips_what_is_taken_and_ends() {
        let pools = vec![Pool {
            start: "10.0.0.2".parse().unwrap(),
            end: "10.0.0.3".parse().unwrap(),
        }];
        let mut taken = HashSet::new();
        let first = next_free(&pools, &taken).unwrap();
        assert_eq!(first.to_string(), "10.0.0.2");
        taken.insert(first);
        let second = next_free(&pools, &taken).unwrap();
        assert_eq!(second.to_string(), "10.0.0.3");
        taken.insert(second);
        assert!(next_free(&pools, &taken).is_none());
    }

    #[test]
    fn ranges_overlap_both_ways() {
        let wide: IpNet = "10.0.0.0/8".parse().unwrap();
        let narrow: IpNet = "10.1.0.0/24".parse().unwrap();
        assert!(overlap(wide, narrow) && overlap(narrow, wide));
        assert!(!overlap(narrow, "10.2.0.0/24".parse().unwrap()));
    }
}
