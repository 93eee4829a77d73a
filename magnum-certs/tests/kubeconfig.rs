//! kubeconfig: form, any name and address, real kubectl.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::process::Command;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use magnum_certs::{
    ApiEndpoint, AuthorityKind, ClusterPki, Error, ExecPlugin, Kubeconfig, OnConflict, PkiOptions,
    Profile, UserAuth, write_private_file,
};
use proptest::prelude::*;
use secrecy::{ExposeSecret as _, SecretString};

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
}

fn pki() -> ClusterPki {
    ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap()
}

fn admin(pki: &ClusterPki, cluster: &str, endpoint: &str) -> Kubeconfig {
    let profile = Profile::Admin {
        user: "alice".into(),
    };
    pki.kubeconfig(cluster, &pki.endpoint(endpoint), &profile, None, now())
        .unwrap()
}

fn text(config: &Kubeconfig) -> String {
    config.to_yaml().unwrap().expose_secret().to_owned()
}

#[test]
fn ck_04_one_file_with_embedded_data_and_a_current_context() {
    let pki = pki();
    let config = Kubeconfig::from_yaml(&text(&admin(&pki, "prod", "10.0.0.5:6443"))).unwrap();
    config.validate().unwrap();
    assert_eq!(
        (
            config.clusters.len(),
            config.users.len(),
            config.contexts.len()
        ),
        (1, 1, 1)
    );
    assert_eq!(config.current_context, "alice@prod");
    let (cluster, user) = config.current().unwrap();
    let trust = cluster.trust().unwrap().unwrap();
    assert_eq!(
        &trust[0],
        pki.authority(AuthorityKind::Kubernetes).certificate()
    );
    let credential = user.credential().unwrap().unwrap();
    assert_eq!(credential.certificate().common_name(), "alice");
    assert_eq!(
        credential.certificate().organizations(),
        ["kubeadm:cluster-admins"]
    );
    assert_eq!(
        credential.certificate().not_after(),
        now() + TimeDelta::hours(24)
    );
    for bad in ["a/b", "", "a\nb"] {
        let result = Kubeconfig::single(
            bad,
            &pki.endpoint("h:1"),
            "u",
            &UserAuth::Token("t".to_owned().into()),
        );
        assert!(matches!(result, Err(Error::BadName { .. })), "{bad:?}");
    }
}

#[test]
fn ck_11_any_name_and_address_gives_yaml_that_reads_back() {
    let pki = pki();
    for name in [
        "prod",
        "my.cluster.v1.2",
        "123",
        "1e3",
        "true",
        "null",
        "~",
        "- x",
        "a: b",
        "#c",
        "é",
        "'q\"",
        "@x",
        "%y",
        "0x10",
        "2026-12-01",
    ] {
        for endpoint in ["[2001:db8::1]:6443", "10.0.0.5:6443", "api.example.org:443"] {
            let config = admin(&pki, name, endpoint);
            let read = Kubeconfig::from_yaml(&text(&config)).unwrap();
            assert_eq!(read, config, "{name} {endpoint}");
            assert_eq!(
                read.clusters[0].cluster.server,
                format!("https://{endpoint}")
            );
        }
    }
    let open = ApiEndpoint {
        server: "http://10.0.0.5:8080".into(),
        trust: None,
        proxy: None,
        tls_server_name: None,
    };
    let config =
        Kubeconfig::single("x", &open, "u", &UserAuth::Exec(ExecPlugin::keystone())).unwrap();
    assert_eq!(Kubeconfig::from_yaml(&text(&config)).unwrap(), config);
}

#[test]
fn field_order_is_stable_and_long_values_stay_on_one_line() {
    let yaml = text(&admin(&pki(), "prod", "10.0.0.5:6443"));
    let keys: Vec<&str> = yaml
        .lines()
        .filter(|line| !line.starts_with([' ', '-']))
        .collect();
    assert_eq!(
        keys,
        [
            "apiVersion: v1",
            "kind: Config",
            "clusters:",
            "contexts:",
            "current-context: alice@prod",
            "users:"
        ]
    );
    assert!(
        yaml.lines()
            .any(|line| line.trim_start().starts_with("client-key-data: ") && line.len() > 200),
        "{yaml}"
    );
}

