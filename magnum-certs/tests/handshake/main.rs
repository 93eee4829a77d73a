//! Real TLS: both generations during a rotation, Python with strict flags, kubectl.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use magnum_certs::{
    AltNames, AuthorityKind, ClusterPki, Credential, KeyAlgorithm, PkiOptions, Profile,
    api_server_names, write_private_file,
};
use rustls::{ServerConfig, ServerConnection};
use secrecy::ExposeSecret as _;

mod engine_rotation;
mod tls;

use tls::{client, server, shake};

/// The real time: the verifiers use their own clocks.
fn now() -> DateTime<Utc> {
    Utc::now()
}

fn pki() -> ClusterPki {
    ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap()
}

fn issue(pki: &ClusterPki, profile: &Profile) -> Credential {
    pki.issue(profile, KeyAlgorithm::EcdsaP256, None, now())
        .unwrap()
}

fn server_profile() -> Profile {
    Profile::ApiServer {
        names: api_server_names("cluster.local", &["10.254.0.0/16"], &AltNames::new()).unwrap(),
    }
}

#[test]
fn ck_05_the_api_server_is_reached_by_each_name() {
    let pki = pki();
    let trust = pki.trust_bundle(AuthorityKind::Kubernetes);
    let server = server(&issue(&pki, &server_profile()), &trust);
    let client = client(
        &issue(
            &pki,
            &Profile::Admin {
                user: "alice".into(),
            },
        ),
        &trust,
    );
    for name in [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "10.254.0.1",
        "127.0.0.1",
    ] {
        shake(&server, &client, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert!(shake(&server, &client, "other.example.org").is_err());
}

#[test]
fn ck_08_a_client_of_another_authority_or_cluster_is_refused() {
    let (pki, other) = (pki(), pki());
    let trust = pki.trust_bundle(AuthorityKind::Kubernetes);
    let server = server(&issue(&pki, &server_profile()), &trust);
    let refused = |credential: &Credential| {
        shake(&server, &client(credential, &trust), "kubernetes").is_err()
    };
    assert!(refused(&issue(&pki, &Profile::FrontProxyClient)));
    assert!(refused(&issue(&pki, &Profile::ApiServerEtcdClient)));
    assert!(refused(&issue(
        &other,
        &Profile::Admin {
            user: "alice".into()
        }
    )));
    assert!(
        refused(&issue(&pki, &server_profile())),
        "a server certificate is no client certificate"
    );
    assert!(!refused(&issue(
        &pki,
        &Profile::Admin {
            user: "alice".into()
        }
    )));
}

/// Two clients, one with a certificate and trust from before the rotation, one that was renewed, against a server
/// that follows the phases: nobody is locked out at any step before the last.
#[test]
fn ck_09_old_and_new_clients_are_accepted_at_every_step_before_the_last() {
    let kind = AuthorityKind::Kubernetes;
    let admin = Profile::Admin {
        user: "alice".into(),
    };
    let before = pki();
    let old = issue(&before, &admin);
    let old_server = issue(&before, &server_profile());

    let both = before
        .clone()
        .begin_rotation(PkiOptions::default(), now())
        .unwrap();
    let trust_both = both.trust_bundle(kind);
    // Phase 1: the bundle reaches servers and clients one after the other.
    for server_trust in [&before.trust_bundle(kind), &trust_both] {
        let server = server(&old_server, server_trust);
        for client_trust in [&before.trust_bundle(kind), &trust_both] {
            shake(&server, &client(&old, client_trust), "kubernetes").unwrap();
        }
    }
    // Phase 2: leaves are re-issued one after the other; everybody trusts both by now.
    let reissue = both.switch_rotation();
    let trust = reissue.trust_bundle(kind);
    let (new, new_server) = (issue(&reissue, &admin), issue(&reissue, &server_profile()));
    for server_leaf in [&old_server, &new_server] {
        let server = server(server_leaf, &trust);
        for leaf in [&old, &new] {
            shake(&server, &client(leaf, &trust), "kubernetes").unwrap();
        }
    }
    // Last: only the new one is trusted. Clients that still trust both go on, old certificates do not.
    let done = reissue.finish_rotation();
    let server = server(&new_server, &done.trust_bundle(kind));
    shake(&server, &client(&new, &trust), "kubernetes").unwrap();
    shake(
        &server,
        &client(&new, &done.trust_bundle(kind)),
        "kubernetes",
    )
    .unwrap();
    assert!(shake(&server, &client(&old, &trust), "kubernetes").is_err());
}

const PYTHON: &str = r"
import ssl, sys
def context(purpose, name):
    c = ssl.create_default_context(purpose, cafile='ca.pem')
    c.verify_flags |= ssl.VERIFY_X509_STRICT | getattr(ssl, 'VERIFY_X509_PARTIAL_CHAIN', 0)
    c.verify_mode = ssl.CERT_REQUIRED
    c.load_cert_chain(name + '.crt', name + '.key')
    return c
s2c, c2s = ssl.MemoryBIO(), ssl.MemoryBIO()
server = context(ssl.Purpose.CLIENT_AUTH, 'server').wrap_bio(c2s, s2c, server_side=True)
client = context(ssl.Purpose.SERVER_AUTH, 'client').wrap_bio(s2c, c2s, server_hostname='kubernetes.default.svc')
done = {}
for _ in range(10):
    for name, side in (('client', client), ('server', server)):
        if name not in done:
            try:
                side.do_handshake()
                done[name] = True
            except ssl.SSLWantReadError:
                pass
assert len(done) == 2, done
print(client.version(), server.getpeercert()['subject'])
";

#[test]
fn ck_01_python_with_strict_flags_connects_for_every_key_type() {
    let pki = pki();
    for algorithm in [
        KeyAlgorithm::EcdsaP256,
        KeyAlgorithm::EcdsaP384,
        KeyAlgorithm::Rsa2048,
        KeyAlgorithm::Ed25519,
    ] {
        let directory = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("ca.pem", &pki.trust_bundle(AuthorityKind::Kubernetes));
        let admin = Profile::Admin {
            user: "alice".into(),
        };
        for (name, profile) in [("server", server_profile()), ("client", admin)] {
            let credential = pki.issue(&profile, algorithm, None, now()).unwrap();
            write(&format!("{name}.crt"), &credential.certificate().to_pem());
            write(&format!("{name}.key"), credential.key_pem().expose_secret());
        }
        let output = Command::new("python3")
            .current_dir(directory.path())
            .args(["-c", PYTHON])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{algorithm}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(String::from_utf8_lossy(&output.stdout).contains("alice"));
    }
}

/// Answers HTTP requests on a loopback port until the process ends; every client needs a certificate of the cluster.
fn serve(config: Arc<ServerConfig>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (Ok(mut socket), config) = (socket, Arc::clone(&config)) else {
                continue;
            };
            std::thread::spawn(move || {
                let mut connection = ServerConnection::new(config).unwrap();
                let mut stream = rustls::Stream::new(&mut connection, &mut socket);
                let mut head = [0; 4096];
                if stream.read(&mut head).is_ok_and(|read| read > 0) {
                    let body = r#"{"major":"1","minor":"36","gitVersion":"v1.36.1"}"#;
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length";
                    let _ = stream
                        .write_all(format!("{head}: {}\r\n\r\n{body}", body.len()).as_bytes());
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
            });
        }
    });
    port
}

