//! How long things take to be built.

use std::time::Duration;

/// Kinds of work that take time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Build {
    /// A virtual machine from `BUILD` to `ACTIVE`.
    Server,
    /// A virtual machine's deletion.
    ServerDelete,
    /// A bare metal instance from `BUILD` to `ACTIVE`.
    BareMetal,
    /// A load balancer from `PENDING_CREATE` to `ACTIVE`.
    LoadBalancer,
    /// A change of a load balancer's child (listener, pool, member, monitor): `PENDING_UPDATE`.
    LoadBalancerChange,
    /// A volume from `creating` to `available`, and attachments.
    Volume,
}

/// Build times; the real ones vary by up to a quarter around these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    /// Default 150 ms.
    pub server: Duration,
    /// Default 50 ms.
    pub server_delete: Duration,
    /// Default 400 ms.
    pub bare_metal: Duration,
    /// Default 300 ms.
    pub load_balancer: Duration,
    /// Default 30 ms.
    pub load_balancer_change: Duration,
    /// Default 80 ms.
    pub volume: Duration,
    /// How often Heat looks whether a resource is ready. Default 25 ms.
    pub heat_poll: Duration,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            server: Duration::from_millis(150),
            server_delete: Duration::from_millis(50),
            bare_metal: Duration::from_millis(400),
            load_balancer: Duration::from_millis(300),
            load_balancer_change: Duration::from_millis(30),
            volume: Duration::from_millis(80),
            heat_poll: Duration::from_millis(25),
        }
    }
}

impl Latency {
    /// Build times multiplied by `factor`; Heat's poll interval stays.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let factor = factor.max(0.0);
        Self {
            server: self.server.mul_f64(factor),
            server_delete: self.server_delete.mul_f64(factor),
            bare_metal: self.bare_metal.mul_f64(factor),
            load_balancer: self.load_balancer.mul_f64(factor),
            load_balancer_change: self.load_balancer_change.mul_f64(factor),
            volume: self.volume.mul_f64(factor),
            heat_poll: self.heat_poll,
        }
    }

    /// The time for one kind of work.
    #[must_use]
    pub const fn of(&self, build: Build) -> Duration {
        match build {
            Build::Server => self.server,
            Build::ServerDelete => self.server_delete,
            Build::BareMetal => self.bare_metal,
            Build::LoadBalancer => self.load_balancer,
            Build::LoadBalancerChange => self.load_balancer_change,
            Build::Volume => self.volume,
        }
    }
}
