//! Real etcd: three members with mutual TLS on our certificates. Needs `etcd` and `etcdctl` (Debian: etcd-server, etcd-client).
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use magnum_certs::{
    AltNames, AuthorityKind, ClusterPki, Credential, KeyAlgorithm, PkiOptions, Profile,
};
use secrecy::ExposeSecret as _;

fn now() -> DateTime<Utc> {
    Utc::now()
}

/// Ends the process when the test ends.
struct Member(Child);

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<_> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    held.iter()
        .map(|listener| listener.local_addr().unwrap().port())
        .collect()
}

fn write(directory: &Path, name: &str, credential: &Credential) {
    std::fs::write(
        directory.join(format!("{name}.crt")),
        credential.certificate().to_pem(),
    )
    .unwrap();
    std::fs::write(
        directory.join(format!("{name}.key")),
        credential.key_pem().expose_secret(),
    )
    .unwrap();
}

fn etcdctl(
    directory: &Path,
    endpoints: &str,
    identity: Option<&str>,
    args: &[&str],
) -> (bool, String) {
    let mut command = Command::new("etcdctl");
    command.current_dir(directory).env("ETCDCTL_API", "3");
    command.args([
        "--endpoints",
        endpoints,
        "--cacert",
        "ca.crt",
        "--dial-timeout=2s",
        "--command-timeout=4s",
    ]);
    if let Some(name) = identity {
        command.args([
            "--cert",
            &format!("{name}.crt"),
            "--key",
            &format!("{name}.key"),
        ]);
    }
    let output = command.args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn ck_08_three_etcd_members_trust_ours_and_refuse_others() {
    for tool in ["etcd", "etcdctl"] {
        let found = Command::new(tool).arg("--help").output();
        assert!(
            found.is_ok(),
            "{tool} is needed (Debian: etcd-server, etcd-client)"
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let pki = ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap();
    let other = ClusterPki::generate("c2", PkiOptions::default(), now()).unwrap();
    let issue = |pki: &ClusterPki, profile: &Profile| {
        pki.issue(profile, KeyAlgorithm::EcdsaP256, None, now())
            .unwrap()
    };
    std::fs::write(path.join("ca.crt"), pki.trust_bundle(AuthorityKind::Etcd)).unwrap();
    write(
        path,
        "client",
        &issue(
            &pki,
            &Profile::EtcdClient {
                name: "probe".into(),
            },
        ),
    );
    write(
        path,
        "apiserver",
        &issue(&pki, &Profile::ApiServerEtcdClient),
    );
    write(
        path,
        "foreign",
        &issue(
            &other,
            &Profile::EtcdClient {
                name: "probe".into(),
            },
        ),
    );
    write(
        path,
        "admin",
        &issue(
            &pki,
            &Profile::Admin {
                user: "alice".into(),
            },
        ),
    );

    let ports = free_ports(6);
    let peers: Vec<String> = ports[3..]
        .iter()
        .zip(["m0", "m1", "m2"])
        .map(|(port, name)| format!("{name}=https://127.0.0.1:{port}"))
        .collect();
    let cluster = peers.join(",");
    let members: Vec<Member> = (0..3)
        .map(|index| {
            let name = format!("m{index}");
            let profile = |peer: bool| {
                let (member, names) = (name.clone(), AltNames::new());
                if peer {
                    Profile::EtcdPeer { member, names }
                } else {
                    Profile::EtcdServer { member, names }
                }
            };
            write(
                path,
                &format!("{name}-server"),
                &issue(&pki, &profile(false)),
            );
            write(path, &format!("{name}-peer"), &issue(&pki, &profile(true)));
            let (client, peer) = (ports[index], ports[index + 3]);
            let log = std::fs::File::create(path.join(format!("{name}.log"))).unwrap();
            let mut command = Command::new("etcd");
            command.current_dir(path).stdout(Stdio::null()).stderr(log);
            for (flag, value) in [
                ("name", name.clone()),
                ("data-dir", format!("{name}.data")),
                ("listen-client-urls", format!("https://127.0.0.1:{client}")),
                (
                    "advertise-client-urls",
                    format!("https://127.0.0.1:{client}"),
                ),
                ("listen-peer-urls", format!("https://127.0.0.1:{peer}")),
                (
                    "initial-advertise-peer-urls",
                    format!("https://127.0.0.1:{peer}"),
                ),
                ("initial-cluster", cluster.clone()),
                ("initial-cluster-state", "new".to_owned()),
                ("client-cert-auth", "true".to_owned()),
                ("peer-client-cert-auth", "true".to_owned()),
                ("trusted-ca-file", "ca.crt".to_owned()),
                ("peer-trusted-ca-file", "ca.crt".to_owned()),
                ("cert-file", format!("{name}-server.crt")),
                ("key-file", format!("{name}-server.key")),
                ("peer-cert-file", format!("{name}-peer.crt")),
                ("peer-key-file", format!("{name}-peer.key")),
            ] {
                command.arg(format!("--{flag}={value}"));
            }
            Member(command.spawn().unwrap())
        })
        .collect();

    let endpoints: Vec<String> = ports[..3]
        .iter()
        .map(|port| format!("https://127.0.0.1:{port}"))
        .collect();
    let all = endpoints.join(",");
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let (healthy, text) = etcdctl(path, &all, Some("client"), &["endpoint", "health"]);
        if healthy {
            break;
        }
        if Instant::now() > limit {
            let log = std::fs::read_to_string(path.join("m0.log")).unwrap();
            panic!("etcd never became healthy: {text}\n{log}");
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    let (ok, text) = etcdctl(
        path,
        &endpoints[0],
        Some("apiserver"),
        &["put", "key", "value"],
    );
    assert!(ok, "{text}");
    let (ok, text) = etcdctl(
        path,
        &endpoints[2],
        Some("client"),
        &["get", "key", "--print-value-only"],
    );
    assert!(ok && text.trim() == "value", "{text}");
    for refused in [None, Some("foreign"), Some("admin")] {
        let (ok, text) = etcdctl(path, &endpoints[1], refused, &["get", "key"]);
        assert!(!ok, "{refused:?}: {text}");
    }
    drop(members);
}
