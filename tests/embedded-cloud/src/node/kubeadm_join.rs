//! `kubeadm join`: discovery and TLS bootstrap with the node's own credential, over real TLS.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};

use super::kubeadm;
use super::kubeadm_init::register;
use super::node_api::{CallError, NodeApi};
use super::node_env::{Role, minor};
use super::openstack::Server;
use super::preflight::{Failure, Plan};
use super::shared::Shared;
use crate::kubernetes::{CaMaterial, node_ready};

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new("E22", format!("kubeadm join failed: {why}"))
}

fn call_failed(error: CallError) -> Failure {
    match error {
        CallError::Unreachable(why) | CallError::Tls(why) => failed(why),
    }
}

/// Joins the node to the cluster at its endpoint.
pub(crate) async fn join(
    shared: &Arc<Shared>,
    server: &Server,
    plan: &Plan,
) -> Result<(), Failure> {
    let discovery = plan
        .discovery
        .as_ref()
        .ok_or_else(|| failed("no discovery file"))?;
    let id = &plan.env.cluster_id;
    let connect = |certificate: &str, key: &str| {
        NodeApi::remote(
            &shared.proxy_url,
            id,
            &discovery.server,
            &discovery.ca_pem,
            certificate,
            key,
        )
        .map_err(failed)
    };
    let first = connect(&discovery.certificate_pem, &discovery.key_pem)?;
    wait_for_endpoint(shared, server, plan, &first).await?;
    let (status, _) = get(
        &first,
        "/api/v1/namespaces/kube-public/configmaps/cluster-info",
    )
    .await?;
    if status != 200 && status != 403 {
        return Err(failed(format!("reading cluster-info: {status}")));
    }
    read_configuration(shared, server, plan, &first).await?;
    let path = format!("/api/v1/nodes/{}", plan.env.node_name);
    let (status, node) = get(&first, &path).await?;
    let foreign = node["metadata"]["annotations"]["simulator/server-id"] != server.id.as_str();
    match status {
        200 if foreign && node_ready(&node) == "True" => {
            return Err(failed(format!(
                "a Node with name {:?} and status \"Ready\" already exists in the cluster",
                plan.env.node_name
            )));
        }
        200 | 404 => {}
        other => {
            return Err(failed(format!(
                "reading the own node: {other} {}",
                node["message"]
            )));
        }
    }
    let cluster = shared
        .clusters
        .read()
        .await
        .get(id)
        .cloned()
        .ok_or_else(|| failed("the cluster is gone"))?;
    let learner = if plan.env.role == Role::ControlPlaneJoin {
        let theirs = shared
            .state()
            .clusters
            .get(id)
            .map(|c| c.api.material.clone());
        check_material(plan, &theirs.ok_or_else(|| failed("the cluster is gone"))?)?;
        let learner = cluster.learn(&plan.env.node_name).map_err(failed)?;
        tokio::time::sleep(shared.config.kubeadm_time).await;
        Some(learner)
    } else {
        None
    };
    let (certificate, key) = bootstrap_certificate(&first, &plan.env.node_name).await?;
    let kubelet = connect(&certificate, &key)?;
    register(shared, &cluster, &kubelet, server, plan)
        .await
        .map_err(failed)?;
    drop(learner);
    Ok(())
}

/// kubeadm of a control plane uses the shared files as they are; different ones break the cluster.
fn check_material(plan: &Plan, theirs: &CaMaterial) -> Result<(), Failure> {
    let mine = plan.material.as_ref().ok_or_else(|| failed("no CA"))?;
    if mine.ca_cert.trim() != theirs.ca_cert.trim() {
        return Err(failed("pki/ca.crt is not the CA of the cluster"));
    }
    if mine.sa_pub.trim() != theirs.sa_pub.trim() {
        return Err(failed(
            "pki/sa.pub is not the service account key of the cluster",
        ));
    }
    Ok(())
}

async fn get(api: &NodeApi, path: &str) -> Result<(u16, Value), Failure> {
    api.call(Method::GET, path, None).await.map_err(call_failed)
}

