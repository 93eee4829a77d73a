//! The authorities and service-account keys of a running cluster are replaced. The engine leads through three phases, node by node:
//! old and new trusted, certificates re-issued, only the new trusted.
//!
//! `cargo run -p magnum-examples --example rotate_ca`

use std::error::Error;

use magnum_certs::{AuthorityKind, Certificate, Profile, ReferenceKeys};
use magnum_core::EventKind;
use magnum_examples::ReferenceWorld;

/// The authorities that each node trusts, and how many nodes trust exactly these.
fn nodes_that_trust(world: &ReferenceWorld, authority: &str) -> Result<usize, magnum_certs::Error> {
    let mut count = 0;
    for thing in world.cloud.inventory().into_values() {
        if let Some(keys) = &thing.keys {
            count += usize::from(ReferenceKeys::read(keys)?.trust == authority);
        }
    }
    Ok(count)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let world = ReferenceWorld::with_cluster("prod").await?;
    let (caller, certificates) = (&world.caller, &world.certificates);
    let profile = Profile::Admin {
        user: "alice".to_owned(),
    };
    let old = certificates.issue(caller, "prod", &profile, None).await?;

    let rotation = certificates.rotate(caller, "prod").await?;
    let print = |event: &EventKind| {
        if let EventKind::OperationProgress { progress } = event {
            println!("{}/{}  {}", progress.done, progress.total, progress.step);
        }
    };
    world.finish(&rotation, print).await?;

    let kind = AuthorityKind::Kubernetes;
    let ca = certificates.ca(caller, "prod", kind).await?;
    let authority = Certificate::from_pem(&ca)?;
    assert!(
        !old.certificate().is_issued_by(&authority),
        "certificates from before have ended"
    );
    let new = certificates
        .renew(caller, "prod", old.certificate(), &profile, None)
        .await?
        .ok_or("a certificate of the old authority has to be renewed")?;
    assert!(new.certificate().is_issued_by(&authority));
    println!(
        "rotate_ca: {} nodes trust {:?} only",
        nodes_that_trust(&world, &ca)?,
        authority.common_name()
    );
    Ok(())
}
