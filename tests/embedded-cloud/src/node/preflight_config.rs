//! The part of the preflight that looks at kubeadm's configuration, the PKI and the credential.

use std::net::IpAddr;

use serde_json::Value;

use super::kubeadm::Documents;
use super::kubeconfig::Kubeconfig;
use super::node_env::{NodeEnv, Role};
use super::pki;
use super::preflight::{DISCOVERY, KUBEADM, Machine, Report};
use super::user_data::UserData;
use crate::kubernetes::CaMaterial;

/// kubeadm.yaml, with the placeholders filled in as the bootstrap script does.
pub(super) fn check_kubeadm(
    report: &mut Report,
    data: &UserData,
    machine: &Machine<'_>,
    env: &NodeEnv,
    own: Option<IpAddr>,
) -> Option<Documents> {
    let own = own.map_or_else(|| "192.0.2.1".to_owned(), |a| a.to_string());
    let text = data.text(KUBEADM).ok()?;
    let text = text
        .replace("@NODE_IP@", &own)
        .replace("@INSTANCE_ID@", machine.server_id);
    let documents = match Documents::parse(&text) {
        Ok(documents) => documents,
        Err(why) => {
            report.note("E21", "kubeadm refuses its configuration", Err(why));
            return None;
        }
    };
    let init = env.role == Role::ControlPlaneInit;
    let kinds: Vec<&str> = documents.raw.iter().map(|(k, _)| k.as_str()).collect();
    let wanted: &[&str] = if init {
        &["InitConfiguration", "ClusterConfiguration"]
    } else {
        &["JoinConfiguration"]
    };
    let fits =
        wanted.iter().all(|k| kinds.contains(k)) && (init || !kinds.contains(&"InitConfiguration"));
    report.note(
        "E21",
        "kubeadm documents",
        if fits {
            Ok(kinds.join(", "))
        } else {
            Err(format!("{} has {}", KUBEADM, kinds.join(", ")))
        },
    );
    let registration = documents.registration()?;
    let mut same = |what: &str, found: Option<&str>, expected: &str| {
        let result = match found {
            Some(f) if f == expected => Ok(f.to_owned()),
            other => Err(format!(
                "{:?}, expected {expected:?}",
                other.unwrap_or_default()
            )),
        };
        report.note("E21", what, result);
    };
    same(
        "nodeRegistration.name",
        registration.name.as_deref(),
        &env.node_name,
    );
    same(
        "criSocket",
        registration.cri_socket.as_deref(),
        "unix:///run/containerd/containerd.sock",
    );
    if registration.kubelet_arg("cloud-provider").is_some() {
        same(
            "cloud-provider",
            registration.kubelet_arg("cloud-provider"),
            "external",
        );
        if let Some(id) = registration.kubelet_arg("provider-id") {
            let tail = id.rsplit('/').next();
            same("provider-id names this server", tail, machine.server_id);
            same("provider-id scheme", id.get(..12), "openstack://");
        }
    }
    if let Some(ip) = registration.kubelet_arg("node-ip") {
        same("node-ip", ip.split(',').next(), &own);
    }
    if let Some(join) = &documents.join {
        let is = if join.control_plane.is_some() {
            "control plane"
        } else {
            "worker"
        };
        same(
            "join as",
            Some(is),
            if env.role.is_control_plane() {
                "control plane"
            } else {
                "worker"
            },
        );
        same(
            "discovery file",
            Some(&join.discovery.file.kube_config_path),
            DISCOVERY,
        );
        if let Some(cp) = &join.control_plane {
            same(
                "advertiseAddress",
                cp.local_api_endpoint.advertise_address.as_deref(),
                &own,
            );
        }
    }
    if let Some(init) = &documents.init {
        same(
            "advertiseAddress",
            init.local_api_endpoint.advertise_address.as_deref(),
            &own,
        );
    }
    if let Some(cluster) = &documents.cluster {
        same(
            "controlPlaneEndpoint",
            Some(&cluster.control_plane_endpoint),
            &env.endpoint(),
        );
        same(
            "kubernetesVersion",
            Some(&cluster.kubernetes_version),
            &env.kube_version,
        );
        same(
            "certificatesDir",
            Some(
                cluster
                    .certificates_dir
                    .as_deref()
                    .unwrap_or("/etc/kubernetes/pki"),
            ),
            "/etc/kubernetes/pki",
        );
        let sans = &cluster.api_server.cert_sans;
        let covered = sans.contains(&env.endpoint_host);
        report.note(
            "E21",
            "certSANs hold the endpoint",
            if covered {
                Ok(sans.join(", "))
            } else {
                Err(format!("{} is not in {sans:?}", env.endpoint_host))
            },
        );
        for (what, range) in [
            ("podSubnet", &cluster.networking.pod_subnet),
            ("serviceSubnet", &cluster.networking.service_subnet),
        ] {
            let ranges = range
                .as_deref()
                .unwrap_or_default()
                .split(',')
                .map(str::parse::<ipnet::IpNet>);
            let bad = ranges.into_iter().any(|r| r.is_err());
            report.note(
                "E21",
                what,
                if bad {
                    Err(format!("{range:?} is not a range"))
                } else {
                    Ok(String::new())
                },
            );
        }
    }
    let unknown_gate = documents
        .raw("ClusterConfiguration")
        .is_some_and(|c| c["featureGates"] != Value::Null);
    report.note(
        "E21",
        "no kubeadm featureGates",
        if unknown_gate {
            Err("featureGates are set".into())
        } else {
            Ok(String::new())
        },
    );
    Some(documents)
}

