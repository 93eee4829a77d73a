//! From the input to the text of the user-data.

use std::fmt;

use magnum_certs::DISCOVERY_PATH;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::cloud_config::{CloudConfig, Encoding, WriteFile, compress};
use super::containerd::{mirror_files, no_proxy, proxy_files, time_files, with_newline};
use super::error::BootstrapError;
use super::kubeadm::documents;
use super::limits::{NOVA_USER_DATA_MAX, SIGNAL_ALLOWANCE};
use super::member::{MemberParameters, NodeMember, ParameterValue};
use super::node::NodeShared;
use super::node_env::NodeEnv;
use super::placeholder::Placeholder;
use super::script;
use super::str_replace::str_replace;
use super::validate::{check_member, check_shared};

const ETC: &str = "/etc/clusternode";
const LIB: &str = "/usr/local/lib/clusternode";
const UNITS: &str = "/etc/systemd/system";

/// What the members of one node group and role have in common: a cloud-config with placeholders.
///
/// On control planes it holds the keys of the cluster's authorities, so `Debug` shows its name only.
#[derive(Clone)]
pub struct SharedText {
    subject: String,
    file_name: String,
    text: SecretString,
    joins: bool,
    sizes: Vec<(String, usize)>,
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedText")
            .field("file_name", &self.file_name)
            .field("bytes", &self.bytes())
            .finish()
    }
}

impl NodeShared {
    /// Renders the shared text. The same input gives the same bytes.
    ///
    /// # Errors
    ///
    /// [`BootstrapError::Invalid`] with every problem of the input; [`BootstrapError::TooLarge`] when no member
    /// could fit into Nova's limit.
    pub fn render(&self) -> Result<SharedText, BootstrapError> {
        check_shared(self)?;
        let config = CloudConfig {
            files: files(self)?,
            ssh_authorized_keys: self.ssh_authorized_keys.clone(),
            commands: vec![
                vec!["systemctl", "daemon-reload"],
                vec![
                    "systemctl",
                    "start",
                    "--no-block",
                    "clusternode-bootstrap.service",
                ],
            ],
        };
        let (text, sizes) = config.render();
        let digest = Sha256::digest(text.as_bytes());
        let hash: String = digest
            .iter()
            .take(10)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let shared = SharedText {
            subject: format!("node group {}", self.node_group),
            file_name: format!("user-data-{}-{hash}.yaml", self.role.name()),
            text: SecretString::from(text),
            joins: self.role.joins(),
            sizes,
        };
        shared.check_size(shared.bytes(), &shared.subject)?;
        Ok(shared)
    }
}

impl SharedText {
    /// The key under which the text goes into a stack's `files`: derived from the content, so it never changes
    /// its meaning.
    #[must_use]
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// The text, placeholders included. A secret on control planes.
    #[must_use]
    pub const fn text(&self) -> &SecretString {
        &self.text
    }

    /// Length of the text in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.expose_secret().len()
    }

    /// The parameters that Heat fills in for `member`.
    ///
    /// # Errors
    ///
    /// [`BootstrapError::Invalid`] for a bad name or a discovery kubeconfig that is missing or superfluous;
    /// [`BootstrapError::TooLarge`] when the filled text would not fit into Nova's limit.
    pub fn parameters(&self, member: &NodeMember) -> Result<MemberParameters, BootstrapError> {
        check_member(member, self.joins)?;
        let mut values = Vec::with_capacity(Placeholder::ALL.len());
        for placeholder in Placeholder::ALL {
            if !self.text.expose_secret().contains(placeholder.text()) {
                continue;
            }
            let text = match placeholder {
                Placeholder::NodeName => member.node_name.clone().into(),
                Placeholder::MemberId => member.member_id.as_str().to_owned().into(),
                Placeholder::NotBefore => member.not_before.timestamp().to_string().into(),
                Placeholder::Discovery => {
                    let Some(file) = &member.discovery else {
                        continue;
                    };
                    compress(file.content.expose_secret().as_bytes()).into()
                }
                Placeholder::Signal => {
                    values.push((placeholder, ParameterValue::Signal));
                    continue;
                }
            };
            values.push((placeholder, ParameterValue::Text(text)));
        }
        let parameters = MemberParameters {
            node_name: member.node_name.clone(),
            values,
        };
        let signal = " ".repeat(SIGNAL_ALLOWANCE);
        let filled = self.fill(&parameters, Some(&signal))?.expose_secret().len();
        self.check_size(filled, &format!("node {}", member.node_name))?;
        Ok(parameters)
    }

    /// The user-data as Heat's `str_replace` makes it. `signal` is the map of the member's handle, one line of JSON.
    ///
    /// # Errors
    ///
    /// [`BootstrapError::Parameters`] when a placeholder stays or the signal map is missing.
    pub fn fill(
        &self,
        parameters: &MemberParameters,
        signal: Option<&str>,
    ) -> Result<SecretString, BootstrapError> {
        let mut params = Vec::with_capacity(parameters.values.len());
        for (placeholder, value) in &parameters.values {
            let value = match value {
                ParameterValue::Text(text) => text.expose_secret(),
                ParameterValue::Signal => signal.ok_or_else(|| BootstrapError::Parameters {
                    subject: format!("node {}", parameters.node_name),
                    problem: "the signal map is missing".to_owned(),
                })?,
            };
            params.push((placeholder.text(), value));
        }
        let text = str_replace(self.text.expose_secret(), &params);
        match Placeholder::ALL
            .iter()
            .find(|placeholder| text.contains(placeholder.text()))
        {
            Some(left) => Err(BootstrapError::Parameters {
                subject: format!("node {}", parameters.node_name),
                problem: format!("nothing was given for {}", left.text()),
            }),
            None => Ok(text.into()),
        }
    }

    fn check_size(&self, actual: usize, subject: &str) -> Result<(), BootstrapError> {
        if actual <= NOVA_USER_DATA_MAX {
            return Ok(());
        }
        let mut largest = self.sizes.clone();
        largest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        largest.truncate(3);
        Err(BootstrapError::TooLarge {
            subject: subject.to_owned(),
            actual,
            limit: NOVA_USER_DATA_MAX,
            largest,
        })
    }
}

