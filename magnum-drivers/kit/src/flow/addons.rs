//! Installing what a cluster needs beside Kubernetes itself, in phases.

use magnum_core::Problems;
use magnum_core::driver::{Cause, CauseKind, ClusterView, DriverError};
use magnum_heat::ServiceType;
use secrecy::SecretString;

use super::render::cni;
use super::round::Round;
use super::step::Step;
use crate::addons::{
    Addon, AddonError, AddonPhase, AddonValues, CloudAccess, CloudCredential, LoadBalancerOptions,
    apply_addon,
};
use crate::credential;
use crate::fault::cloud_error;
use crate::memo::{CloudFacts, ClusterMemo, InfraOutputs};

/// The values of add-ons that do not depend on what was made.
pub(crate) fn plain_values(view: &ClusterView, image_prefix: Option<String>) -> AddonValues {
    let cluster = &view.cluster;
    let labels = &cluster.labels.effective;
    let mut values = AddonValues::new(
        cluster.id,
        cluster.kube_version.clone(),
        cni(&cluster.spec.network_driver),
        cluster.network.pods,
    );
    values.metrics = labels
        .switch("metrics_server_enabled", &mut Problems::new())
        .unwrap_or(true);
    values.image_prefix = image_prefix;
    values
}

async fn addons(
    round: &Round<'_>,
    memo: &mut ClusterMemo,
    facts: &CloudFacts,
    outputs: &InfraOutputs,
) -> Result<Result<Vec<Addon>, AddonError>, DriverError> {
    let mut values = plain_values(round.view, facts.labels.image_prefix.clone());
    values.network_mtu = outputs.mtu.and_then(|mtu| u16::try_from(mtu).ok());
    if facts.labels.cloud_provider
        && let Some(record) = &mut memo.credential
    {
        let credential = credential::ensure(
            &round.session,
            round.cx.secrets().as_ref(),
            round.view.cluster.id,
            &round.config.credential,
            record,
        )
        .await?;
        if let Some(credential) = credential {
            let secret: SecretString = credential.secret.clone();
            values.cloud = Some(CloudAccess {
                auth_url: round.session.cloud().auth_url.to_string(),
                region: facts.region.clone().unwrap_or_default(),
                credential: CloudCredential::ApplicationCredential {
                    id: credential.id,
                    secret,
                },
                ca: round.config.cloud_ca.clone(),
                internal_network_name: None,
                public_network_name: None,
                load_balancer: facts
                    .load_balancer
                    .as_ref()
                    .map(|choice| LoadBalancerOptions {
                        provider: choice.provider.clone().unwrap_or_default(),
                        floating_network_id: facts.external_network.clone(),
                        subnet_id: outputs.subnet.clone(),
                    }),
            });
            let cinder = round
                .view
                .cluster
                .labels
                .effective
                .switch("cinder_csi_enabled", &mut Problems::new())
                .unwrap_or(true);
            values.cinder = cinder
                && round
                    .session
                    .has_service(ServiceType::BlockStorage)
                    .await
                    .map_err(cloud_error)?;
        }
    }
    Ok(round.config.access.addons().addons(&values))
}

fn cause(error: &AddonError) -> Cause {
    Cause {
        kind: CauseKind::Unknown,
        sentence: error.to_string(),
        subject: Some("add-ons".to_owned()),
    }
}

/// Applies what nodes need to become ready: the pod network and the cloud provider.
pub(super) async fn required_addons(
    round: &Round<'_>,
    memo: &mut ClusterMemo,
) -> Result<Step, DriverError> {
    if memo.addons.network && memo.addons.cloud {
        return Ok(Step::Done);
    }
    let (Some(facts), Some(outputs)) = (memo.facts.clone(), memo.outputs.clone()) else {
        return Err(DriverError::internal("add-ons before the infrastructure"));
    };
    let addons = match addons(round, memo, &facts, &outputs).await? {
        Ok(addons) => addons,
        Err(error) => return Ok(Step::failed(cause(&error))),
    };
    for phase in [AddonPhase::Network, AddonPhase::CloudProvider] {
        if let Some(step) = apply_phase(round, &outputs, &addons, phase).await? {
            return Ok(step);
        }
    }
    memo.addons.network = true;
    memo.addons.cloud = true;
    round.save_cluster(memo).await?;
    Ok(Step::Done)
}

/// Applies the rest. What does not work out is a warning: the cluster stands.
pub(super) async fn further_addons(
    round: &Round<'_>,
    memo: &mut ClusterMemo,
) -> Result<Step, DriverError> {
    if memo.addons.workloads {
        return Ok(Step::Done);
    }
    let (Some(facts), Some(outputs)) = (memo.facts.clone(), memo.outputs.clone()) else {
        return Ok(Step::Done);
    };
    if let Ok(addons) = addons(round, memo, &facts, &outputs).await? {
        for phase in [AddonPhase::Storage, AddonPhase::Extras] {
            if let Some(Step::Failed(causes)) = apply_phase(round, &outputs, &addons, phase).await?
            {
                for cause in causes {
                    round.cx.warn(&cause.sentence).await?;
                }
            }
        }
    }
    memo.addons.workloads = true;
    round.save_cluster(memo).await?;
    Ok(Step::Done)
}

/// Applies the add-ons of a phase; gives a step where it did not work out.
async fn apply_phase(
    round: &Round<'_>,
    outputs: &InfraOutputs,
    addons: &[Addon],
    phase: AddonPhase,
) -> Result<Option<Step>, DriverError> {
    let client = round.client(outputs).await?;
    for addon in addons.iter().filter(|addon| addon.phase == phase) {
        match apply_addon(client, addon).await {
            Ok(()) => {}
            Err(error) if error.retry() == magnum_core::Retry::Never => {
                return Ok(Some(Step::failed(cause(&error))));
            }
            Err(error) => {
                let text = error.to_string();
                tracing::debug!(addon = %addon.name, %text, "the add-on was not applied yet");
                return Ok(Some(Step::wait(
                    round.config.polls.nodes,
                    format!("applying {}: {text}", addon.name),
                )));
            }
        }
    }
    Ok(None)
}