#[test]
fn ck_01_kubectl_connects_with_ours_and_not_with_anothers() {
    let (pki, other) = (pki(), pki());
    let trust = pki.trust_bundle(AuthorityKind::Kubernetes);
    let port = serve(server(&issue(&pki, &server_profile()), &trust));
    let endpoint = pki.endpoint(&format!("127.0.0.1:{port}"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    let version = |of: &ClusterPki, endpoint, profile: &Profile| {
        let config = of.kubeconfig("c1", endpoint, profile, None, now()).unwrap();
        write_private_file(&path, &config.to_yaml().unwrap()).unwrap();
        let mut kubectl = Command::new("kubectl");
        kubectl.arg("--kubeconfig").arg(&path).args([
            "--request-timeout=10s",
            "get",
            "--raw",
            "/version",
        ]);
        let output = kubectl
            .env_remove("KUBECONFIG")
            .output()
            .expect("kubectl is installed");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    let admin = Profile::Admin {
        user: "alice".into(),
    };
    for profile in [
        admin.clone(),
        Profile::BreakGlass {
            user: "root".into(),
        },
        Profile::KubeletClient { node: "n1".into() },
    ] {
        let (ok, text) = version(&pki, &endpoint, &profile);
        assert!(ok && text.contains("v1.36.1"), "{}: {text}", profile.name());
    }
    // The other cluster's certificate with this cluster's trust, and the other way round.
    let (ok, text) = version(&other, &endpoint, &admin);
    assert!(!ok && text.contains("tls"), "{text}");
    let (ok, text) = version(&pki, &other.endpoint(&format!("127.0.0.1:{port}")), &admin);
    assert!(!ok && text.contains("certificate"), "{text}");
}