async fn wait_for_endpoint(
    shared: &Shared,
    server: &Server,
    plan: &Plan,
    api: &NodeApi,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut refusals = 0;
    loop {
        let why = match api.call(Method::GET, "/readyz", None).await {
            Ok((200, _)) => return Ok(()),
            Ok((status, _)) => format!("readyz answers {status}"),
            Err(CallError::Tls(why)) => {
                refusals += 1;
                // No waiting helps against a wrong certificate.
                if refusals >= 3 {
                    return Err(failed(format!(
                        "couldn't validate the identity of the API Server: {why}"
                    )));
                }
                why
            }
            Err(CallError::Unreachable(why)) => why,
        };
        if !shared.is_alive(&server.id) {
            return Err(Failure::new("E98", "the machine was shut down"));
        }
        let waited = start.elapsed();
        if waited >= shared.config.discovery_timeout {
            return Err(Failure::new(
                "E20",
                format!(
                    "the cluster's endpoint {} does not answer after {} seconds [fix: check load balancer and security groups]: {why}",
                    plan.env.endpoint(),
                    waited.as_secs()
                ),
            ));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Reads what kubeadm reads of the cluster's configuration, and applies its skew rules.
async fn read_configuration(
    shared: &Shared,
    server: &Server,
    plan: &Plan,
    api: &NodeApi,
) -> Result<(), Failure> {
    let map = async |name: &str, field: &str| {
        let (status, map) = get(
            api,
            &format!("/api/v1/namespaces/kube-system/configmaps/{name}"),
        )
        .await?;
        match map["data"][field].as_str() {
            Some(text) if status == 200 => Ok(text.to_owned()),
            _ => Err(failed(format!(
                "configmap {name}: {status} {}",
                map["message"]
            ))),
        }
    };
    let text = map("kubeadm-config", "ClusterConfiguration").await?;
    let documents = kubeadm::one(&text, "ClusterConfiguration")
        .map_err(|e| failed(format!("kubeadm-config: {e}")))?;
    let cluster = documents
        .cluster
        .ok_or_else(|| failed("kubeadm-config has no ClusterConfiguration"))?;
    if cluster.control_plane_endpoint != plan.env.endpoint() {
        return Err(failed(format!(
            "kubeadm-config names the endpoint {}, this node has {}",
            cluster.control_plane_endpoint,
            plan.env.endpoint()
        )));
    }
    let text = map("kubelet-config", "kubelet").await?;
    let kubelet = kubeadm::one(&text, "KubeletConfiguration")
        .map_err(|e| failed(format!("kubelet-config: {e}")))?;
    let serving = kubelet
        .kubelet
        .is_some_and(|k| k.server_tls_bootstrap == Some(true));
    shared.change_node(&server.id, |r| r.serving_csr = r.serving_csr || serving);
    let (Some(theirs), Some(mine)) = (
        minor(&cluster.kubernetes_version),
        minor(&plan.env.kube_version),
    ) else {
        return Err(failed(format!(
            "kubeadm-config: version {:?}",
            cluster.kubernetes_version
        )));
    };
    let step = i64::from(mine.1) - i64::from(theirs.1);
    let fits = match plan.env.role {
        Role::Worker => (-3..=0).contains(&step),
        _ => step == 0 || step == 1,
    };
    if theirs.0 != mine.0 || !fits {
        return Err(failed(format!(
            "kubeadm {} cannot join a cluster of {}",
            plan.env.kube_version, cluster.kubernetes_version
        )));
    }
    Ok(())
}

/// The TLS bootstrap: a new key, a request in the node's own name, the signed certificate.
async fn bootstrap_certificate(api: &NodeApi, node: &str) -> Result<(String, String), Failure> {
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, "system:nodes");
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, format!("system:node:{node}"));
    let key = rcgen::KeyPair::generate().map_err(failed)?;
    let pem = params
        .serialize_request(&key)
        .and_then(|r| r.pem())
        .map_err(failed)?;
    let csr = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {"request": STANDARD.encode(pem), "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"]}});
    let base = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let (status, created) = api
        .call(Method::POST, base, Some(&csr))
        .await
        .map_err(call_failed)?;
    if status != 201 {
        return Err(failed(format!(
            "certificate request: {status} {}",
            created["message"]
        )));
    }
    let path = format!(
        "{base}/{}",
        created["metadata"]["name"].as_str().unwrap_or_default()
    );
    for _ in 0..20 {
        let (_, csr) = get(api, &path).await?;
        if let Some(certificate) = csr["status"]["certificate"].as_str() {
            let pem = STANDARD.decode(certificate).map_err(failed)?;
            return Ok((String::from_utf8(pem).map_err(failed)?, key.serialize_pem()));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err(failed(
        "timed out waiting for the kubelet's client certificate: the request was not approved",
    ))
}