#[test]
fn ck_04_kubectl_reads_every_kind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let pki = pki();
    let proxied = pki
        .endpoint("[2001:db8::1]:6443")
        .with_proxy("http://127.0.0.1:3128".parse().unwrap());
    let single = |auth| Kubeconfig::single("my.cluster", &proxied, "user", &auth).unwrap();
    let oidc = ExecPlugin::oidc("https://issuer.example.org", "kubernetes")
        .env("A", SecretString::from("b"));
    for config in [
        admin(&pki, "my.cluster", "10.0.0.5:6443"),
        single(UserAuth::Token(SecretString::from("t0ken"))),
        single(UserAuth::Exec(ExecPlugin::keystone())),
        single(UserAuth::Exec(oidc)),
    ] {
        write_private_file(&path, &config.to_yaml().unwrap()).unwrap();
        let output = Command::new("kubectl")
            .args(["config", "view", "--raw", "-o", "json", "--kubeconfig"])
            .arg(&path)
            .output()
            .expect("kubectl is installed");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let seen = Kubeconfig::from_yaml(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
        assert_eq!(seen.clusters, config.clusters);
        assert_eq!(seen.users, config.users);
        assert_eq!(seen.contexts, config.contexts);
        assert_eq!(seen.current_context, config.current_context);
    }
}

#[test]
fn merging_keeps_what_is_there() {
    let pki = pki();
    let mine = "apiVersion: v1\nkind: Config\npreferences: {colors: true}\nclusters:\n- name: old\n  cluster: {server: 'https://old:6443', disable-compression: true}\n\
                contexts: null\ncurrent-context: ''\nusers:\n- name: bob\n  user: {username: bob, password: hunter2}\n";
    let mut config = Kubeconfig::from_yaml(mine).unwrap();
    let new = admin(&pki, "prod", "10.0.0.5:6443");
    config.merge(&new, OnConflict::Refuse).unwrap();
    config.merge(&new, OnConflict::Refuse).unwrap();
    assert_eq!(
        (
            config.clusters.len(),
            config.users.len(),
            config.contexts.len()
        ),
        (2, 2, 1)
    );
    assert_eq!(config.current_context, "alice@prod");
    let written = text(&config);
    assert!(
        written.contains("colors: true")
            && written.contains("hunter2")
            && written.contains("disable-compression")
    );
    assert!(!format!("{config:?}").contains("hunter2"), "ms_04");

    let renewed = admin(&pki, "prod", "10.0.0.5:6443");
    let before = config.clone();
    let conflict = config.merge(&renewed, OnConflict::Refuse);
    assert!(matches!(
        conflict,
        Err(Error::KubeconfigConflict { kind: "user", .. })
    ));
    assert_eq!(config, before);
    config.merge(&renewed, OnConflict::Replace).unwrap();
    assert_ne!(config, before);

    config.remove_cluster("prod");
    assert_eq!(
        (
            config.clusters.len(),
            config.users.len(),
            config.contexts.len()
        ),
        (1, 1, 0)
    );
    assert_eq!(config.current_context, "");
}

#[test]
fn what_does_not_hold_together_is_named() {
    let pki = pki();
    let good = admin(&pki, "prod", "10.0.0.5:6443");
    let problem = |change: fn(&mut Kubeconfig)| {
        let mut config = good.clone();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    };
    assert!(problem(|c| c.current_context = "x".into()).contains("current context \"x\""));
    assert!(problem(|c| c.contexts[0].context.user = "x".into()).contains("unknown user \"x\""));
    assert!(problem(|c| c.clusters[0].cluster.server = "10.0.0.5:6443".into()).contains("http(s)"));
    assert!(
        problem(|c| c.clusters[0].cluster.proxy_url = Some("ftp://x".into())).contains("proxy")
    );
    assert!(
        problem(|c| c.clusters[0].cluster.certificate_authority_data = Some("!".into()))
            .contains("authority-data")
    );
    assert!(problem(|c| c.users[0].user.client_key_data = None).contains("come together"));
    assert!(problem(|c| c.users.push(c.users[0].clone())).contains("twice"));
    let other = admin(&pki, "prod", "10.0.0.5:6443");
    let mut mixed = good.clone();
    mixed.users[0].user.client_key_data = other.users[0].user.client_key_data.clone();
    assert!(
        mixed
            .validate()
            .unwrap_err()
            .to_string()
            .contains("does not belong")
    );
}

