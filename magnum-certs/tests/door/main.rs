//! The door on an engine: project isolation, who may have what, nothing unrecorded.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use magnum_certs::{
    Authority, AuthorityKind, Certificate, Certificates, ClusterPki, CsrProblem, Envelope, Error,
    ExecPlugin, IssuedQuery, KeyAlgorithm, MagnumSigningPolicy, PkiOptions, Profile,
    RevocationReason, SealingKey, UserAuth,
};
use magnum_core::driver::{
    Advance, Capabilities, Capability, Change, ClusterDriver, ClusterView, DriverContext,
    DriverError, DriverSelector, Leftover, Plan,
};
use magnum_core::store::MemoryStore;
use magnum_core::{
    ClusterFacts, ClusterName, Engine, Health, ManualClock, Member, NewCluster, NewClusterTemplate,
    NodeGroupId, Problems, RequestContext, Retry, ServerType, TemplateName, TemplateSpec,
};
use rcgen::{CertificateParams, DnType, KeyPair};

mod expiry;

fn start() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
}

/// Makes the keys and an address, and nothing else.
#[derive(Debug)]
struct KeysOnly;

#[async_trait]
impl ClusterDriver for KeysOnly {
    fn name(&self) -> &str {
        "keys-only"
    }

    fn selectors(&self) -> Vec<DriverSelector> {
        vec![DriverSelector {
            server_type: ServerType::Vm,
            distro: "ubuntu".into(),
            coe: "kubernetes".into(),
        }]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::CreateDelete])
    }

    fn default_timeout(&self, _: &ClusterView, _: &Change) -> Duration {
        Duration::from_secs(3600)
    }

    fn validate(&self, _: &ClusterView, _: &Change) -> Result<(), Problems> {
        Ok(())
    }

    fn plan(&self, _: &ClusterView, _: &Change) -> Plan {
        Plan::default()
    }

    async fn preflight(&self, _: &ClusterView, _: &Change) -> Result<(), DriverError> {
        Ok(())
    }

    async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        _: &Change,
    ) -> Result<Advance, DriverError> {
        let made = ClusterPki::load_or_create(
            &**cx.secrets(),
            view.cluster.id,
            PkiOptions::default(),
            cx.now(),
        )
        .await;
        made.unwrap();
        let facts = ClusterFacts {
            api_address: Some("https://[2001:db8::1]:6443".into()),
            ..view.cluster.facts.clone()
        };
        cx.report_facts(&facts).await?;
        Ok(Advance::Done)
    }

    async fn members(
        &self,
        _: &DriverContext,
        _: &ClusterView,
        _: NodeGroupId,
    ) -> Result<Vec<Member>, DriverError> {
        Ok(Vec::new())
    }

    async fn probe_health(
        &self,
        _: &DriverContext,
        _: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError> {
        Ok((Health::Unknown, None))
    }

    async fn leftovers(&self, _: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
        Ok(Vec::new())
    }
}

struct World {
    engine: Engine,
    clock: Arc<ManualClock>,
    certificates: Certificates,
}

/// An engine with the cluster `my.cluster` of project `p`, made by user `alice`; its creation has not run yet.
async fn accepted() -> World {
    let clock = Arc::new(ManualClock::new(start(), 7));
    let engine = Engine::builder()
        .store(Arc::new(MemoryStore::new()))
        .sealer(Arc::new(Envelope::new(SealingKey::generate().unwrap())))
        .driver(Arc::new(KeysOnly))
        .clock(Arc::clone(&clock) as _)
        .build()
        .unwrap();
    let mut spec = TemplateSpec::new("image", "flavor");
    spec.external_network = Some("public".into());
    spec.labels = spec.labels.with("kube_tag", "v1.36.1");
    let template = NewClusterTemplate {
        name: TemplateName::new("t").unwrap(),
        spec,
        public: false,
        hidden: false,
    };
    engine
        .create_cluster_template(&alice(), template)
        .await
        .unwrap();
    engine
        .create_cluster(
            &alice(),
            NewCluster::new(ClusterName::new("my.cluster").unwrap(), "t"),
        )
        .await
        .unwrap();
    let certificates = Certificates::new(&engine).with_clock(Arc::clone(&clock) as _);
    World {
        engine,
        clock,
        certificates,
    }
}

