//! A network that a project has before any cluster: what bare metal needs, and what shared networks are like.

use std::time::Duration;

use magnum_heat::Session;
use magnum_heat::hot::Document;
use magnum_heat::stack::{
    CreateStack, DeleteStack, DeleteWait, ShowStack, StackContent, StackRef, wait_deleted,
};

/// Its name.
const NAME: &str = "given";
/// A network with a way out.
const DOCUMENT: &str = r#"{
  "heat_template_version": "2021-04-16",
  "resources": {
    "network": {"type": "OS::Neutron::Net", "properties": {"name": "given"}},
    "subnet": {"type": "OS::Neutron::Subnet", "properties": {
      "name": "given", "network": {"get_resource": "network"}, "cidr": "10.20.0.0/24"}},
    "router": {"type": "OS::Neutron::Router", "properties": {
      "name": "given", "external_gateway_info": {"network": "public"}}},
    "interface": {"type": "OS::Neutron::RouterInterface", "properties": {
      "router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}}}
  }
}"#;
/// How long its making and its removal may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Whatever does not work out.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A network `given` with subnet, router and way to the external network `public`, made by way of a stack.
#[derive(Debug)]
pub struct GivenNetwork(StackRef);

impl GivenNetwork {
    /// Makes it in the session's project, looking every `poll` whether it is there.
    ///
    /// # Errors
    /// Those of Heat; that it is not complete after two minutes.
    pub async fn make(session: &Session, poll: Duration) -> Result<Self, Failure> {
        let content = StackContent::new(Document::parse(DOCUMENT)?);
        let created = session.send(CreateStack::new(NAME, content)).await?;
        let stack = created.stack;
        let began = tokio::time::Instant::now();
        loop {
            let shown = session.send(ShowStack::new(stack.clone())).await?;
            if shown.status.to_string() == "CREATE_COMPLETE" {
                return Ok(Self(stack));
            }
            if !shown.status.is_in_progress() || began.elapsed() > LIMIT {
                let (status, reason) = (&shown.status, &shown.status_reason);
                return Err(format!("the network {NAME} is {status}: {reason}").into());
            }
            tokio::time::sleep(poll).await;
        }
    }

    /// Its name, for templates.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        NAME
    }

    /// Removes it.
    ///
    /// # Errors
    /// Those of Heat; that it is still there after two minutes.
    pub async fn remove(self, session: &Session, poll: Duration) -> Result<(), Failure> {
        let stack = self.0.clone();
        session.send(DeleteStack { stack }).await?;
        let wait = DeleteWait::new(None, Duration::from_secs(30));
        wait_deleted(session, &self.0, wait, poll, LIMIT).await?;
        Ok(())
    }
}
