use magnum_core::ClusterId;
use uuid::Uuid;

use super::super::values::{CloudCredential, LoadBalancerOptions};
use super::*;

fn values() -> AddonValues {
    let id = ClusterId::from_uuid(Uuid::from_u128(0x5eed));
    let mut values = AddonValues::new(
        id,
        "v1.36.1".parse().unwrap(),
        Cni::Flannel,
        "10.100.0.0/16".parse().unwrap(),
    );
    values.network_mtu = Some(1442);
    values.cloud = Some(CloudAccess {
        auth_url: "http://cloud.example.org/identity/v3".into(),
        region: "RegionOne".into(),
        credential: CloudCredential::ApplicationCredential {
            id: "i".into(),
            secret: "hunter2".to_owned().into(),
        },
        ca: None,
        internal_network_name: None,
        public_network_name: None,
        load_balancer: Some(LoadBalancerOptions {
            provider: "ovn".into(),
            floating_network_id: None,
            subnet_id: "s".into(),
        }),
    });
    values.cinder = true;
    values.metrics = true;
    values
}

fn addon(values: &AddonValues, name: &str) -> Addon {
    BuiltinAddons
        .addons(values)
        .unwrap()
        .into_iter()
        .find(|addon| addon.name == name)
        .unwrap()
}

fn object<'a>(addon: &'a Addon, kind: &str, name: &str) -> &'a Value {
    addon
        .objects
        .iter()
        .find(|each| each["kind"] == kind && each["metadata"]["name"] == name)
        .unwrap()
}

#[test]
fn the_bundle_renders_for_every_minor_in_order_of_phases() {
    for minor in super::super::supported_minors() {
        let mut values = values();
        values.kubernetes = format!("v{minor}.0").parse().unwrap();
        let addons = BuiltinAddons.addons(&values).unwrap();
        let names: Vec<&str> = addons.iter().map(|addon| addon.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "flannel",
                "openstack-cloud-controller-manager",
                "cinder-csi",
                "metrics-server"
            ]
        );
        assert!(addons.is_sorted_by_key(|addon| addon.phase));
        for addon in &addons {
            assert!(
                !addon.images.is_empty() && !addon.readiness.is_empty(),
                "{addon:?}"
            );
            let component =
                super::super::components::component(&addon.name, &values.kubernetes).unwrap();
            let mut listed: Vec<String> = component.images.values().cloned().collect();
            listed.sort();
            assert_eq!(
                addon.images, listed,
                "the image list is what the manifests use"
            );
        }
    }
}

#[test]
fn flannel_snapshot() {
    insta::assert_snapshot!(addon(&values(), "flannel").to_yaml().unwrap());
}

#[test]
fn cloud_controller_manager_snapshot() {
    insta::assert_snapshot!(
        addon(&values(), "openstack-cloud-controller-manager")
            .to_yaml()
            .unwrap()
    );
}

#[test]
fn flannel_gets_range_and_mtu_of_the_network() {
    let flannel = addon(&values(), "flannel");
    let config = object(&flannel, "ConfigMap", "kube-flannel-cfg")["data"]["net-conf.json"]
        .as_str()
        .unwrap();
    let config: Value = serde_json::from_str(config).unwrap();
    assert_eq!(config["Network"], "10.100.0.0/16");
    assert_eq!(config["Backend"], json!({"Type": "vxlan", "MTU": 1442}));
    assert_eq!(
        flannel.references().last().unwrap().to_string(),
        "DaemonSet kube-flannel/kube-flannel-ds"
    );
    assert_eq!(flannel.references()[0].kind, "Namespace");
    let small = AddonValues {
        network_mtu: Some(100),
        ..values()
    };
    assert!(
        BuiltinAddons
            .addons(&small)
            .unwrap_err()
            .to_string()
            .contains("MTU of 100")
    );
}

#[test]
fn a_new_credential_restarts_the_cloud_provider() {
    let annotation = |values: &AddonValues| {
        let addon = addon(values, "openstack-cloud-controller-manager");
        let set = object(&addon, "DaemonSet", "openstack-cloud-controller-manager");
        set["spec"]["template"]["metadata"]["annotations"]["magnum.openstack.org/config-hash"]
            .clone()
    };
    let before = values();
    let mut after = values();
    after.cloud.as_mut().unwrap().credential = CloudCredential::ApplicationCredential {
        id: "j".into(),
        secret: "other".to_owned().into(),
    };
    assert_eq!(annotation(&before), annotation(&before));
    assert_ne!(annotation(&before), annotation(&after));
}

#[test]
fn ms_03_without_cloud_access_there_is_no_cloud_provider() {
    let mut values = values();
    values.cloud = None;
    let error = BuiltinAddons.addons(&values).unwrap_err();
    assert!(matches!(error, AddonError::Unsupported { .. }));
    values.cinder = false;
    let names: Vec<String> = BuiltinAddons
        .addons(&values)
        .unwrap()
        .into_iter()
        .map(|addon| addon.name)
        .collect();
    assert_eq!(names, ["flannel", "metrics-server"]);
}

#[test]
fn networks_without_manifests_are_refused_and_none_is_none() {
    for cni in [Cni::Calico, Cni::Cilium] {
        let error = BuiltinAddons
            .addons(&AddonValues { cni, ..values() })
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("CNI {cni} is not supported")),
            "{error}"
        );
    }
    let addons = BuiltinAddons
        .addons(&AddonValues {
            cni: Cni::None,
            ..values()
        })
        .unwrap();
    assert!(
        addons
            .iter()
            .all(|addon| addon.phase != AddonPhase::Network)
    );
    let v6 = AddonValues {
        pod_cidr: "fd00::/56".parse().unwrap(),
        ..values()
    };
    assert!(matches!(
        BuiltinAddons.addons(&v6),
        Err(AddonError::Unsupported { .. })
    ));
}

#[test]
fn images_come_from_the_given_place() {
    let values = AddonValues {
        image_prefix: Some("r.example.org/m/".into()),
        ..values()
    };
    for addon in BuiltinAddons.addons(&values).unwrap() {
        assert!(
            addon
                .images
                .iter()
                .all(|image| image.starts_with("r.example.org/m/")),
            "{:?}",
            addon.images
        );
    }
}

#[test]
fn kubelets_without_certificates_cannot_be_verified() {
    let text = |values: &AddonValues| addon(values, "metrics-server").to_yaml().unwrap();
    assert!(text(&values()).contains("--kubelet-certificate-authority="));
    let values = AddonValues {
        serving_certificates: false,
        ..values()
    };
    assert!(text(&values).contains("--kubelet-insecure-tls"));
}

#[test]
fn ms_04_the_credential_shows_in_no_debug_text() {
    let values = values();
    let addons = BuiltinAddons.addons(&values).unwrap();
    let encoded = STANDARD.encode("hunter2");
    for text in [format!("{values:?}"), format!("{addons:?}")] {
        assert!(
            !text.contains("hunter2") && !text.contains(&encoded),
            "{text}"
        );
    }
}
