//! `MS-04`: no secret shows in `Debug`, in errors or in traces.

#![allow(clippy::unwrap_used)]

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use magnum_heat::{
    Auth, CloudConfig, Env, Scope, Session,
    auth::{Identity, OidcAuth, OidcGrant, TrustId, UserRef},
    barbican,
    hot::{Document, Files, types::Server},
    http::{HttpConfig, TlsConfig},
    keystone, nova,
    resource::SignalResource,
    stack::{CreateStack, ShowStack, StackContent, StackRef, create_stack_or_adopt},
    testing::{Reply, Script, token},
};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

const SECRETS: &[&str] = &[
    "test-password",
    "s3cret-user-data",
    "s3cret-file",
    "s3cret-param",
    "trust-id-1",
    "test-token-1",
    "private-key-1",
];

fn assert_clean(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} shows in {text}");
    }
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn content() -> StackContent {
    let mut doc = Document::new();
    doc.add_resource(
        "server",
        Server::new("m1")
            .user_data("s3cret-user-data")
            .admin_pass("test-password"),
    )
    .unwrap();
    let mut files = Files::new();
    files.add("f", "s3cret-file");
    StackContent::new(doc)
        .files(files)
        .parameter("p", "s3cret-param")
}

#[test]
fn ms_04_debug_shows_no_secret() {
    let secret = || secrecy::SecretString::from("test-password");
    let user = UserRef::Id("u".into());
    let oidc = OidcAuth {
        identity_provider: "idp".into(),
        protocol: "openid".into(),
        discovery_endpoint: None,
        access_token_endpoint: None,
        client_id: Some("c".into()),
        client_secret: Some(secret()),
        scope: "openid".into(),
        grant: OidcGrant::Password {
            username: "u".into(),
            password: secret(),
        },
    };
    let create = CreateStack::new("s", content());
    let env = Env::from_vars([
        ("OS_PASSWORD", "test-password"),
        ("OS_AUTH_URL", "http://k"),
        ("OS_USERNAME", "u"),
    ]);
    let cloud = CloudConfig::load(None, &env).unwrap();
    let tls =
        TlsConfig::default().with_identity("cert", secrecy::SecretString::from("private-key-1"));
    let server: nova::Server =
        serde_json::from_value(json!({"id": "1", "OS-EXT-SRV-ATTR:user_data": "s3cret-user-data"}))
            .unwrap();
    let trust = Scope::Trust(TrustId::from("trust-id-1"));
    let shown = [
        format!(
            "{:?}",
            Auth::Password {
                user: user.clone(),
                password: secret()
            }
        ),
        format!("{:?}", Auth::Token(secret())),
        format!(
            "{:?}",
            Auth::ApplicationCredential {
                id: "a".into(),
                secret: secret()
            }
        ),
        format!("{:?}", Auth::Oidc(oidc)),
        format!("{:?}", Identity::password(&user, &secret())),
        format!(
            "{create:?} {:?} {:?}",
            create.content, create.content.template
        ),
        format!(
            "{:?} {:?}",
            create.content.template.resource("server"),
            Server::new("f").user_data("s3cret-user-data")
        ),
        format!("{:?}", create.content.files),
        format!("{env:?} {cloud:?}"),
        format!("{:?}", HttpConfig::with_tls(tls)),
        format!(
            "{server:?} {trust:?} {:?}",
            keystone::DeleteTrust {
                id: TrustId::from("trust-id-1")
            }
        ),
        format!(
            "{:?} {:?}",
            barbican::StoreSecret {
                name: "n".into(),
                payload: secret()
            },
            barbican::SetPayload {
                id: "1".into(),
                payload: b"test-password".to_vec().into()
            }
        ),
        format!(
            "{:?}",
            SignalResource {
                stack: StackRef::find("s"),
                name: "h".into(),
                signal: json!("s3cret-param")
            }
        ),
    ];
    shown.iter().for_each(|text| assert_clean(text));
}

#[tokio::test(start_paused = true)]
async fn ms_04_traces_at_the_finest_level_show_no_secret() {
    let sink = Sink::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(sink.clone())
        .with_ansi(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let stack = json!({"stack": {"id": "i", "stack_name": "s", "stack_status": "CREATE_COMPLETE", "parameters": {"p": "s3cret-param"}}});
    let script = Script::new()
        .then(Reply::empty(503))
        .then(Reply::json(201, &json!({"stack": {"id": "i"}})))
        .then(Reply::empty(502).header("x-openstack-request-id", "req-5"))
        .then(Reply::empty(401))
        .then(Reply::json(200, &stack))
        .then(Reply::json(
            400,
            &json!({"error": {"message": "no", "type": "StackValidationFailed"}}),
        ));
    let mut cloud = Script::cloud();
    cloud.scope = Scope::Trust(TrustId::from("trust-id-1"));
    let session = Session::builder(cloud)
        .http(Arc::new(script.clone()))
        .seed(1)
        .connect()
        .await
        .unwrap();
    create_stack_or_adopt(&session, CreateStack::new("s", content()), "mark")
        .await
        .unwrap();
    let shown = session
        .send(ShowStack::new(StackRef::new("s", "i")))
        .await
        .unwrap();
    let error = session
        .send(CreateStack::new("s", content()))
        .await
        .unwrap_err();
    assert_clean(&format!("{shown:?} {error} {error:?} {session:?}"));
    assert_eq!(token(1), "test-token-1");
    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert!(
        text.contains("will be tried again") && text.contains("req-5"),
        "{text}"
    );
    assert_clean(&text);
}
