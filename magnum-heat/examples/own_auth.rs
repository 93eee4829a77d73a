//! A login that this crate does not know: a token that another program keeps fresh in a file.
//!
//! `cargo run -p magnum-heat --example own_auth -- https://keystone:5000/v3 PROJECT_ID TOKEN_FILE`

use std::{error::Error, path::PathBuf, sync::Arc};

use magnum_heat::{
    Auth, CloudConfig, Scope, Session,
    auth::{AuthContext, AuthMethod, Identity},
    stack::{ListStacks, list_stacks},
};
use secrecy::SecretString;

#[derive(Debug)]
struct TokenFile(PathBuf);

#[async_trait::async_trait]
impl AuthMethod for TokenFile {
    async fn identity(&self, _cx: AuthContext<'_>) -> magnum_heat::Result<Identity> {
        let text = std::fs::read_to_string(&self.0).map_err(|e| magnum_heat::Error::Invalid {
            operation: "read the token file",
            message: e.to_string(),
        })?;
        Ok(Identity::token(&SecretString::from(text.trim())))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [auth_url, project, file] = arguments.as_slice() else {
        return Err("give the identity address, a project id and a token file".into());
    };
    let auth = Auth::Custom(Arc::new(TokenFile(file.into())));
    let session =
        Session::connect(CloudConfig::new(auth_url, auth, Scope::project(project))?).await?;
    for stack in list_stacks(&session, ListStacks::new()).await? {
        println!("{} {} {}", stack.id, stack.name, stack.status);
    }
    Ok(())
}
