//! A kubeconfig for a user who may only look, merged into the file that the user has already.
//!
//! `cargo run -p magnum-examples --example kubeconfig_for_a_user [FILE]`; without a file the result is thrown away.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use magnum_certs::{ExecPlugin, Kubeconfig, OnConflict, Profile, UserAuth, write_private_file};
use magnum_examples::ReferenceWorld;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let world = ReferenceWorld::with_cluster("prod").await?;
    let (caller, certificates) = (&world.caller, &world.certificates);

    // A fresh client certificate of the group magnum:viewers, for eight hours.
    let viewer = Profile::Viewer {
        user: "bob".to_owned(),
    };
    let life = Some(Duration::from_secs(8 * 3600));
    let config = certificates
        .kubeconfig(caller, "prod", &viewer, life)
        .await?;

    // The same cluster for whoever logs in with Keystone: no key in the file.
    let keystone = UserAuth::Exec(ExecPlugin::keystone());
    let login = certificates
        .kubeconfig_with(caller, "prod", "keystone", &keystone)
        .await?;

    let folder = tempfile::tempdir()?;
    let path = std::env::args()
        .nth(1)
        .map_or_else(|| folder.path().join("config"), PathBuf::from);
    let mut file = match std::fs::read_to_string(&path) {
        Ok(text) => Kubeconfig::from_yaml(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => config.clone(),
        Err(error) => return Err(error.into()),
    };
    // Entries of other clusters stay; a different entry of the same name is replaced here, and an error with `Refuse`.
    file.merge(&login, OnConflict::Replace)?;
    file.merge(&config, OnConflict::Replace)?;
    file.validate()?;
    write_private_file(&path, &file.to_yaml()?)?;

    let read = Kubeconfig::from_yaml(&std::fs::read_to_string(&path)?)?;
    let (cluster, user) = config.current().ok_or("a context is current")?;
    let credential = user.credential()?.ok_or("a certificate is in it")?;
    println!("server     {}", cluster.server);
    println!("user       {:?}", credential.certificate().organizations());
    println!("valid to   {}", credential.certificate().not_after());
    println!(
        "kubeconfig_for_a_user: contexts {}",
        read.contexts
            .iter()
            .map(|context| context.name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    );
    Ok(())
}
