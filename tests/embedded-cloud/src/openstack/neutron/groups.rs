//! Security groups and their rules.

use ipnet::IpNet;
use serde_json::Value;

use super::super::{ApiError, Caller};
use super::Mint;
use super::attributes::Attributes;
use super::model::{Group, Meta, NeutronState, Rule, fault, missing};

const GROUP: [&str; 6] = [
    "name",
    "description",
    "stateful",
    "tenant_id",
    "project_id",
    "shared",
];
const RULE: [&str; 12] = [
    "security_group_id",
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
    "remote_address_group_id",
    "description",
    "tenant_id",
    "project_id",
];
const PROTOCOLS: [&str; 27] = [
    "any",
    "ah",
    "dccp",
    "egp",
    "esp",
    "gre",
    "hopopt",
    "icmp",
    "igmp",
    "ip",
    "ipip",
    "ipv6-encap",
    "ipv6-frag",
    "ipv6-icmp",
    "icmpv6",
    "ipv6-nonxt",
    "ipv6-opts",
    "ipv6-route",
    "ospf",
    "pgm",
    "rsvp",
    "sctp",
    "tcp",
    "udp",
    "udplite",
    "vrrp",
    "",
];

impl NeutronState {
    /// The project's group `default`, made when it is missing.
    pub fn ensure_default_group(&mut self, mint: &Mint<'_>, project: &str) -> String {
        let found = self
            .groups
            .values()
            .find(|g| g.meta.project_id == project && g.meta.name == "default");
        if let Some(group) = found {
            return group.meta.id.clone();
        }
        let mut meta = Meta::new(mint.id(), "default", project, mint.now);
        "Default security group".clone_into(&mut meta.description);
        let id = meta.id.clone();
        self.groups.insert(
            id.clone(),
            Group {
                meta,
                stateful: true,
            },
        );
        for ethertype in ["IPv6", "IPv4"] {
            self.built_in_rule(mint, project, &id, ethertype, "ingress");
        }
        for ethertype in ["IPv6", "IPv4"] {
            self.built_in_rule(mint, project, &id, ethertype, "egress");
        }
        id
    }

    fn built_in_rule(
        &mut self,
        mint: &Mint<'_>,
        project: &str,
        group: &str,
        ethertype: &str,
        direction: &str,
    ) {
        let mut meta = Meta::new(mint.id(), "", project, mint.now);
        meta.revision = 0;
        self.counter += 1;
        let rule = Rule {
            group_id: group.to_owned(),
            direction: direction.to_owned(),
            ethertype: ethertype.to_owned(),
            protocol: None,
            port_min: None,
            port_max: None,
            remote_prefix: None,
            remote_group: (direction == "ingress").then(|| group.to_owned()),
            built_in: true,
            number: self.counter,
            meta,
        };
        self.rules.insert(rule.meta.id.clone(), rule);
    }

    /// A group of a project by name or id.
    #[must_use]
    pub fn group_id(&self, project: &str, name_or_id: &str) -> Option<String> {
        let own = |g: &&Group| {
            g.meta.project_id == project && (g.meta.id == name_or_id || g.meta.name == name_or_id)
        };
        self.groups.values().find(own).map(|g| g.meta.id.clone())
    }

    /// A group the caller may see.
    ///
    /// # Errors
    /// 404.
    pub fn group(&self, caller: &Caller, id: &str) -> Result<&Group, ApiError> {
        let group = self
            .groups
            .get(id)
            .filter(|g| caller.sees(&g.meta.project_id));
        group.ok_or_else(|| missing("security-groups", id))
    }

    /// Makes a group.
    ///
    /// # Errors
    /// 400, 409.
    pub fn create_group(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        body: Attributes<'_>,
    ) -> Result<String, ApiError> {
        let body = body.only(&GROUP)?;
        let project = body
            .some_text("project_id")
            .or(body.some_text("tenant_id"))
            .filter(|_| caller.is_admin);
        let project = project.unwrap_or(&caller.project_id).to_owned();
        self.ensure_default_group(mint, &project);
        if body.text("name") == "default" {
            return Err(fault(
                409,
                "SecurityGroupDefaultAlreadyExists",
                "Default security group already exists.",
            ));
        }
        self.reserve(&project, "security_group")?;
        let meta = body.meta(mint, &project);
        let id = meta.id.clone();
        self.groups.insert(
            id.clone(),
            Group {
                meta,
                stateful: body.flag("stateful").unwrap_or(true),
            },
        );
        for ethertype in ["IPv4", "IPv6"] {
            self.built_in_rule(mint, &project, &id, ethertype, "egress");
        }
        Ok(id)
    }

    /// Changes a group.
    ///
    /// # Errors
    /// 400, 404.
    pub fn update_group(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: Attributes<'_>,
    ) -> Result<(), ApiError> {
        let body = body.only(&GROUP)?;
        self.group(caller, id)?;
        let group = self
            .groups
            .get_mut(id)
            .ok_or_else(|| missing("security-groups", id))?;
        group.stateful = body.flag("stateful").unwrap_or(group.stateful);
        body.update_meta(&mut group.meta, mint);
        Ok(())
    }

    /// Deletes a group with its rules and the rules that point to it.
    ///
    /// # Errors
    /// 404; 409 while a port has it, or for the default group.
    pub fn delete_group(&mut self, caller: &Caller, id: &str) -> Result<(), ApiError> {
        let default = self.group(caller, id)?.meta.name == "default";
        if self
            .ports
            .values()
            .any(|p| p.security_groups.iter().any(|g| g == id))
        {
            return Err(fault(
                409,
                "SecurityGroupInUse",
                format!("Security Group {id} in use."),
            ));
        }
        if default && !caller.is_admin {
            let text = "Insufficient rights for removing default security group.";
            return Err(fault(409, "SecurityGroupCannotRemoveDefault", text));
        }
        self.rules
            .retain(|_, rule| rule.group_id != id && rule.remote_group.as_deref() != Some(id));
        self.groups.shift_remove(id);
        Ok(())
    }

