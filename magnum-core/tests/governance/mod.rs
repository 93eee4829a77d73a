//! Templates with versions, deprecation and rules for what users may set; quotas of vCPUs, memory and node groups; settings of the operator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::{MemoryStore, Quota};
use magnum_core::{
    ClusterName, ClusterTemplatePatch, Deprecation, Engine, EngineConfig, Error, EventKind,
    FlavorSize, Labels, NewCluster, NewClusterTemplate, NewNodeGroup, NewTemplateVersion,
    NodeGroupName, OverrideRule, Overrides, ProjectId, RequestContext, Resize, SimulatedClock,
    TemplateName, TemplateSpec, Upgrade,
};

use crate::bench_engine::{Bench, Reversing, finished, template};

fn spec() -> TemplateSpec {
    let mut spec = TemplateSpec::new("ubuntu", "m1.small");
    spec.external_network = Some("public".to_owned());
    spec
}

fn new(name: &str, template: &str) -> NewCluster {
    NewCluster::new(ClusterName::new(name).unwrap(), template)
}

fn version(tag: Option<&str>) -> NewTemplateVersion {
    NewTemplateVersion {
        spec: spec(),
        tag: tag.map(str::to_owned),
        deprecate_previous: None,
    }
}

fn fields<T: std::fmt::Debug>(result: Result<T, Error>) -> Vec<String> {
    let Err(Error::Invalid(problems)) = result else {
        panic!("{result:?}")
    };
    problems.iter().map(|p| p.field.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn versions_of_a_template_have_numbers_tags_and_a_latest() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    template(engine, cx).await;
    let first = engine.cluster_template(cx, "small").await.unwrap();
    let mut second = version(Some("2026-q4"));
    second.spec.flavor = "m1.large".to_owned();
    second.deprecate_previous = Some("larger nodes".to_owned());
    let second = engine
        .publish_template_version(cx, "small", second)
        .await
        .unwrap();
    assert_eq!((second.version, second.lineage()), (2, first.id));
    for (key, id) in [
        ("small", second.id),
        ("small:2026-q4", second.id),
        ("small:v2", second.id),
        ("small:v1", first.id),
        (&first.id.to_string(), first.id),
    ] {
        assert_eq!(
            engine.cluster_template(cx, key).await.unwrap().id,
            id,
            "{key}"
        );
    }
    let old = engine.cluster_template(cx, "small:v1").await.unwrap();
    assert_eq!(old.deprecation.unwrap().successor, Some(second.id));
    let taken = engine.publish_template_version(cx, "small", version(Some("2026-q4")));
    assert!(matches!(taken.await, Err(Error::NameTaken { .. })));
    let number = engine.publish_template_version(cx, "small", version(Some("v9")));
    assert_eq!(fields(number.await), ["tag"]);
    let other = RequestContext::new("other", "bob");
    let foreign = engine.publish_template_version(&other, "small", version(None));
    assert!(matches!(foreign.await, Err(Error::NotFound { .. })));
    // Publishers at the same time get different numbers.
    let many =
        join_all((0..5).map(|_| engine.publish_template_version(cx, "small", version(None))));
    let mut numbers: Vec<_> = many.await.into_iter().map(|v| v.unwrap().version).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [3, 4, 5, 6, 7]);
    assert_eq!(
        engine
            .template_versions(cx, "small:v4")
            .await
            .unwrap()
            .len(),
        7
    );
}

#[tokio::test(start_paused = true)]
async fn a_deprecated_template_warns_and_a_closed_one_refuses() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    template(engine, cx).await;
    let deprecation = |closed| ClusterTemplatePatch {
        deprecation: Some(Deprecation {
            message: "end of life in May".to_owned(),
            successor: None,
            closed,
        }),
        ..ClusterTemplatePatch::default()
    };
    let own = engine.cluster_template(cx, "small").await.unwrap().id;
    let mut to_itself = deprecation(false);
    to_itself.deprecation.as_mut().unwrap().successor = Some(own);
    let refused = engine.update_cluster_template(cx, "small", to_itself).await;
    assert_eq!(fields(refused), ["deprecation.successor"]);
    engine
        .update_cluster_template(cx, "small", deprecation(false))
        .await
        .unwrap();
    let created = engine.create_cluster(cx, new("a", "small")).await.unwrap();
    let events = engine.events(cx, 0, 1000).await.unwrap();
    let warned = events.iter().any(|event| {
        matches!(&event.kind, EventKind::Warning { text } if text.contains("end of life in May"))
    });
    assert!(warned, "{events:?}");
    engine
        .update_cluster_template(cx, "small", deprecation(true))
        .await
        .unwrap();
    assert_eq!(
        fields(engine.create_cluster(cx, new("b", "small")).await),
        ["template"]
    );
    // What was made from it lives on.
    finished(engine, cx, created.operation.id).await;
    let grown = engine.resize(cx, "a", Resize::to(2)).await.unwrap();
    finished(engine, cx, grown.operation.id).await;
    let lift = ClusterTemplatePatch {
        lift_deprecation: true,
        ..ClusterTemplatePatch::default()
    };
    engine
        .update_cluster_template(cx, "small", lift)
        .await
        .unwrap();
    engine.create_cluster(cx, new("b", "small")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn template_changes_never_reach_running_clusters() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    let created = bench.create("prod", 1, 1).await;
    finished(engine, cx, created.operation.id).await;
    let before = engine.cluster(cx, "prod").await.unwrap();
    let mut changed = spec();
    changed.flavor = "m1.huge".to_owned();
    changed.image = "debian".to_owned();
    changed.overrides = Overrides::new().with(
        "node_count",
        OverrideRule::Range {
            min: None,
            max: Some(1),
        },
    );
    let patch = ClusterTemplatePatch {
        spec: Some(changed),
        ..ClusterTemplatePatch::default()
    };
    engine
        .update_cluster_template(cx, "small", patch)
        .await
        .unwrap();
    let grown = engine.resize(cx, "prod", Resize::to(3)).await.unwrap();
    finished(engine, cx, grown.operation.id).await;
    let after = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(after.spec, before.spec);
    let worker = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert_eq!(worker.spec.flavor, "m1.small");
}

