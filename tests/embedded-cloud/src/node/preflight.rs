//! Everything a node looks at before it runs kubeadm, in the codes of the bootstrap script.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::kubeadm::{Documents, NodeRegistration};
use super::kubeconfig::Kubeconfig;
use super::node_env::{NodeEnv, Role, minor};
use super::preflight_config::{check_discovery, check_kubeadm, check_pki};
use super::user_data::{MAX_USER_DATA, UserData};
use crate::kubernetes::CaMaterial;

/// One thing a boot looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub what: String,
    /// Whether it was good.
    pub ok: bool,
    /// What was wrong, or what was seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// A failure as it goes out: `CLUSTERNODE FAIL E15: ...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }

    /// The line for console and signal.
    pub(crate) fn line(&self) -> String {
        format!(
            "CLUSTERNODE FAIL {}: {}",
            self.code,
            self.message.replace('\n', " ")
        )
    }
}

/// What the machine itself is.
#[derive(Debug, Clone)]
pub(crate) struct Machine<'a> {
    pub(crate) server_id: &'a str,
    pub(crate) server_name: &'a str,
    pub(crate) addresses: &'a [IpAddr],
    /// `kube_version` of the image, if it says.
    pub(crate) image_version: Option<&'a str>,
    /// Unix seconds.
    pub(crate) now: i64,
    /// Bytes of the user-data as Nova holds it (base64).
    pub(crate) user_data_bytes: usize,
}

/// A node that may go on to kubeadm.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) env: NodeEnv,
    pub(crate) own_address: IpAddr,
    pub(crate) documents: Documents,
    /// On control planes.
    pub(crate) material: Option<CaMaterial>,
    /// On joins.
    pub(crate) discovery: Option<Kubeconfig>,
}

impl Plan {
    pub(crate) fn registration(&self) -> &NodeRegistration {
        self.documents
            .registration()
            .expect("a plan has an init or a join document")
    }
}

/// Collects checks.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) checks: Vec<Check>,
    pub(crate) failures: Vec<Failure>,
}

impl Report {
    pub(super) fn note(
        &mut self,
        code: &str,
        what: impl Into<String>,
        result: Result<String, String>,
    ) {
        let what = what.into();
        let (ok, detail) = match result {
            Ok(seen) => (true, seen),
            Err(why) => {
                self.failures
                    .push(Failure::new(code, format!("{what}: {why}")));
                (false, why)
            }
        };
        self.checks.push(Check { what, ok, detail });
    }

    /// The one line of all failures: the first, with the number of the others.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let first = self.failures.first()?;
        let more = match self.failures.len() - 1 {
            0 => String::new(),
            n => {
                let rest: Vec<String> = self.failures[1..]
                    .iter()
                    .map(|f| format!("{}: {}", f.code, f.message))
                    .collect();
                format!(" ({n} more: {})", rest.join("; "))
            }
        };
        Some(Failure::new(
            &first.code,
            format!("{}{more}", first.message),
        ))
    }
}

const PKI: [(&str, u32); 8] = [
    ("ca.crt", 0o644),
    ("ca.key", 0o600),
    ("front-proxy-ca.crt", 0o644),
    ("front-proxy-ca.key", 0o600),
    ("etcd/ca.crt", 0o644),
    ("etcd/ca.key", 0o600),
    ("sa.key", 0o600),
    ("sa.pub", 0o644),
];

pub(super) const KUBEADM: &str = "/etc/clusternode/kubeadm.yaml";
pub(super) const DISCOVERY: &str = "/etc/kubernetes/bootstrap/discovery.conf";

fn required(role: Role) -> Vec<(String, u32)> {
    let mut files = vec![
        ("/etc/clusternode/node.env".to_owned(), 0o600),
        (KUBEADM.to_owned(), 0o600),
        ("/usr/local/lib/clusternode/bootstrap.sh".to_owned(), 0o755),
        (
            "/etc/systemd/system/clusternode-bootstrap.service".to_owned(),
            0o644,
        ),
    ];
    if role.is_control_plane() {
        files.extend(
            PKI.iter()
                .map(|(f, mode)| (format!("/etc/kubernetes/pki/{f}"), *mode)),
        );
    }
    if role != Role::ControlPlaneInit {
        files.push((DISCOVERY.to_owned(), 0o600));
    }
    files
}

/// Looks at rendered user-data as the node `name` with these addresses would, without any cloud.
///
/// # Errors
/// The line the node would fail with, `CLUSTERNODE FAIL E15: ...`; or, when cloud-init itself could
/// not read the text, what it would trip over.
pub fn check_user_data(
    text: &str,
    name: &str,
    addresses: &[IpAddr],
    image_version: Option<&str>,
) -> Result<Vec<Check>, String> {
    let data = UserData::parse(text)?;
    let machine = Machine {
        server_id: "00000000-0000-4000-8000-000000000000",
        server_name: name,
        addresses,
        image_version,
        now: chrono::Utc::now().timestamp(),
        user_data_bytes: text.len().div_ceil(3) * 4,
    };
    let (report, _) = check(&data, &machine);
    match report.failure() {
        Some(failure) => Err(failure.line()),
        None => Ok(report.checks),
    }
}

