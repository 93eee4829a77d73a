//! What each credential and each scope sends to Keystone, and what happens to logins that are dropped.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use magnum_heat::{
    Auth, Scope, ServiceType, Session,
    auth::{
        AuthContext, AuthMethod, DomainRef, Identity, OidcAuth, OidcGrant, ProjectRef, TrustId,
        UserRef,
    },
    http::{HttpError, HttpService},
    stack::ListStacks,
    testing::{Reply, Script, Seen},
};
use secrecy::SecretString;
use serde_json::{Value, json};

/// Passes requests on and keeps the bodies as they are.
#[derive(Debug)]
struct Bodies {
    inner: Script,
    kept: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl HttpService for Bodies {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let text = String::from_utf8_lossy(request.body()).into_owned();
        let path = request.uri().path().to_owned();
        self.kept.lock().unwrap().push((path, text));
        self.inner.call(request).await
    }
}

/// Logs in and gives the bodies that were sent, by path.
async fn sent(auth: Auth, scope: Scope, script: Script) -> Vec<(String, String)> {
    let bodies = Arc::new(Bodies {
        inner: script,
        kept: Mutex::default(),
    });
    let cloud = Script::cloud().with_auth(auth, scope);
    let builder = Session::builder(cloud).http(bodies.clone());
    builder.connect().await.unwrap();
    bodies.kept.lock().unwrap().clone()
}

async fn login(auth: Auth, scope: Scope) -> Value {
    let sent = sent(auth, scope, Script::new()).await;
    assert_eq!(sent.len(), 1);
    let body: Value = serde_json::from_str(&sent[0].1).unwrap();
    body["auth"].clone()
}

fn secret(text: &str) -> SecretString {
    SecretString::from(text)
}

fn named(name: &str) -> UserRef {
    UserRef::Name {
        name: name.into(),
        domain: DomainRef::Name("Default".into()),
    }
}