#[tokio::test(start_paused = true)]
async fn what_users_may_set_is_the_templates_word_for_the_clusters_whole_life() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    let mut spec = spec();
    spec.labels = Labels::new()
        .with("audit_log", "on")
        .with("etcd_volume_size", "10");
    spec.overrides = Overrides::new()
        .with(
            "flavor",
            OverrideRule::OneOf(["m1.large".to_owned()].into()),
        )
        .with("image", OverrideRule::Locked)
        .with("keypair", OverrideRule::Locked)
        .with("labels.audit_log", OverrideRule::Locked)
        .with(
            "labels.etcd_volume_size",
            OverrideRule::Range {
                min: Some(10),
                max: Some(50),
            },
        )
        .with(
            "node_count",
            OverrideRule::Range {
                min: Some(1),
                max: Some(3),
            },
        );
    let wrong = NewClusterTemplate {
        name: TemplateName::new("wrong").unwrap(),
        spec: {
            let mut wrong = spec.clone();
            wrong.overrides = wrong.overrides.with("colour", OverrideRule::Locked);
            wrong
        },
        public: false,
        hidden: false,
    };
    let refused = engine.create_cluster_template(cx, wrong).await;
    assert_eq!(fields(refused), ["overrides.colour"]);
    let governed = NewClusterTemplate {
        name: TemplateName::new("governed").unwrap(),
        spec,
        public: false,
        hidden: false,
    };
    engine.create_cluster_template(cx, governed).await.unwrap();
    let mut asked = new("x", "governed");
    asked.node_count = 9;
    asked.flavor = Some("m1.tiny".to_owned());
    asked.keypair = Some("mine".to_owned());
    asked.labels = Some(Labels::new().with("etcd_volume_size", "99"));
    let named = fields(engine.create_cluster(cx, asked).await);
    assert_eq!(
        named,
        [
            "node_count",
            "keypair",
            "flavor",
            "labels.etcd_volume_size",
            "labels.audit_log"
        ]
    );
    let mut asked = new("x", "governed");
    asked.flavor = Some("m1.large".to_owned());
    asked.labels = Some(Labels::new().with("etcd_volume_size", "20"));
    asked.merge_labels = true;
    let created = engine.create_cluster(cx, asked).await.unwrap();
    finished(engine, cx, created.operation.id).await;
    assert_eq!(
        fields(engine.resize(cx, "x", Resize::to(4)).await),
        ["node_count"]
    );
    let mut group = NewNodeGroup::new(NodeGroupName::new("gpu").unwrap());
    group.image = Some("debian".to_owned());
    group.node_count = 5;
    let refused = engine.create_node_group(cx, "x", group).await;
    assert_eq!(fields(refused), ["node_count", "image"]);
    let upgrade = Upgrade::to_version("v1.36.2".parse().unwrap(), "debian");
    assert_eq!(fields(engine.upgrade(cx, "x", upgrade).await), ["image"]);
}

#[tokio::test(start_paused = true)]
async fn a_hidden_template_of_another_project_looks_absent() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    template(engine, cx).await;
    let admin = RequestContext::new("ops", "root").as_admin();
    let patch = |public, hidden| ClusterTemplatePatch {
        public: Some(public),
        hidden: Some(hidden),
        ..ClusterTemplatePatch::default()
    };
    engine
        .update_cluster_template(&admin, "small", patch(true, true))
        .await
        .unwrap();
    let other = RequestContext::new("other", "bob");
    assert!(engine.cluster_templates(&other).await.unwrap().is_empty());
    let found = engine.cluster_template(&other, "small").await;
    assert!(matches!(found, Err(Error::NotFound { .. })));
    assert!(
        engine
            .create_cluster(&other, new("x", "small"))
            .await
            .is_err()
    );
    engine.cluster_template(cx, "small").await.unwrap();
    engine.cluster_template(&admin, "small").await.unwrap();
}

