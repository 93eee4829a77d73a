use std::net::IpAddr;

use magnum_core::{ClusterId, ClusterName, Labels, MemberId, ServerType};
use magnum_heat::hot::{Document, Files};

use super::*;
use crate::bootstrap::{Endpoint, NodeMember, NodeRole, NodeShared};
use crate::labels::{BalancingMethod, DriverLabels};
use crate::members::Names;
use crate::memo::{CloudFacts, GroupFacts, LoadBalancerChoice, NodeNetwork};

const ID: &str = "1a2b3c4d-0000-4000-8000-000000000001";

fn cluster() -> ClusterId {
    ID.parse().unwrap()
}

fn names() -> Names {
    Names::new(&ClusterName::new("prod").unwrap(), cluster())
}

fn labels(text: &str) -> DriverLabels {
    DriverLabels::read(&text.parse::<Labels>().unwrap()).unwrap()
}

fn facts(network: NodeNetwork, provider: Option<&str>, label_text: &str) -> CloudFacts {
    CloudFacts {
        external_network: Some("ext-id".into()),
        network,
        load_balancer: provider.map(|provider| LoadBalancerChoice {
            provider: Some(provider.to_owned()),
            method: if provider == "ovn" {
                BalancingMethod::SourceIpPort
            } else {
                BalancingMethod::RoundRobin
            },
        }),
        floating_ip: true,
        labels: labels(label_text),
        region: Some("RegionOne".into()),
    }
}

fn given(port_security: bool) -> NodeNetwork {
    NodeNetwork::Given {
        network: "net-id".into(),
        subnet: "subnet-id".into(),
        cidr: "172.16.0.0/24".parse().unwrap(),
        port_security,
        mtu: Some(1500),
    }
}

fn infrastructure(facts: &CloudFacts, virtual_control_plane: bool) -> Document {
    let dns: [IpAddr; 1] = ["8.8.8.8".parse().unwrap()];
    render_infrastructure(&InfrastructureInput {
        names: &names(),
        mark: &Mark::of(cluster()),
        facts,
        nodes: "10.0.0.0/24".parse().unwrap(),
        network_driver: "flannel",
        dns_nameservers: &dns,
        virtual_control_plane,
    })
    .unwrap()
}

