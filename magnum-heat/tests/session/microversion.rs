//! Microversions: pinned, negotiated, missing.

use magnum_heat::{
    Error, Request, Result, ServiceType,
    discovery::Microversion,
    nova,
    request::{Answer, Path},
    testing::{Reply, Script, Seen},
};
use serde_json::{Value, json};

/// A request that understands several versions; the number is the oldest that it can do with.
struct Ranged;

impl Request for Ranged {
    type Output = Option<String>;
    const SERVICE: ServiceType = ServiceType::Compute;
    const METHOD: http::Method = http::Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "ask nova";
    const MICROVERSION: Option<&'static str> = Some("2.61");
    const NEWEST_MICROVERSION: Option<&'static str> = Some("2.79");
    fn path(&self) -> Path {
        Path::new(["things"])
    }
    fn decode(&self, answer: Answer) -> Result<Self::Output> {
        Ok(answer.header("openstack-api-version").map(str::to_owned))
    }
}

/// The same without a lower end.
struct Any;

impl Request for Any {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Compute;
    const METHOD: http::Method = http::Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "ask nova";
    const NEWEST_MICROVERSION: Option<&'static str> = Some("2.79");
    fn path(&self) -> Path {
        Path::new(["things"])
    }
    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

fn versions(oldest: &str, newest: &str) -> Value {
    json!({"versions": [
        {"id": "v2.0", "status": "SUPPORTED", "version": "", "min_version": ""},
        {"id": "v2.1", "status": "CURRENT", "version": newest, "min_version": oldest},
    ]})
}

fn nova_offering(document: Value) -> Script {
    Script::new().rule(move |seen| {
        if seen.path == "/compute/" {
            return Some(Reply::json(300, &document));
        }
        let asked = header(seen);
        (seen.path == "/compute/v2.1/things")
            .then(|| Reply::empty(200).header("openstack-api-version", &asked))
    })
}

fn header(seen: &Seen) -> String {
    let value = seen.headers.get("openstack-api-version");
    value.map_or_else(String::new, |v| v.to_str().unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn the_newest_that_both_know_is_sent_and_asked_for_once() {
    for (newest, used) in [("2.96", "compute 2.79"), ("2.70", "compute 2.70")] {
        let script = nova_offering(versions("2.1", newest));
        let session = script.session().await.unwrap();
        let calls = futures::future::join_all((0..10).map(|_| session.send(Ranged))).await;
        for answer in calls {
            assert_eq!(answer.unwrap().as_deref(), Some(used));
        }
        let seen = script.seen();
        assert_eq!(seen.iter().filter(|s| s.path == "/compute/").count(), 1);
        // The version document is public: no token goes there.
        assert!(
            seen.iter()
                .all(|s| s.path != "/compute/" || !s.headers.contains_key("x-auth-token"))
        );
        let offered = session.microversions(ServiceType::Compute).await.unwrap();
        assert_eq!(offered.unwrap().1, newest.parse::<Microversion>().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_offered_is_said_before_sending() {
    for (document, offered) in [
        (versions("2.1", "2.53"), "2.1 to 2.53"),
        (json!({"versions": [{"id": "v2.0"}]}), "none"),
    ] {
        let script = nova_offering(document);
        let session = script.session().await.unwrap();
        let error = session.send(Ranged).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("ask nova: needs compute API version 2.61, the cloud offers {offered}")
        );
        assert!(!error.may_have_happened());
        assert!(script.seen().iter().all(|s| s.path == "/compute/"));
        session.send(Any).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_version_is_named() {
    // Recorded: `nova-406-bad-microversion`.
    let script = Script::new().rule(|seen| match seen.path.as_str() {
        "/compute/" => Some(Reply::json(200, &versions("2.1", "2.42"))),
        path if path.contains("/flavors") => Some(Reply::json(
            406,
            &json!({"computeFault": {"code": 406, "message": "Version 2.61 is not supported by the API."}}),
        )),
        _ => None,
    });
    let session = script.session().await.unwrap();
    let error = session.send(nova::ListFlavors {}).await.unwrap_err();
    assert!(
        matches!(&error, Error::Microversion { needed, offered, .. } if needed == "2.61" && offered == "2.1 to 2.42"),
        "{error}"
    );

    // A 406 for another reason stays what it is.
    let script = Script::new().rule(|seen| match seen.path.as_str() {
        "/compute/" => Some(Reply::json(200, &versions("2.1", "2.96"))),
        _ => Some(Reply::empty(406)).filter(|_| seen.path.contains("/flavors")),
    });
    let session = script.session().await.unwrap();
    let error = session.send(nova::ListFlavors {}).await.unwrap_err();
    assert_eq!(error.status().unwrap(), 406);
    assert!(matches!(error, Error::Api(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn sp_05_an_overloaded_version_document_is_asked_for_again() {
    let script = Script::new()
        .then(Reply::empty(503))
        .then(Reply::json(200, &versions("2.1", "2.96")))
        .then(Reply::empty(200));
    let session = script.session().await.unwrap();
    session.send(Ranged).await.unwrap();
    assert_eq!(script.seen().len(), 3);
    // A failure is not kept.
    let script = Script::new()
        .then(Reply::empty(404))
        .then(Reply::json(200, &versions("2.1", "2.96")))
        .then(Reply::empty(200));
    let session = script.session().await.unwrap();
    assert!(session.send(Ranged).await.is_err());
    session.send(Ranged).await.unwrap();
}