async fn created() -> World {
    let world = accepted().await;
    for _ in 0..50 {
        world.engine.run_due().await.unwrap();
        world.clock.advance(Duration::from_secs(5));
        let cluster = world.engine.cluster(&alice(), "my.cluster").await.unwrap();
        if cluster.status.to_string() == "CREATE_COMPLETE" {
            return world;
        }
    }
    panic!(
        "{:?}",
        world.engine.cluster(&alice(), "my.cluster").await.unwrap()
    );
}

fn alice() -> RequestContext {
    RequestContext::new("p", "alice")
}

fn admin_of(user: &str) -> Profile {
    Profile::Admin { user: user.into() }
}

fn csr(user: &str, group: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, group);
    params.distinguished_name.push(DnType::CommonName, user);
    params
        .serialize_request(&KeyPair::generate().unwrap())
        .unwrap()
        .pem()
        .unwrap()
}

#[tokio::test]
async fn ck_04_ck_11_a_kubeconfig_of_the_cluster() {
    let World {
        certificates,
        clock,
        ..
    } = created().await;
    let certificates = certificates.with_proxy("http://127.0.0.1:3128".parse().unwrap());
    let config = certificates
        .kubeconfig(&alice(), "my.cluster", &admin_of("alice"), None)
        .await
        .unwrap();
    config.validate().unwrap();
    let (cluster, user) = config.current().unwrap();
    assert_eq!(cluster.server, "https://[2001:db8::1]:6443");
    assert_eq!(cluster.proxy_url.as_deref(), Some("http://127.0.0.1:3128"));
    let trust = certificates
        .ca(&alice(), "my.cluster", AuthorityKind::Kubernetes)
        .await
        .unwrap();
    let ca = Certificate::from_pem(&trust).unwrap();
    let leaf = user.credential().unwrap().unwrap();
    assert!(leaf.certificate().is_issued_by(&ca));
    let day = magnum_core::Clock::now(&*clock) + TimeDelta::hours(24);
    assert_eq!(leaf.certificate().not_after(), day);

    let exec = UserAuth::Exec(ExecPlugin::keystone());
    let config = certificates
        .kubeconfig_with(&alice(), "my.cluster", "openstack", &exec)
        .await
        .unwrap();
    assert_eq!(config.current_context, "openstack@my.cluster");
}

#[tokio::test]
async fn a_cluster_that_is_being_made_says_so() {
    let World { certificates, .. } = accepted().await;
    let error = certificates
        .ca(&alice(), "my.cluster", AuthorityKind::Kubernetes)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NoAuthorities { .. }), "{error}");
    assert_eq!(error.retry(), Retry::Later);
    let error = certificates
        .kubeconfig(&alice(), "my.cluster", &admin_of("alice"), None)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NoEndpoint { .. }), "{error}");
}

#[tokio::test]
async fn ms_08_p_07_p_10_rights_follow_from_the_callers_role() {
    let World { certificates, .. } = created().await;
    let reader = RequestContext::new("p", "rita").with_roles(["reader"]);
    let colleague = RequestContext::new("p", "bob");
    let operator = RequestContext::new("ops", "root").as_admin();
    let viewer = Profile::Viewer {
        user: "rita".into(),
    };
    let break_glass = Profile::BreakGlass { user: "x".into() };
    let node = Profile::KubeletClient { node: "n1".into() };
    for (cx, profile, allowed) in [
        (&alice(), &admin_of("alice"), true),
        (&colleague, &admin_of("bob"), true),
        (&reader, &viewer, true),
        (&reader, &admin_of("rita"), false),
        (&alice(), &break_glass, false),
        (&alice(), &node, false),
        (&operator, &break_glass, true),
        (&operator, &node, true),
    ] {
        let result = certificates
            .kubeconfig(cx, "my.cluster", profile, None)
            .await;
        match result {
            Ok(_) => assert!(allowed, "{} {}", cx.user_id, profile.name()),
            Err(error) => assert!(
                !allowed && matches!(error, Error::NotAllowed { .. }),
                "{error}"
            ),
        }
    }
    let creator_only =
        certificates.with_policy(Arc::new(MagnumSigningPolicy { creator_only: true }));
    assert!(
        creator_only
            .kubeconfig(&alice(), "my.cluster", &admin_of("alice"), None)
            .await
            .is_ok()
    );
    let refused = creator_only
        .kubeconfig(&colleague, "my.cluster", &admin_of("bob"), None)
        .await;
    assert!(matches!(refused, Err(Error::NotAllowed { .. })));
}