fn kinds(document: &Document) -> Vec<String> {
    document
        .resources()
        .values()
        .map(|resource| resource["type"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn infrastructure_with_a_network_of_its_own() {
    let facts = facts(NodeNetwork::Made, Some("ovn"), "");
    insta::assert_json_snapshot!(infrastructure(&facts, true));
}

#[test]
fn nl_05_a_given_subnet_wins_and_nothing_is_made_for_it() {
    let document = infrastructure(&facts(given(true), Some("amphora"), ""), true);
    let kinds = kinds(&document);
    for kind in ["Net", "Subnet", "Router", "RouterInterface"] {
        assert!(!kinds.contains(&format!("OS::Neutron::{kind}")), "{kind}");
    }
    assert_eq!(document.to_json()["outputs"]["cidr"]["value"], "172.16.0.0/24");
    assert_eq!(
        document.to_json()["resources"]["api_load_balancer"]["properties"]["vip_subnet"],
        "subnet-id"
    );
}

#[test]
fn bm_02_no_security_groups_on_networks_without_port_security() {
    let document = infrastructure(&facts(given(false), Some("ovn"), ""), false);
    assert!(!kinds(&document).contains(&"OS::Neutron::SecurityGroup".to_owned()));
    assert!(!kinds(&document).contains(&"OS::Nova::ServerGroup".to_owned()));
}

#[test]
fn nl_07_every_pool_has_a_monitor_that_its_provider_can_do() {
    let monitor = |provider| {
        infrastructure(&facts(NodeNetwork::Made, Some(provider), ""), true).to_json()["resources"]
            ["api_monitor"]["properties"]
            .clone()
    };
    let ovn = monitor("ovn");
    assert_eq!(ovn["type"], "TCP");
    for field in ["url_path", "expected_codes", "http_method"] {
        assert!(ovn.get(field).is_none(), "{field}");
    }
    assert_eq!(monitor("amphora")["url_path"], "/readyz");
}

#[test]
fn nl_08_allowed_ranges_go_to_the_listener_or_to_the_nodes() {
    let text = "master_lb_allowed_cidrs=192.0.2.0/24";
    let amphora = infrastructure(&facts(NodeNetwork::Made, Some("amphora"), text), true).to_json();
    assert_eq!(
        amphora["resources"]["api_listener"]["properties"]["allowed_cidrs"],
        serde_json::json!(["10.0.0.0/24", "192.0.2.0/24"])
    );
    let ovn = infrastructure(&facts(NodeNetwork::Made, Some("ovn"), text), true).to_json();
    let listener = &ovn["resources"]["api_listener"]["properties"];
    assert!(listener.get("allowed_cidrs").is_none());
    let rules = ovn["resources"]["control_plane_group"]["properties"]["rules"].to_string();
    assert!(rules.contains("192.0.2.0/24") && !rules.contains("0.0.0.0/0"));
}

#[test]
fn without_a_load_balancer_a_port_holds_the_address() {
    let document = infrastructure(&facts(NodeNetwork::Made, None, ""), true);
    assert!(document.has_resource("api_port") && document.has_resource("api_floating_ip"));
    assert!(!document.has_resource("api_pool"));
}

fn group_facts(server_type: ServerType, label_text: &str) -> GroupFacts {
    GroupFacts {
        image: "image-id".into(),
        image_version: Some("v1.36.1".into()),
        flavor: "flavor-id".into(),
        server_type,
        keypair: Some("testkey".into()),
        labels: labels(label_text),
        server_group_members: 1,
    }
}

fn member_port(pool: Option<&str>) -> MemberPort {
    MemberPort::Own {
        network: "net-id".into(),
        subnet: "subnet-id".into(),
        security_group: Some("group-id".into()),
        pool: pool.map(str::to_owned),
    }
}

/// A document with the given members and its files.
fn group(facts: &GroupFacts, port: &MemberPort, ids: &[&str]) -> (Document, Files) {
    let mark = Mark::of(cluster());
    let servers = (facts.server_type == ServerType::Vm)
        .then_some(("prod-1a2b3c4d-gpu-0", "soft-anti-affinity"));
    let mut document = group_document(&mark, "gpu", servers).unwrap();
    let mut files = Files::new();
    for id in ids {
        add(&mut document, &mut files, facts, port, id);
    }
    (document, files)
}

fn add(document: &mut Document, files: &mut Files, facts: &GroupFacts, port: &MemberPort, id: &str) {
    let shared = NodeShared::new(
        cluster(),
        "gpu",
        "v1.36.1".parse().unwrap(),
        Endpoint::new("10.0.0.5", 6443),
        "10.0.0.0/24".parse().unwrap(),
        NodeRole::Worker,
    )
    .render()
    .unwrap();
    let id = MemberId::new(id);
    let name = format!("prod-gpu-{id}");
    let parameters = shared
        .parameters(&NodeMember {
            node_name: name.clone(),
            member_id: id.clone(),
            not_before: chrono::DateTime::UNIX_EPOCH,
            discovery: Some(magnum_certs::NodeFile::private(
                magnum_certs::DISCOVERY_PATH,
                format!("apiVersion: v1\nkind: Config\nusers: [{{name: 'system:node:{name}'}}]\n")
                    .into(),
            )),
        })
        .unwrap();
    add_member(
        document,
        MemberInput {
            id: &id,
            name: &name,
            group: "gpu",
            mark: &Mark::of(cluster()),
            facts,
            port,
            server_group: None,
            user_data_file: "shared.yaml",
            parameters: &parameters,
        },
        facts.server_group_members,
    )
    .unwrap();
    files.insert("shared.yaml", "text");
}

#[test]
fn a_virtual_worker() {
    let (document, _) = group(&group_facts(ServerType::Vm, ""), &member_port(None), &["7f2kq"]);
    insta::assert_json_snapshot!(document, {
        ".resources.server_7f2kq.properties.user_data.str_replace.params[\"%%DISCOVERY%%\"]" => "[credential]"
    });
}

#[test]
fn bm_01_a_physical_worker_has_no_volume_and_no_server_group() {
    let facts = group_facts(ServerType::BareMetal, "boot_volume_size=50");
    let (document, _) = group(&facts, &member_port(None), &["7f2kq"]);
    assert_eq!(
        kinds(&document),
        [
            "OS::Neutron::Port",
            "OS::Heat::WaitConditionHandle",
            "OS::Nova::Server"
        ]
    );
    let json = document.to_json();
    let server = &json["resources"]["server_7f2kq"]["properties"];
    assert_eq!(server["config_drive"], true);
    assert!(server.get("scheduler_hints").is_none() && server.get("block_device_mapping_v2").is_none());
    assert_eq!(
        json["resources"]["port_7f2kq"]["properties"]["binding:vnic_type"],
        "baremetal"
    );
}

#[test]
fn st_04_boot_volumes_are_separate_and_not_deleted_with_their_server() {
    let facts = group_facts(ServerType::Vm, "boot_volume_size=20,availability_zone=az2");
    let (document, _) = group(&facts, &member_port(None), &["7f2kq"]);
    let json = document.to_json();
    assert_eq!(
        json["resources"]["volume_7f2kq"]["properties"]["availability_zone"],
        "az2"
    );
    let server = &json["resources"]["server_7f2kq"]["properties"];
    assert_eq!(
        server["block_device_mapping_v2"][0]["delete_on_termination"],
        false
    );
    assert!(server.get("image").is_none());
    let (plain, _) = group(&group_facts(ServerType::Vm, ""), &member_port(None), &["7f2kq"]);
    assert!(!plain.to_text().contains("Cinder"));
}

#[test]
fn a_control_plane_member_joins_the_pool_by_its_ports_address() {
    let (document, _) = group(
        &group_facts(ServerType::Vm, ""),
        &member_port(Some("pool-id")),
        &["7f2kq"],
    );
    assert_eq!(
        document.to_json()["resources"]["member_7f2kq"]["properties"]["address"],
        serde_json::json!({"get_attr": ["port_7f2kq", "fixed_ips", 0, "ip_address"]})
    );
}

#[test]
fn up_06_adding_and_removing_members_keeps_the_others_byte_for_byte() {
    let facts = group_facts(ServerType::Vm, "");
    let port = member_port(None);
    let (old, files) = group(&facts, &port, &["aaaaa", "bbbbb"]);
    let (mut new, mut new_files) = (old.clone(), files.clone());
    let mut named: std::collections::BTreeSet<String> =
        remove_member(&mut new, &MemberId::new("aaaaa")).unwrap().into_iter().collect();
    add(&mut new, &mut new_files, &facts, &port, "ccccc");
    named.extend(member_resources(&new, &MemberId::new("ccccc")));
    crate::stack_ops::prove_edit("s", (&old, &files), (&new, &new_files), &named).unwrap();
    assert_eq!(members_of(&new).len(), 2);
    // The server group has room for one member here: the one that left made room again.
    let joined = new.to_text().matches("scheduler_hints").count();
    assert_eq!(joined, 1);
}