/// The pre-placed CAs and the service account key.
pub(super) fn check_pki(
    report: &mut Report,
    data: &UserData,
    machine: &Machine<'_>,
    env: &NodeEnv,
) -> Option<CaMaterial> {
    if !env.role.is_control_plane() {
        return None;
    }
    let text = |file: &str| {
        data.text(&format!("/etc/kubernetes/pki/{file}"))
            .map(str::to_owned)
    };
    for ca in ["ca", "front-proxy-ca", "etcd/ca"] {
        let (Ok(cert), Ok(key)) = (text(&format!("{ca}.crt")), text(&format!("{ca}.key"))) else {
            continue;
        };
        report.note(
            "E22",
            format!("pki/{ca}"),
            pki::check_ca(&cert, &key, machine.now).map(|()| String::new()),
        );
    }
    if let (Ok(key), Ok(public)) = (text("sa.key"), text("sa.pub")) {
        report.note(
            "E22",
            "pki/sa",
            pki::check_service_account(&key, &public).map(|()| String::new()),
        );
    }
    Some(CaMaterial {
        ca_cert: text("ca.crt").ok()?,
        ca_key: text("ca.key").ok()?,
        front_proxy_cert: text("front-proxy-ca.crt").ok()?,
        front_proxy_key: text("front-proxy-ca.key").ok()?,
        sa_key: text("sa.key").ok()?,
        sa_pub: text("sa.pub").ok()?,
    })
}

/// The credential a join begins with.
pub(super) fn check_discovery(
    report: &mut Report,
    data: &UserData,
    machine: &Machine<'_>,
    env: &NodeEnv,
) -> Option<Kubeconfig> {
    if env.role == Role::ControlPlaneInit {
        return None;
    }
    let parsed = data.text(DISCOVERY).and_then(Kubeconfig::parse);
    let result = parsed.as_ref().map_err(Clone::clone).and_then(|config| {
        let wanted = format!("https://{}", env.endpoint());
        if config.server != wanted {
            return Err(format!("server is {}, expected {wanted}", config.server));
        }
        pki::check_credential(config, &env.node_name, machine.now).map(|()| String::new())
    });
    report.note("E22", "discovery credential", result);
    parsed.ok()
}
