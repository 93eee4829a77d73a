//! Rendering of a cluster's stacks, done as the drivers' flow does it: authorities, user-data, credentials, documents, shards.

mod group;

use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use magnum_certs::{ClusterPki, PkiOptions};
use magnum_core::{ClusterId, ClusterName, Labels, NodeGroupName, NodeGroupRole};
use magnum_driver_kit::bootstrap::Endpoint;
use magnum_driver_kit::labels::{BalancingMethod, DriverLabels};
use magnum_driver_kit::members::Names;
use magnum_driver_kit::memo::{CloudFacts, LoadBalancerChoice, NodeNetwork, StackRecord};
use magnum_driver_kit::stacks::{API_PORT, InfrastructureInput, Mark, render_infrastructure};
use magnum_heat::hot::Files;

use crate::Error;

/// A cluster of virtual machines behind a load balancer, in a network of its own.
#[derive(Debug)]
pub struct Sample {
    id: ClusterId,
    names: Names,
    mark: Mark,
    cloud: CloudFacts,
    endpoint: Endpoint,
    now: DateTime<Utc>,
}

/// Stacks as a driver's memo keeps them, and the templates as they go to Heat.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The stacks.
    pub stacks: Vec<StackRecord>,
    /// Their templates' texts.
    pub templates: Vec<Template>,
}

/// The text of a template. It may hold keys: `Debug` shows its size only.
#[derive(Clone, PartialEq, Eq)]
pub struct Template(String);

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Template({} bytes)", self.0.len())
    }
}

impl Rendered {
    fn finish(stacks: Vec<StackRecord>) -> Self {
        let text = |stack: &StackRecord| Template(stack.template.to_text());
        let templates = stacks.iter().map(text).collect();
        Self { stacks, templates }
    }

    /// Bytes of all templates and of the files beside them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let templates: usize = self.templates.iter().map(|text| text.0.len()).sum();
        let files: usize = self.stacks.iter().map(|stack| stack.files.bytes()).sum();
        templates + files
    }

    /// How many servers the stacks have.
    #[must_use]
    pub fn servers(&self) -> usize {
        let names = self
            .stacks
            .iter()
            .flat_map(|stack| stack.template.resources().keys());
        names.filter(|name| name.starts_with("server_")).count()
    }
}

impl Sample {
    /// The cluster that all benchmarks render, always the same.
    ///
    /// # Errors
    /// None; the checks of the types it is made of are passed on.
    pub fn new() -> Result<Self, Error> {
        let id: ClusterId = "1a2b3c4d-0000-4000-8000-000000000001".parse()?;
        Ok(Self {
            id,
            names: Names::new(&ClusterName::new("prod")?, id),
            mark: Mark::of(id),
            cloud: CloudFacts {
                external_network: Some("3d6d6ac5-4a9f-4f1c-9f39-1f2fd5f7c0de".to_owned()),
                network: NodeNetwork::Made,
                load_balancer: Some(LoadBalancerChoice {
                    provider: Some("amphora".to_owned()),
                    method: BalancingMethod::RoundRobin,
                }),
                floating_ip: true,
                labels: labels()?,
                region: Some("RegionOne".to_owned()),
            },
            endpoint: Endpoint::new("10.0.0.5", API_PORT),
            now: DateTime::UNIX_EPOCH + TimeDelta::days(20_000),
        })
    }

    /// The cluster's authorities and service-account key, freshly made with P-256.
    ///
    /// # Errors
    /// Where the system has no randomness.
    pub fn authorities(&self) -> Result<ClusterPki, Error> {
        let options = PkiOptions::default();
        Ok(ClusterPki::generate(
            &self.id.to_string(),
            options,
            self.now,
        )?)
    }

    /// Renders everything of a cluster from nothing: authorities, infrastructure, control plane, workers.
    ///
    /// # Errors
    /// None for the sizes that are measured; the renderers' checks are passed on.
    pub fn cluster(&self, control_plane: usize, workers: usize) -> Result<Rendered, Error> {
        let pki = self.authorities()?;
        let mut stacks = vec![self.infrastructure()?];
        for (name, role, count) in [
            ("default-master", NodeGroupRole::ControlPlane, control_plane),
            ("default-worker", NodeGroupRole::Worker, workers),
        ] {
            let name = NodeGroupName::new(name)?;
            stacks.extend(group::render(self, &pki, &name, role, count)?);
        }
        Ok(Rendered::finish(stacks))
    }

    /// Renders a group of workers of a cluster that has its authorities: a fresh credential for each, spread over stacks.
    ///
    /// # Errors
    /// None; the renderers' checks are passed on.
    pub fn workers(&self, pki: &ClusterPki, count: usize) -> Result<Rendered, Error> {
        let name = NodeGroupName::new("gpu")?;
        let stacks = group::render(self, pki, &name, NodeGroupRole::Worker, count)?;
        Ok(Rendered::finish(stacks))
    }

    /// Makes the credentials alone that so many members join with; gives their bytes.
    ///
    /// # Errors
    /// Where the system has no randomness.
    pub fn credentials(&self, pki: &ClusterPki, count: usize) -> Result<usize, Error> {
        let mut bytes = 0;
        for number in 0..count {
            let name = self
                .names
                .server(&NodeGroupName::new("gpu")?, &group::member(number));
            bytes += group::credential(self, pki, &name)?.path.len();
        }
        Ok(bytes)
    }

    fn infrastructure(&self) -> Result<StackRecord, Error> {
        let name_servers: [IpAddr; 1] = ["192.0.2.53".parse()?];
        let document = render_infrastructure(&InfrastructureInput {
            names: &self.names,
            mark: &self.mark,
            facts: &self.cloud,
            nodes: "10.0.0.0/20".parse()?,
            network_driver: "flannel",
            dns_nameservers: &name_servers,
            virtual_control_plane: true,
        })?;
        let name = self.names.infrastructure_stack();
        Ok(StackRecord::new(name, document, Files::new()))
    }
}

fn labels() -> Result<DriverLabels, Error> {
    let text = "api_server_cert_sans=api.example.org,node_ssh_cidrs=192.0.2.0/24";
    Ok(DriverLabels::read(&text.parse::<Labels>()?)?)
}

#[cfg(test)]
mod tests {
    use magnum_heat::hot::Limits;

    use super::*;

    #[test]
    fn everything_of_a_small_cluster_is_rendered() {
        let rendered = Sample::new().unwrap().cluster(3, 5).unwrap();
        assert_eq!((rendered.stacks.len(), rendered.servers()), (3, 8));
        let control_plane = &rendered.stacks[1];
        assert_eq!(control_plane.files.len(), 2, "one text begins, one joins");
    }

    #[test]
    fn a_large_group_is_spread_over_stacks_that_heat_takes() {
        let sample = Sample::new().unwrap();
        let pki = sample.authorities().unwrap();
        let rendered = sample.workers(&pki, 150).unwrap();
        assert_eq!(rendered.servers(), 150);
        assert!(rendered.stacks.len() > 1);
        for stack in &rendered.stacks {
            stack.template.check(&Limits::default()).unwrap();
        }
    }
}