#[tokio::test]
async fn ms_06_another_projects_cluster_looks_absent() {
    let World { certificates, .. } = created().await;
    let stranger = RequestContext::new("q", "eve");
    let absent = |error: Error| {
        let text = error.to_string();
        assert!(
            matches!(error, Error::Engine(magnum_core::Error::NotFound { .. })),
            "{text}"
        );
    };
    absent(
        certificates
            .ca(&stranger, "my.cluster", AuthorityKind::Etcd)
            .await
            .unwrap_err(),
    );
    absent(
        certificates
            .kubeconfig(&stranger, "my.cluster", &admin_of("eve"), None)
            .await
            .unwrap_err(),
    );
    absent(
        certificates
            .sign_csr(&stranger, "my.cluster", &csr("eve", "t"), None, None)
            .await
            .unwrap_err(),
    );
    absent(
        certificates
            .issued(&stranger, "my.cluster", &IssuedQuery::default())
            .await
            .unwrap_err(),
    );
}

/// A key that names no cluster, or something else altogether, is a plain refusal.
#[tokio::test]
async fn p_11_a_missing_cluster_is_a_typed_error_without_insides() {
    let World { certificates, .. } = created().await;
    let absent = uuid::Uuid::nil().to_string();
    for key in ["", "gone", "' OR 1=1 --", absent.as_str()] {
        let error = certificates
            .sign_csr(&alice(), key, &csr("bob", "team"), None, None)
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, Error::Engine(magnum_core::Error::NotFound { .. })),
            "{text}"
        );
        assert!(!text.contains("SELECT"), "{text}");
    }
}

#[tokio::test]
async fn ms_08_requests_are_signed_as_far_as_the_caller_may() {
    let World { certificates, .. } = created().await;
    let sign = async |cx: &RequestContext, user: &str, group: &str| {
        certificates
            .sign_csr(cx, "my.cluster", &csr(user, group), None, None)
            .await
    };
    let team = sign(&alice(), "alice", "team").await.unwrap();
    assert_eq!(
        (team.common_name(), team.organizations()),
        ("alice", &["team".to_owned()][..])
    );
    for (user, group) in [
        ("admin", "system:masters"),
        ("system:node:n1", "system:nodes"),
    ] {
        let refused = sign(&alice(), user, group).await;
        assert!(matches!(refused, Err(Error::NotAllowed { .. })), "{user}");
        assert!(
            sign(&alice().as_admin(), user, group).await.is_ok(),
            "{user}"
        );
    }
    let garbage = certificates
        .sign_csr(&alice(), "my.cluster", "x", None, None)
        .await;
    assert!(matches!(
        garbage,
        Err(Error::BadRequest(CsrProblem::NotOnePemBlock(_)))
    ));
}

#[tokio::test]
async fn ck_10_everything_signed_is_recorded_and_can_be_revoked() {
    let World { certificates, .. } = created().await;
    certificates
        .kubeconfig(&alice(), "my.cluster", &admin_of("alice"), None)
        .await
        .unwrap();
    certificates
        .sign_csr(&alice(), "my.cluster", &csr("bob", "team"), None, None)
        .await
        .unwrap();
    let operator = RequestContext::new("ops", "root").as_admin();
    let peer = Profile::EtcdClient {
        name: "backup".into(),
    };
    let backup = certificates
        .issue(&operator, "my.cluster", &peer, None)
        .await
        .unwrap();
    let all = certificates
        .issued(&alice(), "my.cluster", &IssuedQuery::default())
        .await
        .unwrap();
    let seen: Vec<_> = all
        .iter()
        .map(|one| (one.common_name.as_str(), one.requester.as_str()))
        .collect();
    for wanted in [("alice", "alice"), ("bob", "alice"), ("backup", "root")] {
        assert!(seen.contains(&wanted), "{seen:?}");
    }
    let day = Duration::from_secs(24 * 3600);
    let revoke = async |serial: &str| {
        certificates
            .revoke(
                &alice(),
                "my.cluster",
                serial,
                RevocationReason::KeyCompromise,
                day,
            )
            .await
            .unwrap()
    };
    assert!(
        revoke(&backup.certificate().serial())
            .await
            .unwrap()
            .starts_with("-----BEGIN X509 CRL-----\n")
    );
    assert_eq!(revoke("abcd").await, None);
    let reader = RequestContext::new("p", "rita").with_roles(["reader"]);
    let refused = certificates
        .issued(&reader, "my.cluster", &IssuedQuery::default())
        .await;
    assert!(matches!(
        refused,
        Err(Error::Engine(magnum_core::Error::Forbidden { .. }))
    ));
    let overview = async |cx: &RequestContext| {
        let all = certificates.expiries(cx, "my.cluster").await;
        all.unwrap().len()
    };
    assert_eq!(overview(&reader).await, 3, "the authorities");
    assert_eq!(overview(&alice()).await, 5, "and what was signed");
}