fn engine_with(flavors: &[(&str, u32, u64)], config: EngineConfig) -> Engine {
    let sizes: BTreeMap<String, FlavorSize> = flavors
        .iter()
        .map(|(name, vcpus, ram_mib)| {
            let (vcpus, ram_mib) = (*vcpus, *ram_mib);
            ((*name).to_owned(), FlavorSize { vcpus, ram_mib })
        })
        .collect();
    let start = chrono::DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    Engine::builder()
        .store(Arc::new(MemoryStore::new()))
        .sealer(Arc::new(Reversing))
        .driver(Arc::new(MemoryDriver::new(MemoryCloud::new())))
        .flavors(Arc::new(sizes))
        .clock(Arc::new(SimulatedClock::new(start, 3)))
        .config(config)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn ms_07_vcpus_memory_and_node_groups_are_counted_and_zero_is_zero() {
    let engine = engine_with(&[("m1.small", 2, 2048)], EngineConfig::default());
    let cx = RequestContext::new("demo", "alice");
    let admin = RequestContext::new("ops", "root").as_admin();
    let project = ProjectId::new("demo");
    template(&engine, &cx).await;
    let try_with = async |quota: Quota, name: &str| {
        engine
            .set_quota(&admin, &project, Some(quota))
            .await
            .unwrap();
        engine.create_cluster(&cx, new(name, "small")).await
    };
    let none = Quota::default();
    for (quota, resource) in [
        (
            Quota {
                vcpus: Some(3),
                ..none
            },
            "vCPUs",
        ),
        (
            Quota {
                vcpus: Some(0),
                ..none
            },
            "vCPUs",
        ),
        (
            Quota {
                ram_mib: Some(4095),
                ..none
            },
            "MiB of memory",
        ),
        (
            Quota {
                node_groups: Some(1),
                ..none
            },
            "node groups",
        ),
        (
            Quota {
                nodes: Some(0),
                ..none
            },
            "nodes",
        ),
    ] {
        let Err(Error::QuotaReached {
            resource: named, ..
        }) = try_with(quota, "a").await
        else {
            panic!("{quota:?} is too small")
        };
        assert_eq!(named, resource);
    }
    let enough = Quota {
        vcpus: Some(6),
        ram_mib: Some(4096),
        node_groups: Some(2),
        ..none
    };
    let created = try_with(enough, "a").await.unwrap();
    let usage = engine.quota(&cx, &project).await.unwrap().1;
    assert_eq!(
        (usage.vcpus, usage.ram_mib, usage.node_groups),
        (4, 4096, 2)
    );
    while engine.run_due().await.unwrap() > 0 {
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    finished(&engine, &cx, created.operation.id).await;
    let memory = engine.resize(&cx, "a", Resize::to(2)).await.unwrap_err();
    assert!(memory.to_string().contains("memory"), "{memory}");
    engine.resize(&cx, "a", Resize::to(0)).await.unwrap();
    let mut unknown = new("b", "small");
    unknown.flavor = Some("m1.unknown".to_owned());
    engine
        .set_quota(
            &admin,
            &project,
            Some(Quota {
                vcpus: Some(99),
                ..none
            }),
        )
        .await
        .unwrap();
    assert_eq!(
        fields(engine.create_cluster(&cx, unknown).await),
        ["flavor", "flavor"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_operators_settings_hold_for_new_templates_and_clusters() {
    let mut config = EngineConfig::default();
    config.allowed_network_drivers = vec!["calico".to_owned()];
    config.reserved_ranges = vec!["10.0.0.0/16".parse().unwrap()];
    config.strict_labels = false;
    let engine = engine_with(&[], config);
    let cx = RequestContext::new("demo", "alice");
    let asked = |driver: &str, labels: Labels| {
        let mut spec = spec();
        spec.network_driver = driver.to_owned();
        spec.labels = labels;
        NewClusterTemplate {
            name: TemplateName::new("t").unwrap(),
            spec,
            public: false,
            hidden: false,
        }
    };
    let labels = Labels::new().with("service_cluster_ip_range", "10.0.128.0/17");
    let refused = engine
        .create_cluster_template(&cx, asked("flannel", labels))
        .await;
    assert_eq!(fields(refused), ["services range", "network_driver"]);
    let made = engine
        .create_cluster_template(&cx, asked("calico", Labels::new()))
        .await;
    made.unwrap();
    let created = engine.create_cluster(&cx, new("x", "t")).await.unwrap();
    assert_eq!(
        created.cluster.network.nodes.to_string(),
        "10.1.0.0/24",
        "a default range moves out of the way"
    );
    let mut wrong = EngineConfig::default();
    wrong.disabled_drivers = vec!["none-such".to_owned()];
    let built = Engine::builder()
        .store(Arc::new(MemoryStore::new()))
        .sealer(Arc::new(Reversing))
        .driver(Arc::new(MemoryDriver::new(MemoryCloud::new())))
        .config(wrong)
        .build();
    assert_eq!(fields(built), ["disabled_drivers"], "OP-05");
}
