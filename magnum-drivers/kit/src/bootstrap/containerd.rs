//! Files for what surrounds Kubernetes on a node: registry mirrors, proxy, time.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;

use super::cloud_config::WriteFile;
use super::node::{NodeShared, Proxy, RegistryMirror};

/// Where containerd reads one registry's hosts.
fn registry_directory(registry: &str) -> String {
    format!("/etc/containerd/certs.d/{registry}")
}

/// `hosts.toml` (and the CA) of one mirror.
pub(crate) fn mirror_files(mirror: &RegistryMirror) -> Vec<WriteFile> {
    let directory = registry_directory(&mirror.registry);
    let ca_path = format!("{directory}/ca.crt");
    let mut toml = String::new();
    if mirror.registry != "_default" {
        let server = if mirror.registry == "docker.io" {
            "registry-1.docker.io"
        } else {
            mirror.registry.as_str()
        };
        let _ = writeln!(
            toml,
            "server = {}",
            toml_string(&format!("https://{server}"))
        );
    }
    for endpoint in &mirror.endpoints {
        let endpoint = toml_string(endpoint);
        let _ = writeln!(
            toml,
            "[host.{endpoint}]\n  capabilities = [\"pull\", \"resolve\"]"
        );
        if mirror.ca.is_some() {
            let _ = writeln!(toml, "  ca = {}", toml_string(&ca_path));
        }
        if let Some((user, password)) = &mirror.credentials {
            let basic = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
            let _ = writeln!(
                toml,
                "  [host.{endpoint}.header]\n    authorization = \"Basic {basic}\""
            );
        }
    }
    let hosts = WriteFile::private(format!("{directory}/hosts.toml"), toml);
    mirror
        .ca
        .iter()
        .map(|ca| WriteFile::public(ca_path.clone(), with_newline(ca)))
        .chain([if mirror.credentials.is_some() {
            hosts
        } else {
            hosts.mode("0644")
        }])
        .collect()
}

/// What is reached without the proxy: what the caller says and the cluster's own addresses.
pub(crate) fn no_proxy(node: &NodeShared, proxy: &Proxy) -> String {
    let mut hosts = proxy.no_proxy.clone();
    hosts.extend([
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "169.254.169.254".to_owned(),
        ".svc".to_owned(),
        format!(".{}", node.networking.dns_domain),
        node.endpoint.host().to_owned(),
        node.node_subnet.to_string(),
        node.networking.pod_cidr.to_string(),
        node.networking.service_cidr.to_string(),
    ]);
    let mut seen = std::collections::HashSet::new();
    hosts.retain(|host| seen.insert(host.clone()));
    hosts.join(",")
}

/// Drop-ins that give containerd and the kubelet the proxy.
pub(crate) fn proxy_files(node: &NodeShared, proxy: &Proxy) -> Vec<WriteFile> {
    let mut unit = String::from("[Service]\n");
    let no_proxy = no_proxy(node, proxy);
    for (name, value) in [
        ("HTTP_PROXY", &proxy.http),
        ("HTTPS_PROXY", &proxy.https),
        ("NO_PROXY", &Some(no_proxy)),
    ] {
        if let Some(value) = value {
            let _ = writeln!(
                unit,
                "Environment={}",
                systemd_quote(&format!("{name}={value}"))
            );
        }
    }
    ["containerd", "kubelet"]
        .iter()
        .map(|service| {
            WriteFile::private(
                format!("/etc/systemd/system/{service}.service.d/http-proxy.conf"),
                unit.clone(),
            )
        })
        .collect()
}

/// Time servers for whichever of chrony and timesyncd the image has.
pub(crate) fn time_files(servers: &[String]) -> Vec<WriteFile> {
    if servers.is_empty() {
        return Vec::new();
    }
    let mut sources = String::new();
    for server in servers {
        let _ = writeln!(sources, "server {server} iburst");
    }
    vec![
        WriteFile::public("/etc/chrony/sources.d/clusternode.sources", sources),
        WriteFile::public(
            "/etc/systemd/timesyncd.conf.d/50-clusternode.conf",
            format!("[Time]\nNTP={}\n", servers.join(" ")),
        ),
    ]
}

/// `text` with a newline at its end.
pub(crate) fn with_newline(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

/// A TOML basic string. JSON's escapes are a subset of TOML's.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One quoted word of a systemd unit: backslash and quote escaped, `%` doubled.
fn systemd_quote(word: &str) -> String {
    format!(
        "\"{}\"",
        word.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('%', "%%")
    )
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn a_mirror_with_a_password_is_for_root_only() {
        let mirror = RegistryMirror {
            registry: "docker.io".into(),
            endpoints: vec!["https://mirror.example.org".into()],
            ca: Some("PEM".into()),
            credentials: Some(("user".into(), SecretString::from("pw"))),
        };
        let files = mirror_files(&mirror);
        assert_eq!(files[0].path, "/etc/containerd/certs.d/docker.io/ca.crt");
        assert_eq!(
            (files[1].path.as_str(), files[1].permissions),
            ("/etc/containerd/certs.d/docker.io/hosts.toml", "0600")
        );
        insta::assert_snapshot!(files[1].content, @r#"
        server = "https://registry-1.docker.io"
        [host."https://mirror.example.org"]
          capabilities = ["pull", "resolve"]
          ca = "/etc/containerd/certs.d/docker.io/ca.crt"
          [host."https://mirror.example.org".header]
            authorization = "Basic dXNlcjpwdw=="
        "#);
    }

    #[test]
    fn percent_signs_survive_systemd() {
        assert_eq!(
            systemd_quote("HTTP_PROXY=http://u:p%40\"x@h"),
            r#""HTTP_PROXY=http://u:p%%40\"x@h""#
        );
    }
}