fn password() -> Auth {
    Auth::Password {
        user: named("u"),
        password: secret("p"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_scope_is_sent_as_keystone_documents_it() {
    let project = ProjectRef::Name {
        name: "x".into(),
        domain: DomainRef::Id("d".into()),
    };
    let scopes = [
        (Scope::project("p1"), json!({"project": {"id": "p1"}})),
        (
            Scope::Project(project),
            json!({"project": {"name": "x", "domain": {"id": "d"}}}),
        ),
        (
            Scope::Domain(DomainRef::Name("D".into())),
            json!({"domain": {"name": "D"}}),
        ),
        (Scope::System, json!({"system": {"all": true}})),
        (
            Scope::Trust(TrustId::from("t")),
            json!({"OS-TRUST:trust": {"id": "t"}}),
        ),
        (Scope::Unscoped, json!("unscoped")),
        (Scope::UserDefault, Value::Null),
    ];
    for (scope, wanted) in scopes {
        let auth = login(password(), scope.clone()).await;
        assert_eq!(auth["scope"], wanted, "{scope:?}");
        let user = json!({"name": "u", "domain": {"name": "Default"}, "password": "p"});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        assert_eq!(auth["identity"], identity);
    }
}

#[derive(Debug)]
struct Own;

#[async_trait]
impl AuthMethod for Own {
    async fn identity(&self, _cx: AuthContext<'_>) -> magnum_heat::Result<Identity> {
        Ok(Identity::raw(
            json!({"methods": ["own"], "own": {"x": 1}}),
            false,
        ))
    }
}

#[tokio::test(start_paused = true)]
async fn every_credential_is_sent_as_keystone_documents_it() {
    let scope = || Scope::project("p1");
    let token = login(Auth::Token(secret("t")), scope()).await;
    assert_eq!(
        token["identity"],
        json!({"methods": ["token"], "token": {"id": "t"}})
    );
    let by_id = Auth::ApplicationCredential {
        id: "i".into(),
        secret: secret("s"),
    };
    let by_name = Auth::NamedApplicationCredential {
        name: "n".into(),
        user: UserRef::Id("u".into()),
        secret: secret("s"),
    };
    for (auth, wanted) in [
        (by_id, json!({"id": "i", "secret": "s"})),
        (
            by_name,
            json!({"name": "n", "user": {"id": "u"}, "secret": "s"}),
        ),
    ] {
        let auth = login(auth, scope()).await;
        assert_eq!(auth["identity"]["application_credential"], wanted);
        // It carries its project; Keystone refuses a scope beside it.
        assert!(auth.get("scope").is_none());
    }
    let own = login(Auth::Custom(Arc::new(Own)), scope()).await;
    assert_eq!(own["identity"]["own"], json!({"x": 1}));
    assert_eq!(own["scope"], json!({"project": {"id": "p1"}}));
}

#[tokio::test(start_paused = true)]
async fn every_oidc_grant_ends_in_a_scoped_token() {
    let idp = |seen: &Seen| match seen.path.as_str() {
        "/idp/config" => {
            let document = json!({"token_endpoint": "http://cloud.test/idp/token"});
            Some(Reply::json(200, &document))
        }
        "/idp/token" => Some(Reply::json(200, &json!({"access_token": "at"}))),
        "/identity/v3/OS-FEDERATION/identity_providers/idp/protocols/openid/auth" => {
            assert_eq!(seen.headers["authorization"], "Bearer at");
            Some(Reply::empty(201).header("x-subject-token", "unscoped"))
        }
        _ => None,
    };
    let with = |grant| {
        Auth::Oidc(OidcAuth {
            identity_provider: "idp".into(),
            protocol: "openid".into(),
            discovery_endpoint: Some("http://cloud.test/idp/config".into()),
            access_token_endpoint: None,
            client_id: Some("c".into()),
            client_secret: Some(secret("cs")),
            scope: "openid profile".into(),
            grant,
        })
    };
    let by_password = OidcGrant::Password {
        username: "u@x".into(),
        password: secret("p&w"),
    };
    for (grant, form) in [
        (
            by_password,
            Some(
                "scope=openid+profile&grant_type=password&username=u%40x&password=p%26w&client_id=c&client_secret=cs",
            ),
        ),
        (
            OidcGrant::ClientCredentials,
            Some("scope=openid+profile&grant_type=client_credentials&client_id=c&client_secret=cs"),
        ),
        (OidcGrant::AccessToken(secret("at")), None),
    ] {
        let sent = sent(with(grant), Scope::project("p1"), Script::new().rule(idp)).await;
        let asked = sent.iter().find(|(path, _)| path == "/idp/token");
        assert_eq!(asked.map(|(_, form)| form.as_str()), form);
        let login: Value = serde_json::from_str(&sent.last().unwrap().1).unwrap();
        assert_eq!(login["auth"]["identity"]["token"]["id"], "unscoped");
        assert_eq!(login["auth"]["scope"], json!({"project": {"id": "p1"}}));
    }
}

/// Lets a number of logins begin and never end.
#[derive(Debug)]
struct Stuck {
    inner: Script,
    stuck: AtomicUsize,
}

#[async_trait]
impl HttpService for Stuck {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        if request.uri().path().ends_with("/auth/tokens")
            && self
                .stuck
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                .is_ok()
        {
            std::future::pending::<()>().await;
        }
        self.inner.call(request).await
    }
}

#[tokio::test(start_paused = true)]
async fn au_01_a_dropped_login_is_made_again_by_who_waits() {
    let script = Script::new().rule(|seen| {
        seen.path
            .starts_with("/heat")
            .then(|| Reply::json(200, &json!({"stacks": []})))
    });
    let stuck = Arc::new(Stuck {
        inner: script.clone(),
        stuck: AtomicUsize::new(1),
    });
    let builder = Session::builder(Script::cloud()).http(stuck);
    let session = builder.build().unwrap();
    let first = session.clone();
    let dropped = tokio::spawn(async move { first.send(ListStacks::new()).await });
    tokio::task::yield_now().await;
    let waiting = (0..10).map(|_| session.send(ListStacks::new()));
    let waiting = futures::future::join_all(waiting);
    let (results, ()) = futures::future::join(waiting, async {
        tokio::task::yield_now().await;
        dropped.abort();
    })
    .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(script.logins(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_overridden_endpoint_is_used_with_its_version() {
    let script = Script::new().then(Reply::json(200, &json!({"flavors": []})));
    let mut cloud = Script::cloud();
    let elsewhere = url::Url::parse("http://cloud.test/elsewhere/").unwrap();
    cloud.endpoint_overrides.insert("compute".into(), elsewhere);
    let builder = Session::builder(cloud).http(Arc::new(script.clone()));
    let session = builder.connect().await.unwrap();
    session
        .send(magnum_heat::nova::ListFlavors {})
        .await
        .unwrap();
    assert!(
        script.seen()[0].path.starts_with("/elsewhere/v2.1/flavors"),
        "{:?}",
        script.seen()
    );
    let heat = session.endpoint(ServiceType::Orchestration).await.unwrap();
    assert_eq!(heat.as_str(), "http://cloud.test/heat/v1/p1");
}

/// Counts how many calls are under way at a time.
#[derive(Debug)]
struct Crowd {
    inner: Script,
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl HttpService for Crowd {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        let answer = self.inner.call(request).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        answer
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_of_a_service_run_at_a_time() {
    let script = Script::new().rule(|seen| {
        seen.path
            .starts_with("/heat")
            .then(|| Reply::json(200, &json!({"stacks": []})))
    });
    let crowd = Arc::new(Crowd {
        inner: script,
        now: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
    });
    let builder = Session::builder(Script::cloud())
        .http(crowd.clone())
        .parallel_calls(3);
    let session = builder.connect().await.unwrap();
    let calls = (0..20).map(|_| session.send(ListStacks::new()));
    let results = futures::future::join_all(calls).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(crowd.most.load(Ordering::SeqCst), 3);
}
