//! Whether an image and a flavor are fit for nodes.

use magnum_core::{KubeVersion, Problems, ServerType};
use magnum_heat::services::glance::Image;
use magnum_heat::services::nova::Flavor;

/// Checks an image: usable, of the wanted distribution, and carrying the wanted Kubernetes version where it says which (rule `TV-10`).
pub fn check_image(
    image: &Image,
    field: &str,
    distro: &str,
    wanted: &KubeVersion,
    problems: &mut Problems,
) {
    let name = image.name.as_deref().unwrap_or(&image.id);
    if !image.is_active() {
        problems.add(
            field,
            name,
            format!("must be active, it is {}", image.status),
        );
    }
    match image.property("os_distro") {
        None => problems.add(
            field,
            name,
            "must have the property os_distro, which names its operating system",
        ),
        Some(has) if has != distro => problems.add(
            field,
            name,
            format!("must be of the distribution {distro}, its os_distro is {has}"),
        ),
        Some(_) => {}
    }
    if let Some(has) = image.property("kube_version") {
        match has.parse::<KubeVersion>() {
            Ok(version) if version == *wanted => {}
            Ok(version) => problems.add(
                field,
                name,
                format!("must carry Kubernetes {wanted}, its kube_version is {version}"),
            ),
            Err(_) => problems.add(
                field,
                name,
                format!("must have a kube_version such as v1.36.1, it has {has:?}"),
            ),
        }
    }
}

/// Checks a flavor: a disk for virtual machines (rule `TV-03`), one resource class and no counted resources for bare metal (rule `BM-05`).
pub fn check_flavor(
    flavor: &Flavor,
    field: &str,
    server_type: ServerType,
    boot_volume_size: u32,
    problems: &mut Problems,
) {
    if server_type == ServerType::Vm {
        if flavor.disk == 0 && boot_volume_size == 0 {
            problems.add(
                field,
                &flavor.name,
                "has no disk: set the label boot_volume_size or choose another flavor",
            );
        }
        if flavor.resource_class().is_some() {
            problems.add(
                field,
                &flavor.name,
                "is for bare metal: set the server type bm or choose another flavor",
            );
        }
        return;
    }
    let classes = flavor
        .extra_specs
        .iter()
        .filter(|(key, amount)| key.starts_with("resources:CUSTOM_") && *amount != "0")
        .count();
    if classes != 1 {
        problems.add(
            field,
            &flavor.name,
            "must ask for exactly one resource class (extra spec resources:CUSTOM_<CLASS>=1) for bare metal",
        );
    }
    for resource in ["VCPU", "MEMORY_MB", "DISK_GB"] {
        let key = format!("resources:{resource}");
        if flavor.extra_specs.get(&key).map(String::as_str) != Some("0") {
            problems.add(
                field,
                &flavor.name,
                format!("must have the extra spec {key}=0 for bare metal"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flavor(disk: u64, specs: &serde_json::Value) -> Flavor {
        serde_json::from_value(json!({
            "id": "f", "name": "f", "vcpus": 2, "ram": 2048, "disk": disk, "extra_specs": specs
        }))
        .unwrap()
    }

    fn count(flavor: &Flavor, server_type: ServerType, boot: u32) -> usize {
        let mut problems = Problems::new();
        check_flavor(flavor, "flavor", server_type, boot, &mut problems);
        problems.len()
    }

    #[test]
    fn tv_03_a_disk_or_a_boot_volume() {
        assert_eq!(count(&flavor(0, &json!({})), ServerType::Vm, 0), 1);
        assert_eq!(count(&flavor(0, &json!({})), ServerType::Vm, 20), 0);
        assert_eq!(count(&flavor(20, &json!({})), ServerType::Vm, 0), 0);
    }

    #[test]
    fn bm_05_one_class_and_nothing_counted() {
        let good = json!({
            "resources:CUSTOM_GOLD": "1", "resources:VCPU": "0",
            "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"
        });
        assert_eq!(count(&flavor(0, &good), ServerType::BareMetal, 0), 0);
        assert_eq!(count(&flavor(0, &json!({})), ServerType::BareMetal, 0), 4);
        assert_eq!(count(&flavor(10, &good), ServerType::Vm, 0), 1);
    }

    #[test]
    fn tv_10_image_problems_name_the_image() {
        let check = |value: serde_json::Value| {
            let image: Image = serde_json::from_value(value).unwrap();
            let mut problems = Problems::new();
            check_image(
                &image,
                "image",
                "ubuntu",
                &"v1.36.1".parse().unwrap(),
                &mut problems,
            );
            problems
        };
        let good = json!({"id": "i", "name": "u", "status": "active", "os_distro": "ubuntu", "kube_version": "v1.36.1"});
        assert!(check(good).is_empty());
        let bad =
            check(json!({"id": "i", "name": "u", "status": "queued", "kube_version": "v1.35.0"}));
        assert_eq!(bad.len(), 3);
        assert!(bad.iter().all(|problem| problem.value == "u"));
    }
}
