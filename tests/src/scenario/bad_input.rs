//! Wrong input is refused before anything is made, with all that is wrong in one answer.

use magnum_core::{ClusterName, Error, Labels, NewCluster};

use crate::{Bench, Failure};

/// Unknown image, flavor, network and key pair; an even control plane without a load balancer; overlapping ranges; labels of the wrong type.
///
/// # Errors
/// Whatever does not hold.
pub async fn everything_wrong_is_said_at_once(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let mut spec = bench.cloud.spec();
    spec.image = "no-such-image".to_owned();
    spec.flavor = "no-such-flavor".to_owned();
    spec.keypair = Some("no-such-keypair".to_owned());
    spec.fixed_network = Some("no-such-network".to_owned());
    let template = bench.template(spec).await?;
    let new = NewCluster::new(ClusterName::new("wrong")?, template.id.to_string());
    let refusal = engine
        .preflight_create(caller, &new)
        .await
        .expect_err("nothing of it exists");
    let text = refusal.to_string();
    for name in [
        "no-such-image",
        "no-such-flavor",
        "no-such-keypair",
        "no-such-network",
    ] {
        assert!(text.contains(name), "{name} is named: {text}");
    }

    let template = bench.template(bench.cloud.spec()).await?;
    let mut new = NewCluster::new(ClusterName::new("wrong")?, template.id.to_string());
    new.master_count = 2;
    new.master_lb_enabled = Some(false);
    new.labels = Some(
        Labels::new()
            .with("pods_network_cidr", "10.100.0.0/16")
            .with("service_cluster_ip_range", "10.100.128.0/17")
            .with("boot_volume_size", "20GB"),
    );
    let Err(Error::Invalid(problems)) = engine.create_cluster(caller, new).await else {
        return Err("it must be refused as invalid".into());
    };
    let fields: Vec<_> = problems
        .iter()
        .map(|problem| problem.field.as_str())
        .collect();
    for field in ["master_count", "labels.boot_volume_size"] {
        assert!(fields.contains(&field), "{field} is named: {fields:?}");
    }
    assert!(
        problems.to_string().contains("10.100.128.0/17"),
        "{problems}"
    );
    assert!(engine.clusters(caller).await?.is_empty());
    bench.end().await
}