/// Runs all checks. The plan is there when none failed.
pub(crate) fn check(data: &UserData, machine: &Machine<'_>) -> (Report, Option<Plan>) {
    let mut report = Report::default();
    let size = machine.user_data_bytes;
    report.note(
        "E00",
        "user-data size",
        if size <= MAX_USER_DATA {
            Ok(format!("{size} of {MAX_USER_DATA}"))
        } else {
            Err(format!("{size} bytes, Nova takes {MAX_USER_DATA}"))
        },
    );
    let env = match data
        .text("/etc/clusternode/node.env")
        .map_err(|e| vec![e])
        .and_then(NodeEnv::parse)
    {
        Ok(env) => env,
        Err(problems) => {
            report.note("E00", "node.env", Err(problems.join("; ")));
            return (report, None);
        }
    };
    report.note("E00", "node.env", Ok(format!("{:?}", env.role)));
    check_files(&mut report, data, &env);
    let own_address = check_machine(&mut report, machine, &env);
    let documents = check_kubeadm(&mut report, data, machine, &env, own_address);
    let material = check_pki(&mut report, data, machine, &env);
    let discovery = check_discovery(&mut report, data, machine, &env);
    let complete = report.failures.is_empty();
    let plan = match (documents, own_address) {
        (Some(documents), Some(own_address)) if complete => Some(Plan {
            env,
            own_address,
            documents,
            material,
            discovery,
        }),
        _ => None,
    };
    (report, plan)
}

fn check_files(report: &mut Report, data: &UserData, env: &NodeEnv) {
    let mut files = required(env.role);
    if env.signal {
        files.push(("/etc/clusternode/signal.json".to_owned(), 0o600));
    }
    for (path, mode) in files {
        let result = match data.files.get(&path) {
            None => Err("is missing: the user-data was not applied".to_owned()),
            Some(f) if f.mode != mode => Err(format!("has mode {:04o}, not {mode:04o}", f.mode)),
            Some(f) if f.owner != "root:root" && f.owner != "root" => {
                Err(format!("belongs to {}", f.owner))
            }
            Some(f) if f.content.is_empty() => Err("is empty".to_owned()),
            Some(_) => Ok(String::new()),
        };
        report.note("E00", path, result);
    }
    let has = |path: &str| data.files.contains_key(path);
    if env.role == Role::Worker {
        let leak = data
            .files
            .keys()
            .find(|p| p.ends_with("/ca.key") || p.ends_with("/sa.key"));
        report.note(
            "E00",
            "no CA key on a worker",
            leak.map_or(Ok(String::new()), |p| Err(format!("{p} is there"))),
        );
    }
    if env.role == Role::ControlPlaneInit && has(DISCOVERY) {
        report.note(
            "E09",
            DISCOVERY,
            Err("does not belong on the first control-plane node".into()),
        );
    }
    let dirty = ["/etc/kubernetes/manifests/", "/etc/kubernetes/kubelet.conf"];
    let found = data
        .files
        .keys()
        .find(|p| dirty.iter().any(|d| p.starts_with(d)));
    report.note(
        "E09",
        "a clean node",
        found.map_or(Ok(String::new()), |p| {
            Err(format!("{p} is there before kubeadm"))
        }),
    );
    let started = data.commands.iter().any(|c| {
        let words: Vec<&str> = c
            .iter()
            .map(String::as_str)
            .filter(|w| !w.starts_with("--"))
            .collect();
        words == ["systemctl", "start", "clusternode-bootstrap.service"]
            || words == ["systemctl", "enable", "clusternode-bootstrap.service"]
    });
    report.note(
        "E00",
        "runcmd starts the bootstrap unit",
        if started {
            Ok(String::new())
        } else {
            Err("it does not".into())
        },
    );
    if let Ok(script) = data.text("/usr/local/lib/clusternode/bootstrap.sh") {
        let fine = script.starts_with("#!") && script.contains("kubeadm");
        report.note(
            "E00",
            "bootstrap.sh",
            if fine {
                Ok(String::new())
            } else {
                Err("is not a script that runs kubeadm".into())
            },
        );
    }
    let left = data.files.iter().find(|(_, f)| {
        f.text().is_ok_and(|t| {
            t.contains("%%NODE_NAME%%") || t.contains("%%SIGNAL%%") || t.contains("%%DISCOVERY%%")
        })
    });
    report.note(
        "E00",
        "placeholders are filled in",
        left.map_or(Ok(String::new()), |(p, _)| {
            Err(format!("{p} still holds one"))
        }),
    );
}

fn check_machine(report: &mut Report, machine: &Machine<'_>, env: &NodeEnv) -> Option<IpAddr> {
    let name = machine.server_name;
    report.note(
        "E21",
        "node name is the server's",
        if env.node_name == name {
            Ok(name.into())
        } else {
            Err(format!(
                "NODE_NAME is {}, the server is {name}",
                env.node_name
            ))
        },
    );
    let mine: Vec<&IpAddr> = machine
        .addresses
        .iter()
        .filter(|a| env.node_subnet.contains(*a))
        .collect();
    let seen: Vec<String> = mine.iter().map(ToString::to_string).collect();
    let own = match mine.as_slice() {
        [one] => Ok(one.to_string()),
        [] => Err(format!(
            "no address of this machine is in the node subnet {}",
            env.node_subnet
        )),
        many => Err(format!(
            "{} addresses are in the node subnet {}: {}",
            many.len(),
            env.node_subnet,
            seen.join(", ")
        )),
    };
    report.note("E15", "own address", own);
    let early = env.not_before - 300 > machine.now;
    report.note(
        "E17",
        "clock",
        if early {
            Err("it is more than 5 minutes before the node's certificates become valid".into())
        } else {
            Ok(String::new())
        },
    );
    if let Some(image) = machine.image_version {
        let with_v = if image.starts_with('v') {
            image.to_owned()
        } else {
            format!("v{image}")
        };
        let same = minor(&with_v) == minor(&env.kube_version);
        report.note(
            "E02",
            "version of the image",
            if same {
                Ok(with_v)
            } else {
                Err(format!(
                    "the image has kubeadm {with_v}, the node group declares {}",
                    env.kube_version
                ))
            },
        );
    }
    match mine.as_slice() {
        [one] => Some(**one),
        _ => None,
    }
}