#[test]
fn an_authority_can_live_elsewhere() {
    #[derive(Debug)]
    struct Remote(magnum_certs::PrivateKey);
    impl magnum_certs::Signer for Remote {
        fn public_key(&self) -> &magnum_certs::PublicKey {
            self.0.public_key()
        }
        fn scheme(&self) -> magnum_certs::SignatureScheme {
            self.0.scheme()
        }
        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
            self.0.sign(message)
        }
    }
    use secrecy::ExposeSecret as _;
    let day = Duration::from_secs(24 * 3600);
    let made = |kind| Authority::create(kind, "c", KeyAlgorithm::EcdsaP256, day, start()).unwrap();
    let ours = made(AuthorityKind::Kubernetes);
    let key = magnum_certs::PrivateKey::from_pem(ours.key_pem().unwrap().expose_secret()).unwrap();
    let remote = Authority::with_signer(
        AuthorityKind::Kubernetes,
        ours.certificate().clone(),
        Arc::new(Remote(key)),
    );
    let service_account = magnum_certs::PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
    let pki = ClusterPki::from_parts(
        "c",
        remote.unwrap(),
        made(AuthorityKind::Etcd),
        made(AuthorityKind::FrontProxy),
        service_account,
    )
    .unwrap();
    let leaf = pki
        .issue(&admin_of("alice"), KeyAlgorithm::EcdsaP256, None, start())
        .unwrap();
    assert!(leaf.certificate().is_issued_by(ours.certificate()));
    assert!(matches!(
        pki.control_plane_files(),
        Err(Error::NotAllowed { .. })
    ));
}

/// Rotation on a driver that cannot rotate is refused before anything is touched.
#[tokio::test]
async fn p_02_a_driver_that_cannot_rotate_loses_nothing() {
    let World {
        engine,
        certificates,
        ..
    } = created().await;
    let seen = async || {
        let mut all = Vec::new();
        for kind in AuthorityKind::ALL {
            let ca = certificates.ca(&alice(), "my.cluster", kind).await;
            all.push(ca.unwrap());
        }
        let cluster = engine.cluster(&alice(), "my.cluster").await.unwrap();
        let store = engine.secret_store();
        for purpose in store.purposes(cluster.id).await.unwrap() {
            let secret = store.get(cluster.id, &purpose).await.unwrap().unwrap();
            all.push(String::from_utf8(secret.expose().to_vec()).unwrap());
        }
        (all, cluster.status)
    };
    let before = seen().await;
    let refused = certificates.rotate(&alice(), "my.cluster").await;
    assert!(
        matches!(
            refused,
            Err(Error::Engine(magnum_core::Error::Unsupported {
                capability: Capability::RotateCa,
                ..
            }))
        ),
        "{refused:?}"
    );
    assert_eq!(seen().await, before);
    let phase = certificates.rotation(&alice(), "my.cluster").await.unwrap();
    assert_eq!(phase, None);
}

/// What the engine's secret store holds of a cluster goes with the cluster, though this driver removes nothing.
#[tokio::test]
async fn p_05_deletion_takes_the_secrets_that_the_driver_forgot() {
    let World { engine, clock, .. } = created().await;
    let id = engine.cluster(&alice(), "my.cluster").await.unwrap().id;
    let store = engine.secret_store();
    assert!(!store.purposes(id).await.unwrap().is_empty());
    engine.delete_cluster(&alice(), "my.cluster").await.unwrap();
    for _ in 0..10 {
        engine.run_due().await.unwrap();
        clock.advance(Duration::from_secs(5));
    }
    assert!(engine.clusters(&alice()).await.unwrap().is_empty());
    assert!(store.purposes(id).await.unwrap().is_empty());
}