    /// A rule the caller may see.
    ///
    /// # Errors
    /// 404.
    pub fn rule(&self, caller: &Caller, id: &str) -> Result<&Rule, ApiError> {
        let rule = self
            .rules
            .get(id)
            .filter(|r| caller.sees(&r.meta.project_id));
        rule.ok_or_else(|| missing("security-group-rules", id))
    }

    /// Makes a rule.
    ///
    /// # Errors
    /// 400, 404, 409.
    pub fn create_rule(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        body: Attributes<'_>,
    ) -> Result<String, ApiError> {
        let body = body.only(&RULE)?;
        let group_id = body.id("security_group_id")?.to_owned();
        let protocol = protocol(body)?;
        let (port_min, port_max) = (body.number("port_range_min"), body.number("port_range_max"));
        if protocol.is_none() && (port_min.is_some() || port_max.is_some()) {
            let text = "Must also specify protocol if port range is given.";
            return Err(fault(400, "SecurityGroupProtocolRequiredWithPorts", text));
        }
        if matches!(protocol.as_deref(), Some("tcp" | "udp"))
            && (port_min.is_some() != port_max.is_some() || port_min > port_max)
        {
            let text = "For TCP/UDP protocols, port_range_min must be <= port_range_max";
            return Err(fault(400, "SecurityGroupInvalidPortRange", text));
        }
        let (prefix, remote) = (
            body.some_text("remote_ip_prefix"),
            body.some_text("remote_group_id"),
        );
        if prefix.is_some() && remote.is_some() {
            let text = "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.";
            return Err(fault(400, "SecurityGroupMultipleRemoteEntites", text));
        }
        let ethertype = body.some_text("ethertype").unwrap_or("IPv4").to_owned();
        if let Some(prefix) = prefix {
            check_prefix(prefix, &ethertype)?;
        }
        let project = self.group(caller, &group_id)?.meta.project_id.clone();
        if let Some(remote) = remote {
            self.group(caller, remote)?;
        }
        let mut meta = body.meta(mint, &project);
        meta.revision = 0;
        self.counter += 1;
        let rule = Rule {
            group_id: group_id.clone(),
            direction: body.some_text("direction").unwrap_or("ingress").to_owned(),
            ethertype,
            protocol,
            port_min,
            port_max,
            remote_prefix: prefix.map(str::to_owned),
            remote_group: remote.map(str::to_owned),
            built_in: false,
            number: self.counter,
            meta,
        };
        if let Some(same) = self.rules.values().find(|other| same_rule(other, &rule)) {
            let text = format!(
                "Security group rule already exists. Rule id is {}.",
                same.meta.id
            );
            return Err(fault(409, "SecurityGroupRuleExists", text));
        }
        self.reserve(&project, "security_group_rule")?;
        let id = rule.meta.id.clone();
        self.rules.insert(id.clone(), rule);
        if let Some(group) = self.groups.get_mut(&group_id) {
            group.meta.touch(mint.now);
        }
        Ok(id)
    }

    /// Deletes a rule.
    ///
    /// # Errors
    /// 404.
    pub fn delete_rule(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
    ) -> Result<(), ApiError> {
        let group_id = self.rule(caller, id)?.group_id.clone();
        self.rules.shift_remove(id);
        if let Some(group) = self.groups.get_mut(&group_id) {
            group.meta.touch(mint.now);
        }
        Ok(())
    }
}

fn same_rule(left: &Rule, right: &Rule) -> bool {
    left.group_id == right.group_id
        && left.direction == right.direction
        && left.ethertype == right.ethertype
        && left.protocol == right.protocol
        && (left.port_min, left.port_max) == (right.port_min, right.port_max)
        && left.remote_prefix == right.remote_prefix
        && left.remote_group == right.remote_group
}

fn protocol(body: Attributes<'_>) -> Result<Option<String>, ApiError> {
    let text = match body.0.get("protocol") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.to_ascii_lowercase(),
        Some(other) => other.to_string(),
    };
    if matches!(text.as_str(), "any" | "") {
        return Ok(None);
    }
    if PROTOCOLS.contains(&text.as_str()) || text.parse::<u8>().is_ok() {
        return Ok(Some(text));
    }
    let known: Vec<String> = PROTOCOLS
        .iter()
        .filter(|p| !p.is_empty())
        .map(|p| format!("'{p}'"))
        .collect();
    let text = format!(
        "Security group rule protocol {text} not supported. Only protocol values (None, {}) and integer representations [0 to \
         255] are supported.",
        known.join(", ")
    );
    Err(fault(400, "SecurityGroupRuleInvalidProtocol", text))
}

fn check_prefix(prefix: &str, ethertype: &str) -> Result<(), ApiError> {
    let range = prefix
        .parse::<IpNet>()
        .ok()
        .or_else(|| prefix.parse::<std::net::IpAddr>().ok().map(IpNet::from));
    let Some(range) = range else {
        let text = format!(
            "Invalid input for remote_ip_prefix. Reason: '{prefix}' is not a valid IP subnet."
        );
        return Err(fault(400, "HTTPBadRequest", text));
    };
    if range.addr().is_ipv4() != (ethertype == "IPv4") {
        let text = format!("Conflicting value ethertype {ethertype} for CIDR {prefix}");
        return Err(fault(400, "SecurityGroupRuleParameterConflict", text));
    }
    Ok(())
}
