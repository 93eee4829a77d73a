//! The load balancer before the control plane.

use ipnet::IpNet;
use magnum_heat::hot::types::{HealthMonitor, HttpCheck, Listener, LoadBalancer, Pool};
use magnum_heat::hot::{Document, DocumentError, Resource, Value, get_resource};

use super::{API_PORT, Mark};
use crate::memo::LoadBalancerChoice;

/// All that decides the load balancer.
pub(super) struct BalancerInput<'a> {
    pub(super) choice: &'a LoadBalancerChoice,
    pub(super) mark: &'a Mark,
    pub(super) name: &'a str,
    pub(super) vip_subnet: Value,
    /// Who may reach it; empty means everybody.
    pub(super) allowed: &'a [IpNet],
    /// The nodes' own range, which always may.
    pub(super) nodes: IpNet,
    /// Resources that must be there before.
    pub(super) after: &'a [&'static str],
}

/// Adds load balancer, listener, pool and monitor; the pool's resource is named `api_pool`.
///
/// The provider decides what it can do (rules `NL-07`, `NL-09`): `ovn` knows neither allowed ranges nor HTTP checks.
pub(super) fn add(document: &mut Document, input: BalancerInput<'_>) -> Result<(), DocumentError> {
    let BalancerInput {
        choice,
        mark,
        name,
        vip_subnet,
        allowed,
        nodes,
        after,
    } = input;
    let ovn = choice.provider.as_deref() == Some("ovn");
    let mut balancer = LoadBalancer::new(vip_subnet)
        .name(name)
        .description(mark.description("Kubernetes API"));
    if let Some(provider) = &choice.provider {
        balancer = balancer.provider(provider);
    }
    let mut balancer = Resource::new(balancer);
    if !after.is_empty() {
        balancer = balancer.depends_on(after.iter().copied());
    }
    document.add_resource("api_load_balancer", balancer)?;
    let mut listener = Listener::new("TCP", API_PORT)
        .loadbalancer(get_resource("api_load_balancer"))
        .name(format!("{name}-listener"));
    if !allowed.is_empty() && !ovn {
        let mut ranges = vec![nodes];
        ranges.extend(allowed.iter().filter(|range| **range != nodes));
        listener = listener.allowed_cidrs(Value::list(ranges.iter().map(ToString::to_string)));
    }
    document.add_resource("api_listener", listener)?;
    document.add_resource(
        "api_pool",
        Pool::new(choice.method.as_str(), "TCP")
            .listener(get_resource("api_listener"))
            .name(format!("{name}-pool")),
    )?;
    let monitor = if ovn {
        HealthMonitor::tcp(get_resource("api_pool"))
    } else {
        HealthMonitor::https(
            get_resource("api_pool"),
            HttpCheck::get("/readyz").expecting("200"),
        )
    };
    document.add_resource("api_monitor", monitor.timing(10, 5, 5))?;
    Ok(())
}
