//! The bootstrap script in a root of its own, with stub programs instead of a machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::{BOOTSTRAP_SH, RENEW_CERTS_SH};

const UUID: &str = "11111111-2222-3333-4444-555555555555";
const SIGNAL: &str = r#"{"auth_url": "http://c/identity/v3/", "user_id": "u1", "username": "n", "password": "a!@#%^&*", "project_id": "p1", "domain_id": "d", "region_name": "R", "alarm_url": "http://c/heat/v1/p/stacks/s/i/resources/r/signal"}"#;
const KUBEADM: &str = "kind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n  - name: cloud-provider\n    \
                       value: external\n  - name: provider-id\n    value: openstack:///@INSTANCE_ID@\n  - name: node-ip\n    \
                       value: \"@NODE_IP@\"\n";

/// Breaks what a check looks at.
type Break = fn(&Machine);
/// The same for what is in the environment.
type BreakMut = fn(&mut Machine);

/// A machine that passes every check, to be broken by a test.
struct Machine {
    root: TempDir,
    env: BTreeMap<&'static str, String>,
}

impl Machine {
    fn new(role: &'static str) -> Self {
        let env = [
            ("CLUSTERNODE_FORMAT", "1"),
            ("ROLE", role),
            ("NODE_NAME", "demo-w-7f2kq"),
            ("NODE_GROUP", "default-worker"),
            ("KUBE_VERSION", "v1.36.1"),
            ("ENDPOINT", "10.0.0.5:6443"),
            ("NODE_SUBNET", "10.0.0.0/24"),
            ("NOT_BEFORE", "1790000000"),
            ("SIGNAL", "true"),
            ("IMAGE_PULL_POLICY", "IfNotPresent"),
            ("ENDPOINT_WAIT_SECONDS", "10"),
        ];
        let machine = Self {
            root: TempDir::new().unwrap(),
            env: env
                .into_iter()
                .map(|(key, value)| (key, value.to_owned()))
                .collect(),
        };
        machine.file("etc/clusternode/signal.json", SIGNAL);
        machine.file("etc/clusternode/kubeadm.yaml", KUBEADM);
        machine.file("etc/kubernetes/bootstrap/discovery.conf", "secret");
        machine.file("etc/kubernetes/pki/ca.crt", "ca");
        machine.file("proc/swaps", "Filename Type Size Used Priority\n");
        machine.file("proc/meminfo", "MemTotal:        4045000 kB\n");
        machine.file("opt/cni/bin/loopback", "");
        machine.file(
            "run/clusternode/config-drive/openstack/latest/meta_data.json",
            &format!(r#"{{"uuid": "{UUID}"}}"#),
        );
        machine.file(
            "run/clusternode/config-drive/openstack/latest/network_data.json",
            r#"{"networks": [{"type": "ipv4", "ip_address": "10.0.0.21"}, {"type": "ipv4", "ip_address": "192.168.7.4"}]}"#,
        );
        machine.file("var/lib/cloud/instances/i/user-data.txt", "secret");
        for (name, body) in [
            (
                "kubeadm",
                r#"case "$1" in version) echo v1.36.1 ;; *) echo "kubeadm $*" >>"$CLUSTERNODE_ROOT/calls" ;; esac"#,
            ),
            ("kubelet", "echo Kubernetes v1.36.1"),
            ("kubectl", ""),
            ("crictl", ""),
            ("ctr", ""),
            (
                "containerd",
                "echo containerd github.com/containerd/containerd/v2 v2.3.2 abc",
            ),
            ("stat", "echo cgroup2fs"),
            ("modprobe", ""),
            (
                "sysctl",
                r#"case "$1" in -n) grep "^$2 = " "$CLUSTERNODE_ROOT/etc/sysctl.d/90-clusternode.conf" | sed 's/.* = //' ;; esac"#,
            ),
            (
                "systemctl",
                r#"case "$1" in cat) echo bootstrap-kubelet.conf kubeadm-flags.env ;; is-active) exit 1 ;; *) echo "systemctl $*" >>"$CLUSTERNODE_ROOT/calls" ;; esac"#,
            ),
            ("df", "echo; echo / 99999999 1 20000000 1% /"),
            ("nproc", "echo 4"),
            ("timedatectl", "echo yes"),
            ("date", "echo 1790000100"),
            ("getent", ""),
            ("ip", "echo '2: eth0 inet 10.0.0.21/24 scope global eth0'"),
            ("mountpoint", "exit 1"),
            ("sleep", ""),
            (
                "curl",
                r#"body=""; [[ " $* " != *" @- "* ]] || body="$(cat)"
echo "curl ${*: -1} $body" >>"$CLUSTERNODE_ROOT/calls"
case "$*" in
  */auth/tokens) printf 'HTTP/1.1 201\r\nX-Subject-Token: tok\r\n' ;;
  */livez) printf 401 ;;
  *) printf 200 ;;
esac"#,
            ),
        ] {
            machine.stub(name, body);
        }
        for name in [
            "iptables",
            "mount",
            "nsenter",
            "ethtool",
            "tc",
            "socat",
            "conntrack",
        ] {
            machine.stub(name, "");
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn stub(&self, name: &str, body: &str) {
        let path = format!("stubs/{name}");
        self.file(&path, &format!("#!/bin/bash\n{body}\n"));
        fs::set_permissions(self.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn without(&self, name: &str) {
        fs::remove_file(self.path(&format!("stubs/{name}"))).unwrap();
    }

    fn run(&self) -> Output {
        let env: String = self
            .env
            .iter()
            .map(|(key, value)| format!("{key}={value}\n"))
            .collect();
        self.file("etc/clusternode/node.env", &env);
        self.file("bootstrap.sh", BOOTSTRAP_SH);
        Command::new("bash")
            .arg(self.path("bootstrap.sh"))
            .env_clear()
            .env("CLUSTERNODE_ROOT", self.root.path())
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("stubs").display()),
            )
            .output()
            .unwrap()
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    /// Runs, and expects the failure `code` on the console, in the exit code and in the signal.
    fn expect_failure(&self, code: &str, words: &str) {
        let output = self.run();
        let console = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = console
            .lines()
            .rfind(|line| line.starts_with("CLUSTERNODE FAIL "))
            .unwrap_or_else(|| panic!("{console}"));
        assert!(
            line.starts_with(&format!("CLUSTERNODE FAIL {code}: ")) && line.contains(words),
            "{console}"
        );
        assert_eq!(
            output.status.code(),
            Some(10 + code[1..].parse::<i32>().unwrap())
        );
        assert!(
            self.calls().contains(&format!(
                r#""status":"FAILURE","reason":"CLUSTERNODE FAIL {code}: "#
            )),
            "{}",
            self.calls()
        );
        assert!(!self.path("var/lib/clusternode/done").exists());
    }
}

fn exists(path: &Path) -> bool {
    path.exists()
}

#[test]
fn both_scripts_are_valid_bash_and_pass_shellcheck_where_there_is_one() {
    for script in [BOOTSTRAP_SH, RENEW_CERTS_SH] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("script.sh");
        fs::write(&path, script).unwrap();
        assert!(
            Command::new("bash")
                .arg("-n")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        if let Ok(output) = Command::new("shellcheck").arg(&path).output() {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
    }
}

#[test]
fn a_good_worker_joins_and_signals_every_stage_in_order() {
    let machine = Machine::new("worker");
    let output = machine.run();
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{console}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let calls = machine.calls();
    let stages: Vec<&str> = calls
        .lines()
        .filter_map(|line| line.split(r#"/signal {"id":""#).nth(1)?.split('"').next())
        .collect();
    assert_eq!(stages, ["boot", "preflight", "kubeadm", "done"]);
    assert_eq!(calls.matches("/auth/tokens").count(), 1);
    assert!(calls.contains(r#"/identity/v3/auth/tokens {"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"u1","password":"a!@#%^&*"}}},"scope":{"project":{"id":"p1"}}}}"#));
    let config = fs::read_to_string(machine.path("etc/clusternode/kubeadm.yaml")).unwrap();
    assert!(
        config.contains(&format!("openstack:///{UUID}")) && config.contains("\"10.0.0.21\""),
        "{config}"
    );
    assert!(calls.find("kubeadm config validate").unwrap() < calls.find("kubeadm join").unwrap());
    for gone in [
        "etc/kubernetes/bootstrap/discovery.conf",
        "etc/clusternode/signal.json",
        "var/lib/cloud/instances/i/user-data.txt",
        "run/clusternode/token-header",
    ] {
        assert!(!exists(&machine.path(gone)), "{gone}");
    }
    assert!(calls.contains("systemctl enable --now clusternode-metadata.service"));
    assert!(!calls.contains("clusternode-certs.timer"));
    assert!(exists(&machine.path("var/lib/clusternode/done")));
}

#[test]
fn the_first_control_plane_node_runs_init_without_waiting_for_the_endpoint() {
    let machine = Machine::new("control-plane-init");
    let output = machine.run();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let calls = machine.calls();
    assert!(calls.contains("kubeadm init --skip-token-print") && !calls.contains("/livez"));
    assert!(calls.contains("systemctl enable --now clusternode-certs.timer"));
}

#[test]
fn a_second_run_does_nothing() {
    let machine = Machine::new("worker");
    machine.run();
    let before = machine.calls();
    assert_eq!(machine.run().status.code(), Some(0));
    assert_eq!(machine.calls(), before);
}

#[test]
fn preflight_codes_of_the_image() {
    let break_it: [(&str, &str, Break); 14] = [
        ("E01", "lacks kubelet", |m| m.without("kubelet")),
        ("E02", "kubeadm v1.35.4", |m| {
            m.stub("kubeadm", "echo v1.35.4");
        }),
        ("E03", "does not fit", |m| {
            m.stub("kubelet", "echo Kubernetes v1.37.0");
        }),
        ("E03", "does not fit", |m| {
            m.stub("kubelet", "echo Kubernetes v1.32.0");
        }),
        ("E04", "not running", |m| m.stub("crictl", "exit 1")),
        ("E05", "1.7.28", |m| {
            m.stub("containerd", "echo containerd containerd.io 1.7.28 abc");
        }),
        ("E06", "cgroup", |m| m.stub("stat", "echo tmpfs")),
        ("E07", "drop-in", |m| m.stub("systemctl", "exit 1")),
        ("E07", "--pod-infra-container-image", |m| {
            m.file(
                "etc/default/kubelet",
                "KUBELET_EXTRA_ARGS=--pod-infra-container-image=x\n",
            );
        }),
        ("E08", "swap", |m| {
            m.file("proc/swaps", "Filename\n/dev/vdb\n");
        }),
        ("E09", "manifests", |m| {
            m.file("etc/kubernetes/manifests/etcd.yaml", "");
        }),
        ("E09", "kubelet.conf", |m| {
            m.file("etc/kubernetes/kubelet.conf", "");
        }),
        ("E10", "net.ipv4.ip_forward=1", |m| {
            m.stub("sysctl", "exit 1");
        }),
        ("E11", "loopback", |m| {
            fs::remove_file(m.path("opt/cni/bin/loopback")).unwrap();
        }),
    ];
    for (code, words, change) in break_it {
        let machine = Machine::new("worker");
        change(&machine);
        machine.expect_failure(code, words);
    }
}

#[test]
fn preflight_codes_of_the_surroundings() {
    let break_it: [(&str, &str, BreakMut); 8] = [
        ("E12", "registry.k8s.io/pause:3.10", |m| {
            m.env.insert("IMAGE_PULL_POLICY", "Never".into());
            m.stub("kubeadm", "case $1 in version) echo v1.36.1;; config) echo registry.k8s.io/etcd:3; echo registry.k8s.io/pause:3.10;; esac");
        }),
        ("E13", "api.example.org", |m| {
            m.env.insert("ENDPOINT", "api.example.org:6443".into());
            m.stub("getent", "exit 2");
        }),
        ("E14", "not attached", |m| {
            m.env.insert("ETCD_VOLUME", "true".into());
        }),
        ("E15", "no address", |m| {
            m.env.insert("NODE_SUBNET", "172.16.0.0/12".into());
        }),
        ("E15", "2 addresses", |m| {
            m.env.insert("NODE_SUBNET", "0.0.0.0/0".into());
        }),
        ("E16", "MiB free", |m| {
            m.stub("df", "echo; echo / 1 1 2048 1% /");
        }),
        ("E16", "2 CPUs", |m| {
            m.env.insert("ROLE", "control-plane-join".into());
            m.stub("nproc", "echo 1");
        }),
        ("E17", "clock", |m| m.stub("date", "echo 1700000000")),
    ];
    for (code, words, change) in break_it {
        let mut machine = Machine::new("worker");
        change(&mut machine);
        machine.expect_failure(code, words);
    }
}

#[test]
fn all_checks_run_and_the_others_are_counted() {
    let machine = Machine::new("worker");
    machine.file("proc/swaps", "Filename\n/dev/vdb\n");
    machine.stub("stat", "echo tmpfs");
    machine.stub("date", "echo 1700000000");
    machine.expect_failure("E06", "(2 more: E08 E17)");
}

#[test]
fn with_dhcp_the_address_comes_from_the_interface() {
    let machine = Machine::new("worker");
    machine.file(
        "run/clusternode/config-drive/openstack/latest/network_data.json",
        r#"{"networks": [{"type": "ipv4_dhcp", "link": "tap1"}]}"#,
    );
    assert_eq!(machine.run().status.code(), Some(0));
    let config = fs::read_to_string(machine.path("etc/clusternode/kubeadm.yaml")).unwrap();
    assert!(config.contains("\"10.0.0.21\""), "{config}");
}

#[test]
fn without_an_instance_id_no_provider_id_is_guessed() {
    let machine = Machine::new("worker");
    machine.file(
        "run/clusternode/config-drive/openstack/latest/meta_data.json",
        "{}",
    );
    assert_eq!(machine.run().status.code(), Some(0));
    let config = fs::read_to_string(machine.path("etc/clusternode/kubeadm.yaml")).unwrap();
    assert!(
        !config.contains("provider-id")
            && !config.contains("openstack:")
            && config.contains("node-ip"),
        "{config}"
    );
    assert!(machine.calls().contains("W07"));
}

#[test]
fn the_etcd_volume_is_found_by_tag_and_serial() {
    let mut machine = Machine::new("control-plane-init");
    machine.env.insert("ETCD_VOLUME", "true".into());
    machine
        .env
        .insert("ETCD_DATA_DIR", "/var/lib/etcd-disk/data".into());
    machine.file(
        "run/clusternode/config-drive/openstack/latest/meta_data.json",
        &format!(r#"{{"devices": [{{"type": "disk", "serial": "abcdef01-2345-6789-abcd-ef0123456789", "tags": ["etcd"]}}], "uuid": "{UUID}"}}"#),
    );
    machine.file("dev/disk/by-id/virtio-abcdef01-2345-6789-a", "");
    machine.stub("mkfs.ext4", r#"echo "mkfs $*" >>"$CLUSTERNODE_ROOT/calls""#);
    machine.stub("blkid", "");
    let output = machine.run();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(machine.calls().contains("virtio-abcdef01-2345-6789-a"));
    assert!(exists(
        &machine.path("etc/systemd/system/kubelet.service.d/20-etcd-disk.conf")
    ));
}

#[test]
fn an_unreachable_endpoint_is_a_failure_of_its_own() {
    let machine = Machine::new("worker");
    machine.stub(
        "curl",
        r#"body=""; [[ " $* " != *" @- "* ]] || body="$(cat)"
echo "curl $body" >>"$CLUSTERNODE_ROOT/calls"
case "$*" in */auth/tokens) printf 'X-Subject-Token: tok\r\n' ;; */livez) printf 000; exit 7 ;; *) printf 200 ;; esac"#,
    );
    machine.expect_failure("E20", "10.0.0.5:6443");
}

#[test]
fn a_refused_configuration_and_a_failed_init() {
    let machine = Machine::new("worker");
    machine.stub(
        "kubeadm",
        "case $1 in version) echo v1.36.1;; config) echo 'unknown \"field\"'; exit 1;; esac",
    );
    machine.expect_failure("E21", "refuses its configuration");
    assert!(machine.calls().contains(r#"unknown \"field\""#));
    let machine = Machine::new("control-plane-init");
    machine.stub("kubeadm", "case $1 in version) echo v1.36.1;; init) echo init >>$CLUSTERNODE_ROOT/inits; echo 'error: boom'; exit 1;; esac");
    machine.expect_failure("E22", "kubeadm init failed: error: boom");
    assert_eq!(
        fs::read_to_string(machine.path("inits")).unwrap(),
        "init\n",
        "init is never retried"
    );
}

#[test]
fn a_join_is_retried_until_an_etcd_member_was_announced() {
    let join = |line: &str| {
        format!(
            r#"case $1 in version) echo v1.36.1;; reset) rm -rf "$CLUSTERNODE_ROOT/etc/kubernetes/pki";;
join) echo join >>"$CLUSTERNODE_ROOT/joins"; test -e "$CLUSTERNODE_ROOT/etc/kubernetes/pki/ca.crt" || echo lost; echo '{line}'; exit 1;; esac"#
        )
    };
    let machine = Machine::new("control-plane-join");
    machine.stub("kubeadm", &join("error: timed out"));
    machine.expect_failure("E22", "timed out");
    assert_eq!(
        fs::read_to_string(machine.path("joins"))
            .unwrap()
            .lines()
            .count(),
        3
    );
    assert!(
        !fs::read_to_string(machine.path("var/lib/clusternode/kubeadm.log"))
            .unwrap()
            .contains("lost")
    );
    let machine = Machine::new("control-plane-join");
    machine.stub(
        "kubeadm",
        &join("[etcd] Announced new etcd member joining to the existing etcd cluster"),
    );
    machine.expect_failure("E22", "Announced");
    assert_eq!(
        fs::read_to_string(machine.path("joins"))
            .unwrap()
            .lines()
            .count(),
        1
    );
}

#[test]
fn user_data_that_was_not_applied() {
    let mut machine = Machine::new("worker");
    machine.env.insert("CLUSTERNODE_FORMAT", "2".into());
    assert_eq!(machine.run().status.code(), Some(10));
    let machine = Machine::new("worker");
    fs::remove_file(machine.path("etc/clusternode/kubeadm.yaml")).unwrap();
    assert_eq!(machine.run().status.code(), Some(10));
}

#[test]
fn a_lost_token_is_fetched_again_and_a_dead_heat_does_not_stop_the_node() {
    let machine = Machine::new("worker");
    machine.stub(
        "curl",
        r#"[[ " $* " != *" @- "* ]] || cat >/dev/null
echo "curl ${*: -1}" >>"$CLUSTERNODE_ROOT/calls"
case "$*" in */auth/tokens) printf 'X-Subject-Token: tok\r\n' ;; */livez) printf 403 ;; *) printf 401 ;; esac"#,
    );
    let output = machine.run();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(machine.calls().matches("/auth/tokens").count() > 1);
    assert!(String::from_utf8_lossy(&output.stdout).contains("could not be delivered"));
}
