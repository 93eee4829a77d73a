//! Reading `clouds.yaml`, `secure.yaml`, `clouds-public.yaml` and `OS_*`.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use magnum_heat::{
    Auth, CloudConfig, ConfigError, Env, Interface, Scope,
    auth::{DomainRef, ProjectRef, UserRef},
};
use secrecy::ExposeSecret;

const CLOUDS: &str = "
clouds:
  a:
    auth:
      auth_url: https://k:5000
      username: demo
      project_name: demo
      user_domain_name: Default
      project_domain_id: default
    region_name: R1
    interface: internal
    orchestration_endpoint_override: https://heat.test/v1/p
  b:
    profile: vendor
    auth: {application_credential_id: ac1}
    auth_type: v3applicationcredential
  c:
    auth: {auth_url: 'https://k', username: u, password: p, trust_id: t1}
    verify: false
";

fn env(dir: &Path) -> Env {
    let mut env = Env::from_vars([("HOME", "/nonexistent")]);
    env.current_dir = Some(dir.to_path_buf());
    env
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

#[test]
fn secrets_and_profiles_are_laid_over() {
    let secure =
        "clouds:\n  a: {auth: {password: pw}}\n  b: {auth: {application_credential_secret: s}}\n";
    let vendor = "public-clouds:\n  vendor:\n    auth: {auth_url: 'https://vendor/identity/v3'}\n    region_name: V\n";
    let dir = folder(&[
        ("clouds.yaml", CLOUDS),
        ("secure.yaml", secure),
        ("clouds-public.yaml", vendor),
    ]);
    let a = CloudConfig::load(Some("a"), &env(dir.path())).unwrap();
    assert_eq!(a.auth_url.as_str(), "https://k:5000/v3");
    let Auth::Password { user, password } = &a.auth else {
        panic!("{:?}", a.auth)
    };
    assert_eq!(
        *user,
        UserRef::Name {
            name: "demo".into(),
            domain: DomainRef::Name("Default".into())
        }
    );
    assert_eq!(password.expose_secret(), "pw");
    let project = ProjectRef::Name {
        name: "demo".into(),
        domain: DomainRef::Id("default".into()),
    };
    assert_eq!(a.scope, Scope::Project(project));
    assert_eq!(
        (a.interface, a.region.as_deref()),
        (Interface::Internal, Some("R1"))
    );
    assert_eq!(
        a.endpoint_overrides["orchestration"].as_str(),
        "https://heat.test/v1/p"
    );

    let b = CloudConfig::load(Some("b"), &env(dir.path())).unwrap();
    assert_eq!(
        (b.auth_url.as_str(), b.region.as_deref()),
        ("https://vendor/identity/v3", Some("V"))
    );
    assert!(matches!(b.auth, Auth::ApplicationCredential { .. }));

    let c = CloudConfig::load(Some("c"), &env(dir.path())).unwrap();
    assert_eq!(c.scope, Scope::Trust("t1".into()));
    assert!(c.tls.skips_verification());
}

#[test]
fn errors_name_file_cloud_and_key() {
    let dir = folder(&[("clouds.yaml", CLOUDS)]);
    let error = |name: Option<&str>| CloudConfig::load(name, &env(dir.path())).unwrap_err();
    let text = error(Some("a")).to_string();
    assert!(
        text.contains("clouds.yaml: cloud \"a\"") && text.contains("password is missing"),
        "{text}"
    );
    let ConfigError::NoCloud {
        cloud, available, ..
    } = error(Some("z"))
    else {
        panic!()
    };
    assert_eq!((cloud.as_str(), available.len()), ("z", 3));
    assert!(matches!(error(None), ConfigError::ChooseCloud { .. }));
    assert!(matches!(error(Some("b")), ConfigError::BadValue { ref key, .. } if key == "profile"));
    let nothing = folder(&[]);
    let text = CloudConfig::load(None, &env(nothing.path()))
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("OS_AUTH_URL is not set") && text.contains("clouds.yaml"),
        "{text}"
    );
    for (file, text) in [
        ("clouds.yaml", "clouds: [a]"),
        ("clouds.yaml", "clouds: {a: [}"),
        ("clouds.yaml", "clouds: {a: 5}"),
        (
            "clouds.yaml",
            "clouds: {a: {auth: {auth_url: 'ftp://x', username: u, password: hunter2}}}",
        ),
        (
            "clouds.yaml",
            "clouds: {a: {interface: side, auth: {auth_url: 'http://x', username: u, password: hunter2}}}",
        ),
        (
            "clouds.yaml",
            "clouds: {a: {cacert: /nonexistent, auth: {auth_url: 'http://x', username: u, password: hunter2}}}",
        ),
        (
            "clouds.yaml",
            "clouds: {a: {auth_type: v3kerberos, auth: {auth_url: 'http://x', password: hunter2}}}",
        ),
    ] {
        let dir = folder(&[(file, text)]);
        let error = CloudConfig::load(Some("a"), &env(dir.path()))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("clouds.yaml") && !error.contains("hunter2"),
            "{error}"
        );
    }
}

