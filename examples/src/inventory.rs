//! Everything that a project has in every service, by listing it: how a deletion is proved, without trusting any mark.

use std::collections::BTreeMap;
use std::time::Duration;

use magnum_heat::request::ServiceType;
use magnum_heat::services::{barbican, cinder, keystone, neutron, nova, octavia};
use magnum_heat::stack::{ListStacks, list_stacks};
use magnum_heat::{Named, Result, Session};
use serde::{Deserialize, Serialize};

/// How long lists may take to agree with what is.
const SETTLING: Duration = Duration::from_secs(20);

/// The objects of one project: by kind, then by id with their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inventory(BTreeMap<String, BTreeMap<String, String>>);

impl Inventory {
    /// Lists every service of the catalog in which a cluster may have something.
    ///
    /// # Errors
    /// Those of the services.
    pub async fn take(session: &Session) -> Result<Self> {
        let mut inventory = Self::default();
        inventory.compute(session).await?;
        inventory.network(session).await?;
        let stacks = list_stacks(session, ListStacks::new()).await?;
        inventory.note(
            "stack",
            stacks.into_iter().map(|stack| (stack.id, stack.name)),
        );
        let user = session.user_id().await?;
        let credentials = keystone::ListApplicationCredentials { user, name: None };
        let credentials = session.send(credentials).await?;
        inventory.note(
            "application credential",
            credentials.into_iter().map(|c| (c.id, c.name)),
        );
        let user = session.user_id().await?;
        let trusts = session.send(keystone::ListTrusts { trustor: user }).await?;
        inventory.note(
            "trust",
            trusts
                .into_iter()
                .map(|t| (t.id.expose().to_owned(), String::new())),
        );
        if session.has_service(ServiceType::LoadBalancer).await? {
            let filters = vec![("project_id".to_owned(), session.project_id().await?)];
            inventory.add(
                "load balancer",
                &session.send(octavia::ListLoadBalancers { filters }).await?,
            );
        }
        if session.has_service(ServiceType::BlockStorage).await? {
            let volumes = session
                .send(cinder::ListVolumes {
                    filters: Vec::new(),
                })
                .await?;
            inventory.add("volume", &volumes);
        }
        if session.has_service(ServiceType::KeyManager).await? {
            let secrets = session.send(barbican::ListSecrets { name: None }).await?;
            inventory.note(
                "secret",
                secrets
                    .into_iter()
                    .map(|s| (s.secret_ref.id().to_owned(), s.name.unwrap_or_default())),
            );
            let containers = barbican::list_containers(session, None).await?;
            inventory.note(
                "secret container",
                containers
                    .into_iter()
                    .map(|c| (c.container_ref.id().to_owned(), c.name.unwrap_or_default())),
            );
        }
        Ok(inventory)
    }

    /// What is left over beyond `before`, once it has settled: lists may show an object for a moment after it is gone. Looks again
    /// for up to 20 s while there is something; empty means that nothing is left.
    ///
    /// # Errors
    /// Those of the services.
    pub async fn left_over(session: &Session, before: &Self) -> Result<Vec<String>> {
        let began = tokio::time::Instant::now();
        loop {
            let left = Self::take(session).await?.beyond(before);
            if left.is_empty() || began.elapsed() > SETTLING {
                return Ok(left);
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn compute(&mut self, session: &Session) -> Result<()> {
        self.add(
            "server",
            &nova::list_servers(session, nova::ListServers::new()).await?,
        );
        let groups = session.send(nova::ListServerGroups {}).await?;
        self.note("server group", groups.into_iter().map(|g| (g.id, g.name)));
        Ok(())
    }

    async fn network(&mut self, session: &Session) -> Result<()> {
        async fn own<T: neutron::Item>(session: &Session) -> Result<Vec<T>> {
            let project = session.project_id().await?;
            neutron::list(session, neutron::ListItems::new().of_project(project)).await
        }
        self.add("network", &own::<neutron::Network>(session).await?);
        self.add("subnet", &own::<neutron::Subnet>(session).await?);
        self.add("port", &own::<neutron::Port>(session).await?);
        self.add("router", &own::<neutron::Router>(session).await?);
        self.add(
            "security group",
            &own::<neutron::SecurityGroup>(session).await?,
        );
        self.add(
            "floating address",
            &own::<neutron::FloatingIp>(session).await?,
        );
        Ok(())
    }

    fn add<T: Named>(&mut self, kind: &str, items: &[T]) {
        self.note(
            kind,
            items
                .iter()
                .map(|item| (item.id().to_owned(), item.name().to_owned())),
        );
    }

    fn note(&mut self, kind: &str, items: impl IntoIterator<Item = (String, String)>) {
        self.0.entry(kind.to_owned()).or_default().extend(items);
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Whether the project has nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many objects of one kind there are.
    #[must_use]
    pub fn count(&self, kind: &str) -> usize {
        self.0.get(kind).map_or(0, BTreeMap::len)
    }

    /// What is here and was not there before, each as `kind name (id)`. Every project gets the security group `default` by itself
    /// at the first use of its networks; it belongs to the project.
    #[must_use]
    pub fn beyond(&self, before: &Self) -> Vec<String> {
        self.0
            .iter()
            .flat_map(|(kind, items)| items.iter().map(move |(id, name)| (kind, id, name)))
            .filter(|(kind, id, _)| !before.0.get(*kind).is_some_and(|had| had.contains_key(*id)))
            .filter(|(kind, _, name)| !(*kind == "security group" && *name == "default"))
            .map(|(kind, id, name)| format!("{kind} {name} ({id})"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(kind: &str, items: &[(&str, &str)]) -> Inventory {
        let mut inventory = Inventory::default();
        inventory.note(
            kind,
            items
                .iter()
                .map(|(id, name)| ((*id).to_owned(), (*name).to_owned())),
        );
        inventory
    }

    #[test]
    fn op_06_only_what_is_new_is_left_over() {
        let before = inventory("port", &[("1", "a")]);
        let after = inventory("port", &[("1", "a"), ("2", "b")]);
        assert_eq!(after.beyond(&before), ["port b (2)"]);
        assert!(before.beyond(&after).is_empty());
        assert!(
            inventory("security group", &[("9", "default")])
                .beyond(&before)
                .is_empty()
        );
    }
}
