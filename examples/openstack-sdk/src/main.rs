//! A program that holds a session of the crate `openstack_sdk` uses it as the login of magnum-heat.
//!
//! `cd examples/openstack-sdk && cargo run -- CLOUD`, where `CLOUD` is in `clouds.yaml`.
//!
//! The token is exchanged for one of our own, so both sessions go on side by side: ours renews by itself, and asks the
//! other for its token when it does.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use chrono::TimeDelta;
use magnum_heat::{
    Auth, CloudConfig, Env, Session,
    auth::{AuthContext, AuthMethod, Identity},
    stack::{ListStacks, list_stacks},
};
use openstack_sdk::{AsyncOpenStack, auth::AuthState, config::ConfigFile};

/// The other session.
struct Sdk(AsyncOpenStack);

impl std::fmt::Debug for Sdk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sdk(..)")
    }
}

fn failed(message: impl Into<String>) -> magnum_heat::Error {
    magnum_heat::Error::Invalid {
        operation: "ask openstack_sdk for its token",
        message: message.into(),
    }
}

#[async_trait]
impl AuthMethod for Sdk {
    async fn identity(&self, _cx: AuthContext<'_>) -> magnum_heat::Result<Identity> {
        // An exchanged token ends with the one it was exchanged for, so that one has to be young enough.
        let state = self.0.get_auth_state(Some(TimeDelta::minutes(10)));
        if !matches!(state, Some(AuthState::Valid)) {
            let renewed = self.0.authorize(None, false, true).await;
            renewed.map_err(|e| failed(e.to_string()))?;
        }
        let token = self.0.get_auth_token().ok_or_else(|| failed("it has none"))?;
        Ok(Identity::token(&token))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("name a cloud of clouds.yaml")?;
    let profile = ConfigFile::new()?
        .get_cloud_config(&name)?
        .ok_or("there is no such cloud")?;
    let sdk = AsyncOpenStack::new(&profile).await?;

    // Region, interface, TLS and proxies are read from the same file; only the login is the other session's.
    let cloud = CloudConfig::load(Some(&name), &Env::from_process())?;
    let scope = cloud.scope.clone();
    let cloud = cloud.with_auth(Auth::Custom(Arc::new(Sdk(sdk))), scope);
    let session = Session::connect(cloud).await?;
    for stack in list_stacks(&session, ListStacks::new()).await? {
        println!("{} {} {}", stack.id, stack.name, stack.status);
    }
    Ok(())
}
