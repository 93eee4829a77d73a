//! A user's key stays with the user: a signing request goes in, a certificate comes out, and what the caller may not have is refused.
//!
//! `cargo run -p magnum-examples --example sign_csr`

use std::error::Error;
use std::time::Duration;

use magnum_certs::{AuthorityKind, Certificate, IssuedQuery};
use magnum_examples::ReferenceWorld;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

/// What `openssl req -new -subj /O=GROUP/CN=USER` makes, with a fresh key.
fn request(user: &str, group: &str) -> Result<(KeyPair, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, group);
    params.distinguished_name.push(DnType::CommonName, user);
    let pem = params.serialize_request(&key)?.pem()?;
    Ok((key, pem))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let world = ReferenceWorld::with_cluster("prod").await?;
    let (caller, certificates) = (&world.caller, &world.certificates);

    // The request's subject says what is asked for; the profile that fits it decides everything in the certificate.
    let (_key, csr) = request("bob", "team-a")?;
    let hour = Some(Duration::from_secs(3600));
    let signed = certificates
        .sign_csr(caller, "prod", &csr, None, hour)
        .await?;
    println!(
        "subject    CN={} O={:?}",
        signed.common_name(),
        signed.organizations()
    );
    println!("issuer     CN={}", signed.issuer_common_name());
    println!(
        "valid      {} to {}",
        signed.not_before(),
        signed.not_after()
    );

    // Whoever sees the cluster may have what verifies it.
    let ca = certificates
        .ca(caller, "prod", AuthorityKind::Kubernetes)
        .await?;
    let ca = Certificate::from_pem(&ca)?;
    assert!(
        signed.is_issued_by(&ca),
        "the cluster's authority signed it"
    );

    // A member of the project does not become the cluster's master by asking.
    let (_key, greedy) = request("bob", "system:masters")?;
    let refused = certificates
        .sign_csr(caller, "prod", &greedy, None, hour)
        .await
        .expect_err("only operators may have that");
    println!("refused    {refused}");

    let issued = certificates
        .issued(caller, "prod", &IssuedQuery::default())
        .await?;
    for record in &issued {
        println!(
            "inventory  {} {} asked for by {}",
            record.serial, record.common_name, record.requester
        );
    }
    println!("sign_csr: {} signed, system:masters refused", issued.len());
    Ok(())
}