#[test]
fn variables_alone_are_enough_and_a_name_beats_them() {
    let vars = [
        ("OS_AUTH_URL", "http://k/identity"),
        ("OS_USERNAME", "u"),
        ("OS_PASSWORD", "p"),
        ("OS_PROJECT_ID", "p1"),
        ("OS_REGION_NAME", "R"),
        ("OS_INTERFACE", "publicURL"),
    ];
    let cloud = CloudConfig::load(None, &Env::from_vars(vars)).unwrap();
    assert_eq!(cloud.scope, Scope::project("p1"));
    assert_eq!(
        (cloud.interface, cloud.region.as_deref()),
        (Interface::Public, Some("R"))
    );
    let dir = folder(&[("other.yaml", CLOUDS)]);
    let file = dir.path().join("other.yaml").display().to_string();
    let with_file = Env::from_vars(
        vars.into_iter()
            .chain([("OS_CLOUD", "c"), ("OS_CLIENT_CONFIG_FILE", file.as_str())]),
    );
    assert_eq!(
        CloudConfig::load(None, &with_file)
            .unwrap()
            .auth_url
            .as_str(),
        "https://k/v3"
    );
    let token = Env::from_vars([("OS_AUTH_URL", "http://k"), ("OS_TOKEN", "t")]);
    assert!(matches!(
        CloudConfig::load(None, &token).unwrap().auth,
        Auth::Token(_)
    ));
    let missing = Env::from_vars([
        ("OS_CLOUD", "c"),
        ("OS_CLIENT_CONFIG_FILE", "/nonexistent/clouds.yaml"),
    ]);
    assert!(matches!(
        CloudConfig::load(None, &missing),
        Err(ConfigError::Unreadable { .. })
    ));
}

#[test]
fn proxies_come_from_the_environment() {
    let base = [
        ("OS_AUTH_URL", "https://keystone.example.org"),
        ("OS_TOKEN", "t"),
    ];
    let proxy = |more: &[(&str, &str)]| {
        let vars = base.into_iter().chain(more.iter().copied());
        CloudConfig::load(None, &Env::from_vars(vars))
            .unwrap()
            .proxy
            .map(|p| p.to_string())
    };
    assert_eq!(proxy(&[]), None);
    assert_eq!(proxy(&[("http_proxy", "http://p:1")]), None);
    assert_eq!(
        proxy(&[("HTTPS_PROXY", "p:3128")]).as_deref(),
        Some("http://p:3128/")
    );
    assert_eq!(
        proxy(&[
            ("all_proxy", "http://p:1"),
            ("no_proxy", "other, .example.org")
        ]),
        None
    );
    assert!(proxy(&[("all_proxy", "http://p:1"), ("no_proxy", "ample.org")]).is_some());
}
