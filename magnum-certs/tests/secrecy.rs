//! No public type shows a secret.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use chrono::{TimeZone, Utc};
use magnum_certs::{
    AuthorityKind, ClusterPki, Envelope, ExecPlugin, KeyAlgorithm, Kubeconfig, PkiOptions, Profile,
    SealingKey, UserAuth,
};
use secrecy::{ExposeSecret as _, SecretString};

#[test]
fn ms_04_debug_of_every_public_type_that_holds_a_secret_shows_none() {
    let now = Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap();
    let pki = ClusterPki::generate("c1", PkiOptions::default(), now).unwrap();
    let admin = Profile::Admin {
        user: "alice".into(),
    };
    let credential = pki
        .issue(&admin, KeyAlgorithm::EcdsaP256, None, now)
        .unwrap();
    let auth = UserAuth::from(&credential);
    let endpoint = pki.endpoint("10.0.0.5:6443");
    let config = Kubeconfig::single("c", &endpoint, "alice", &auth).unwrap();
    let token = UserAuth::Token(SecretString::from("t0ken-of-alice"));
    let plugin = ExecPlugin::keystone().env("OS_PASSWORD", SecretString::from("hunter2-hunter2"));
    let with_plugin =
        Kubeconfig::single("c", &endpoint, "bob", &UserAuth::Exec(plugin.clone())).unwrap();
    let with_token = Kubeconfig::single("c", &endpoint, "bob", &token).unwrap();
    let sealing = SealingKey::generate().unwrap().rotated().unwrap();
    let files = pki.control_plane_files().unwrap();

    let mut secrets = vec!["t0ken-of-alice".to_owned(), "hunter2-hunter2".to_owned()];
    let mut lines = |text: &SecretString| {
        let body = text
            .expose_secret()
            .lines()
            .filter(|line| !line.starts_with('-') && line.len() > 12);
        secrets.extend(body.map(str::to_owned));
    };
    lines(&sealing.to_text());
    lines(&credential.key_pem());
    files
        .iter()
        .filter(|file| file.path.ends_with(".key"))
        .for_each(|file| lines(&file.content));
    let (_, user) = config.current().unwrap();
    secrets.push(user.client_key_data.as_ref().unwrap().expose()[60..100].to_owned());

    let shown = [
        format!("{pki:#?}"),
        format!("{:#?}", pki.authority(AuthorityKind::Etcd)),
        format!("{credential:#?} {auth:#?} {token:#?} {plugin:#?}"),
        format!("{config:#?} {with_plugin:#?} {with_token:#?}"),
        format!("{sealing:#?} {:#?}", Envelope::new(sealing.clone())),
        format!("{files:#?}"),
    ]
    .concat();
    for secret in &secrets {
        assert!(!shown.contains(secret.as_str()), "{secret} is shown");
    }
    assert!(secrets.len() > 14, "{}", secrets.len());
}
