//! Other services and credentials.

use magnum_heat::{
    Auth, Scope,
    auth::UserRef,
    barbican, cinder, glance, ironic, keystone, neutron, nova, octavia, placement,
    stack::{ListStacks, list_stacks},
};

use super::project::*;
#[tokio::test(flavor = "multi_thread")]
async fn other_services_and_credentials() {
    let project = Project::new("heat-services").await;
    let (s, admin) = (&project.session, &project.admin);
    let image = glance::find_image(s, IMAGE).await.unwrap();
    assert!(image.is_active());
    assert_eq!(glance::find_image(s, &image.id).await.unwrap().id, image.id);
    assert!(
        glance::find_image(s, "no such: image")
            .await
            .unwrap_err()
            .is_not_found()
    );
    let flavor = nova::find_flavor(s, "m1.small").await.unwrap();
    nova::find_flavor(s, &flavor.id).await.unwrap();
    assert_eq!(
        nova::find_flavor(s, "baremetal")
            .await
            .unwrap()
            .resource_class()
            .as_deref(),
        Some("baremetal")
    );
    assert!(
        nova::find_keypair(s, "nope")
            .await
            .unwrap_err()
            .is_not_found()
    );
    s.send(nova::GetLimits {}).await.unwrap();
    s.send(nova::ListAvailabilityZones {}).await.unwrap();
    assert!(
        neutron::find::<neutron::Network>(s, "public")
            .await
            .unwrap()
            .external
    );
    s.send(neutron::GetQuota {
        project: project.id.clone(),
    })
    .await
    .unwrap();
    s.send(neutron::ListExtensions {}).await.unwrap();
    let providers = s.send(octavia::ListProviders {}).await.unwrap();
    assert!(providers.iter().any(|p| p.name == "ovn"));
    assert!(
        s.send(octavia::ListLoadBalancers { filters: vec![] })
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        octavia::find_load_balancer(s, "nope")
            .await
            .unwrap_err()
            .is_not_found()
    );
    s.send(octavia::GetQuota {
        project: project.id.clone(),
    })
    .await
    .unwrap();
    s.send(cinder::ListVolumes { filters: vec![] })
        .await
        .unwrap();
    s.send(cinder::GetQuota {
        project: project.id.clone(),
    })
    .await
    .unwrap();
    let kinds = s.send(cinder::ListVolumeTypes {}).await.unwrap();
    cinder::find_volume_type(s, &kinds[0].name).await.unwrap();
    assert!(
        !admin
            .send(ironic::ListNodes {
                resource_class: Some("baremetal".into())
            })
            .await
            .unwrap()
            .is_empty()
    );
    let class = [("CUSTOM_BAREMETAL".to_owned(), 1)].into();
    admin
        .send(placement::ListResourceProviders { resources: class })
        .await
        .unwrap();
    let size = [("VCPU".to_owned(), 1), ("MEMORY_MB".to_owned(), 512)].into();
    let room = placement::GetAllocationCandidates {
        resources: size,
        required: vec![],
        limit: 10,
    };
    assert!(
        !admin
            .send(room)
            .await
            .unwrap()
            .allocation_requests
            .is_empty()
    );

    let secret = s
        .send(barbican::StoreSecret {
            name: "ca".into(),
            payload: "hello".into(),
        })
        .await
        .unwrap();
    let read = s
        .send(barbican::GetPayload {
            id: secret.id().to_owned(),
        })
        .await
        .unwrap();
    assert_eq!(secrecy::ExposeSecret::expose_secret(&read), "hello");
    assert_eq!(
        s.send(barbican::ListSecrets {
            name: Some("ca".into())
        })
        .await
        .unwrap()
        .len(),
        1
    );
    let acl = barbican::SetSecretAcl {
        id: secret.id().to_owned(),
        users: vec![project.user.clone()],
        project_access: true,
    };
    s.send(acl).await.unwrap();
    s.send(barbican::DeleteSecret {
        id: secret.id().to_owned(),
    })
    .await
    .unwrap();

    // Application credential: log in with it.
    let credential = s
        .send(keystone::CreateApplicationCredential::new(&project.user, "ac").roles(["member"]))
        .await
        .unwrap();
    let auth = Auth::ApplicationCredential {
        id: credential.id.clone(),
        secret: credential.secret.unwrap(),
    };
    let node = s.reauthenticated(auth, Scope::Unscoped).await.unwrap();
    assert_eq!(node.project_id().await.unwrap(), project.id);
    assert!(!node.token_info().await.unwrap().has_role("creator"));
    let list = keystone::ListApplicationCredentials {
        user: project.user.clone(),
        name: Some("ac".into()),
    };
    assert_eq!(s.send(list).await.unwrap().len(), 1);
    s.send(keystone::DeleteApplicationCredential {
        user: project.user.clone(),
        id: credential.id,
    })
    .await
    .unwrap();

    // Trust: another user acts in this project.
    let password = secrecy::SecretString::from("a-trustee-password");
    let trustee = admin
        .send(keystone::CreateUser {
            name: format!("trustee-{}", project.id),
            domain: "default".into(),
            password: password.clone(),
            default_project: None,
            description: String::new(),
        })
        .await
        .unwrap();
    let trust = s
        .send(keystone::CreateTrust::new(
            &project.user,
            &trustee.id,
            &project.id,
            ["member"],
        ))
        .await
        .unwrap();
    let auth = Auth::Password {
        user: UserRef::Id(trustee.id.clone()),
        password,
    };
    let trusted = s
        .reauthenticated(auth, Scope::Trust(trust.id.clone()))
        .await
        .unwrap();
    assert_eq!(trusted.project_id().await.unwrap(), project.id);
    assert_eq!(trusted.user_id().await.unwrap(), project.user);
    list_stacks(&trusted, ListStacks::new()).await.unwrap();
    assert_eq!(
        s.send(keystone::ListTrusts {
            trustor: project.user.clone()
        })
        .await
        .unwrap()
        .len(),
        1
    );
    s.send(keystone::DeleteTrust { id: trust.id })
        .await
        .unwrap();
    admin
        .send(keystone::DeleteUser { id: trustee.id })
        .await
        .unwrap();
    project.remove().await;
}