#[test]
fn ms_04_errors_and_debug_show_no_secret() {
    let pki = pki();
    let config = admin(&pki, "prod", "10.0.0.5:6443");
    let key = config.users[0]
        .user
        .client_key_data
        .as_ref()
        .unwrap()
        .expose()
        .to_owned();
    assert!(!format!("{config:?}").contains(&key[40..80]));
    for bad in [
        "users:\n- name: u\n  user: {token: [hunter2]}",
        "users:\n- name: u\n  user: {token: hunter2, token: hunter2}",
        "users: hunter2",
        "users:\n- name: u\n  user:\n    token: hunter2\n   bad: hunter2",
    ] {
        let error = Kubeconfig::from_yaml(bad).unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("hunter2"),
            "{error:?}"
        );
    }
}

#[test]
fn a_discovery_file_is_bound_to_its_node() {
    let pki = pki();
    let life = Duration::from_secs(2 * 3600);
    let file = pki
        .discovery_file("10.0.0.5:6443", "k8s-pool-7f2kq", life, now())
        .unwrap();
    assert_eq!(
        (file.path.as_str(), file.mode),
        ("/etc/kubernetes/bootstrap/discovery.conf", 0o600)
    );
    let config = Kubeconfig::from_yaml(file.content.expose_secret()).unwrap();
    config.validate().unwrap();
    let (cluster, user) = config.current().unwrap();
    assert_eq!(cluster.server, "https://10.0.0.5:6443");
    let credential = user.credential().unwrap().unwrap();
    assert_eq!(
        credential.certificate().common_name(),
        "system:node:k8s-pool-7f2kq"
    );
    assert_eq!(credential.certificate().organizations(), ["system:nodes"]);
    assert_eq!(
        credential.certificate().not_after(),
        now() + TimeDelta::hours(2)
    );
    let serving = Profile::KubeletServing {
        node: "n".into(),
        names: magnum_certs::AltNames::new(),
    };
    let refused = pki.kubeconfig("x", &pki.endpoint("h:1"), &serving, None, now());
    assert!(matches!(refused, Err(Error::NotAllowed { .. })));
}

#[test]
fn ck_09_a_kubeconfig_fetched_in_each_phase_trusts_what_signs() {
    let pki = pki();
    let trusted = |pki: &ClusterPki| {
        let config = admin(pki, "prod", "10.0.0.5:6443");
        config.current().unwrap().0.trust().unwrap().unwrap()
    };
    let old = pki
        .authority(AuthorityKind::Kubernetes)
        .certificate()
        .clone();
    let both = pki.begin_rotation(PkiOptions::default(), now()).unwrap();
    assert_eq!(trusted(&both).len(), 2);
    let done = both.switch_rotation().finish_rotation();
    let new = trusted(&done);
    assert!(new.len() == 1 && new[0] != old);
}

proptest! {
    #[test]
    fn ck_11_any_accepted_name_round_trips(name in "[^/\\p{Cc}]{1,40}", token in "\\PC{0,60}") {
        let endpoint = ApiEndpoint::new("[2001:db8::1]:6443", String::new());
        let endpoint = ApiEndpoint { trust: None, ..endpoint };
        let config = Kubeconfig::single(&name, &endpoint, &name, &UserAuth::Token(SecretString::from(token))).unwrap();
        prop_assert_eq!(Kubeconfig::from_yaml(&text(&config)).unwrap(), config);
    }
}