fn files(node: &NodeShared) -> Result<Vec<WriteFile>, BootstrapError> {
    let mut files = vec![WriteFile::private(
        format!("{ETC}/node.env"),
        node_env(node),
    )];
    if node.signal {
        files.push(WriteFile::private(
            format!("{ETC}/signal.json"),
            format!("{}\n", Placeholder::Signal.text()),
        ));
    }
    files.push(WriteFile::private(
        format!("{ETC}/kubeadm.yaml"),
        documents(node)?,
    ));
    if let Some(ca) = &node.cloud_ca {
        files.push(WriteFile::public(
            format!("{ETC}/cloud-ca.pem"),
            with_newline(ca),
        ));
    }
    if let Some(patch) = &node.kubelet.config_patch {
        let text = format!("{}\n", serde_json::Value::Object(patch.clone()));
        files.push(WriteFile::public(
            "/etc/kubernetes/patches/kubeletconfiguration+merge.json",
            text,
        ));
    }
    if let Some(control_plane) = node.role.control_plane() {
        for file in &control_plane.pki {
            let text = with_newline(file.content.expose_secret());
            let private = file.mode & 0o077 == 0;
            let entry = WriteFile::private(file.path.clone(), text);
            files.push(if private { entry } else { entry.mode("0644") });
        }
        files.push(unit("clusternode-certs.service", script::CERTS_SERVICE));
        files.push(unit("clusternode-certs.timer", script::CERTS_TIMER));
        files.push(program("renew-certs.sh", script::RENEW_CERTS_SH));
    }
    if node.role.joins() {
        let discovery = WriteFile::private(DISCOVERY_PATH, Placeholder::Discovery.text());
        files.push(discovery.encoded(Encoding::CompressedLater));
    }
    files.extend(node.mirrors.iter().flat_map(mirror_files));
    if let Some(proxy) = &node.proxy {
        files.extend(proxy_files(node, proxy));
    }
    files.extend(time_files(&node.ntp_servers));
    if node.block_metadata {
        files.push(unit(
            "clusternode-metadata.service",
            script::METADATA_SERVICE,
        ));
    }
    files.push(unit(
        "clusternode-bootstrap.service",
        script::BOOTSTRAP_SERVICE,
    ));
    files.push(program("bootstrap.sh", script::BOOTSTRAP_SH));
    Ok(files)
}

fn unit(name: &str, text: &str) -> WriteFile {
    WriteFile::public(format!("{UNITS}/{name}"), text)
}

fn program(name: &str, text: &str) -> WriteFile {
    WriteFile::public(format!("{LIB}/{name}"), text)
        .encoded(Encoding::Compressed)
        .mode("0755")
}

fn node_env(node: &NodeShared) -> String {
    let mut env = NodeEnv::default();
    env.set("CLUSTERNODE_FORMAT", "1")
        .set("ROLE", node.role.name())
        .set("NODE_NAME", Placeholder::NodeName.text())
        .set("CLUSTER_ID", &node.cluster_id.to_string())
        .set("NODE_GROUP", &node.node_group)
        .set("MEMBER_ID", Placeholder::MemberId.text())
        .set("KUBE_VERSION", &node.kubernetes.to_string())
        .set("ENDPOINT", &node.endpoint.to_string())
        .set("NODE_SUBNET", &node.node_subnet.to_string())
        .set("NOT_BEFORE", Placeholder::NotBefore.text())
        .set("CNI", node.cni.name())
        .set("SIGNAL", if node.signal { "true" } else { "false" })
        .set("IMAGE_PULL_POLICY", node.image_pull_policy.name())
        .set(
            "BLOCK_METADATA",
            if node.block_metadata { "true" } else { "false" },
        )
        .set(
            "ENDPOINT_WAIT_SECONDS",
            &node.endpoint_wait_seconds.to_string(),
        );
    if let Some(control_plane) = node.role.control_plane() {
        env.set("ETCD_DATA_DIR", control_plane.etcd.data_dir()).set(
            "ETCD_VOLUME",
            if control_plane.etcd.volume {
                "true"
            } else {
                "false"
            },
        );
    }
    if let Some(repository) = &node.image_repository {
        env.set("IMAGE_REPOSITORY", repository);
    }
    if node.cloud_ca.is_some() {
        env.set("CLOUD_CA_FILE", &format!("{ETC}/cloud-ca.pem"));
    }
    if let Some(proxy) = &node.proxy {
        for (name, value) in [("HTTP_PROXY", &proxy.http), ("HTTPS_PROXY", &proxy.https)] {
            if let Some(value) = value {
                env.set(name, value);
            }
        }
        env.set("NO_PROXY", &no_proxy(node, proxy));
    }
    env.into_text()
}

#[cfg(test)]
mod tests;
