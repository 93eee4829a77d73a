//! Answers of the embedded cloud beside recorded answers of a real one.
#![allow(clippy::unwrap_used, reason = "test code: a panic is the report")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(name);
    serde_json::from_str(
        &std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
    )
    .unwrap()
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .unwrap_or_else(|| panic!("not a map: {value}"))
        .keys()
        .map(String::as_str)
        .collect()
}

#[track_caller]
fn same_keys(ours: &Value, theirs: &Value) {
    assert_eq!(keys(ours), keys(theirs));
}

#[tokio::test]
async fn heat_refuses_in_the_same_words() {
    let (cloud, client) = support::start().await;
    for name in [
        "heat-400-bad-stack-name",
        "heat-400-custom-constraint-image",
        "heat-400-empty-create",
        "heat-400-limit-resources-per-stack",
        "heat-400-missing-parameter",
        "heat-400-parameter-constraint",
        "heat-400-template-bad-property",
        "heat-400-template-unknown-type",
        "heat-400-unknown-parameter",
    ] {
        let recorded = fixture(&format!("{name}.json"));
        let body = recorded["request"]["body"].clone();
        let (status, answer) = client.send("POST", &client.stacks(), Some(body)).await;
        assert_eq!(answer, recorded["body"], "{name}");
        assert_eq!(json!(status), recorded["status"], "{name}");
    }
    // The parser's words differ; what it is and where are the same.
    let recorded = fixture("heat-400-template-yaml.json");
    let (status, answer) = client
        .send(
            "POST",
            &client.stacks(),
            Some(recorded["request"]["body"].clone()),
        )
        .await;
    assert_eq!(
        (status, &answer["error"]["type"]),
        (400, &recorded["body"]["error"]["type"])
    );
    let big = json!({"heat_template_version": "2021-04-16", "description": "x".repeat(600_000)});
    let (status, answer) = client
        .send(
            "POST",
            &client.stacks(),
            Some(json!({"stack_name": "big", "template": big})),
        )
        .await;
    assert_eq!(
        (status, &answer["error"]["type"]),
        (400, &json!("RequestLimitExceeded"))
    );
    let twice = json!({
        "heat_template_version": "2021-04-16",
        "parameters": {"a": {"type": "string", "default": "x"}},
        "resources": {"a": {"type": "OS::Heat::None"}},
    });
    let (_, answer) = client
        .send(
            "POST",
            &client.stacks(),
            Some(json!({"stack_name": "d", "template": twice})),
        )
        .await;
    assert_eq!(answer["error"]["message"], "Duplicate names {'a'}");
    cloud.shutdown().await;
}

#[tokio::test]
async fn heat_refuses_bad_references_and_types_in_the_same_words() {
    let (cloud, client) = support::start().await;
    let value = |value: Value| json!({"type": "OS::Heat::Value", "properties": {"value": value}});
    let net = json!({"type": "OS::Neutron::Net"});
    for (resources, kind, message) in [
        (
            json!({"a": value(json!({"get_resource": "zz"}))}),
            "InvalidTemplateReference",
            "The specified reference \"zz\" (in a.Properties.value) is incorrect.",
        ),
        (
            json!({"a": {"type": "OS::Heat::None", "depends_on": "zz"}}),
            "InvalidTemplateReference",
            "The specified reference \"zz\" (in a) is incorrect.",
        ),
        (
            json!({"b": net, "a": value(json!({"get_attr": ["b", "nope"]}))}),
            "StackValidationFailed",
            "resources.a.properties.value.get_attr: : The Referenced Attribute (b nope) is incorrect.",
        ),
        (
            json!({"a": value(json!({"get_param": "zz"}))}),
            "StackValidationFailed",
            "Property error: : resources.a.properties.value: : The Parameter (zz) was not provided.",
        ),
        (
            json!({"a": value(json!({"get_file": "zz"}))}),
            "StackValidationFailed",
            "Property error: : resources.a.properties.value: : No content found in the \"files\" section for get_file path: zz",
        ),
        (
            json!({"a": {"properties": {}}}),
            "StackValidationFailed",
            "Each resource must contain a type key.",
        ),
        (
            json!({"a": {"type": "OS::Heat::None", "nope": 1}}),
            "StackValidationFailed",
            "\"nope\" is not a valid keyword inside a resource definition",
        ),
        (
            json!({"a": {"type": "OS::Neutron::Net", "properties": {"name": {"foo": "x"}}}}),
            "StackValidationFailed",
            "Property error: : resources.a.properties.name: : Value must be a string; got {'foo': 'x'}",
        ),
        (
            json!({"a": {"type": "OS::Neutron::Port", "properties": {"network": "nope"}}}),
            "StackValidationFailed",
            "Property error: : resources.a.properties.network: : Error validating value 'nope': Unable to find network with name or id 'nope'",
        ),
        (
            json!({"a": {"type": "OS::Octavia::Listener", "properties": {"protocol": "XX", "protocol_port": 1}}}),
            "StackValidationFailed",
            "Property error: : resources.a.properties.protocol: : \"XX\" is not an allowed value [\"TCP\", \"HTTP\", \"HTTPS\", \"TERMINATED_HTTPS\", \"PROXY\", \"UDP\"]",
        ),
    ] {
        let template = json!({"heat_template_version": "2021-04-16", "resources": resources});
        let (status, answer) = client
            .send(
                "POST",
                &client.stacks(),
                Some(json!({"stack_name": "bad", "template": template})),
            )
            .await;
        assert_eq!(
            (
                status,
                answer["error"]["type"].as_str().unwrap(),
                answer["error"]["message"].as_str().unwrap()
            ),
            (400, kind, message)
        );
    }
    let circle = json!({"a": {"type": "OS::Heat::None", "depends_on": "b"}, "b": {"type": "OS::Heat::None", "depends_on": "a"}});
    let template = json!({"heat_template_version": "2021-04-16", "resources": circle});
    let (_, answer) = client
        .send(
            "POST",
            &client.stacks(),
            Some(json!({"stack_name": "bad", "template": template})),
        )
        .await;
    assert_eq!(answer["error"]["type"], "CircularDependencyException");
    cloud.shutdown().await;
}

#[tokio::test]
async fn heat_answers_have_the_recorded_keys() {
    let (cloud, client) = support::start().await;
    let body = json!({"stack_name": "small", "template": support::cluster(1), "timeout_mins": 20, "disable_rollback": true});
    let answer = client
        .answer("POST", &client.stacks(), Some(body.clone()))
        .await;
    assert!(
        answer.headers()["x-openstack-request-id"]
            .to_str()
            .unwrap()
            .starts_with("req-")
    );
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let created: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    same_keys(
        &created["stack"],
        &fixture("heat-stack-create-201.json")["body"]["stack"],
    );
    let stack = location.trim_start_matches(&client.base).to_owned();
    let shown = client.settle(&stack).await;
    let theirs = fixture("heat-stack-show.json")["body"]["stack"].clone();
    same_keys(&shown, &theirs);
    same_keys(&shown["outputs"][0], &theirs["outputs"][0]);
    let plain = client.get(&format!("{stack}?resolve_outputs=False")).await;
    same_keys(
        &plain["stack"],
        &fixture("heat-stack-show-resolve-outputs-false.json")["body"]["stack"],
    );
    let list = client.get(&client.stacks()).await;
    same_keys(
        &list["stacks"][0],
        &fixture("heat-stack-list.json")["body"]["stacks"][0],
    );
    let resources = client
        .get(&format!("{stack}/resources?nested_depth=3"))
        .await;
    same_keys(
        &resources["resources"][0],
        &fixture("heat-resource-list-depth.json")["body"]["resources"][0],
    );
    let server = client.get(&format!("{stack}/resources/server_0")).await;
    let theirs = fixture("heat-resource-show-server.json")["body"]["resource"].clone();
    same_keys(&server["resource"], &theirs);
    let missing: Vec<_> = keys(&theirs["attributes"])
        .difference(&keys(&server["resource"]["attributes"]))
        .copied()
        .collect::<Vec<_>>();
    assert!(
        missing.len() <= 2,
        "attributes of a server that are missing: {missing:?}"
    );
    let events = client
        .get(&format!("{stack}/events?nested_depth=2&sort_dir=asc"))
        .await;
    let theirs = fixture("heat-events.json")["body"]["events"][0].clone();
    same_keys(&events["events"][0], &theirs);
    assert_eq!(
        events["events"][0]["links"].as_array().unwrap().len(),
        theirs["links"].as_array().unwrap().len()
    );
    let output = client.get(&format!("{stack}/outputs/fip")).await;
    same_keys(
        &output["output"],
        &fixture("heat-output-show.json")["body"]["output"],
    );
    same_keys(
        &client.get(&format!("{stack}/environment")).await,
        &fixture("heat-environment-get.json")["body"],
    );
    assert_eq!(
        client.get(&format!("{stack}/template")).await,
        support::cluster(1)
    );
    let (status, answer) = client.send("POST", &client.stacks(), Some(body)).await;
    assert_eq!(
        (json!(status), answer),
        (
            json!(409),
            fixture("heat-409-duplicate-name.json")["body"].clone()
        )
    );
    let (status, answer) = client
        .send("DELETE", &format!("{}/small", client.stacks()), None)
        .await;
    assert_eq!(status, 302);
    same_keys(
        &answer,
        &fixture("heat-302-by-name-delete-NOT-followed.json")["body"],
    );
    let (_, answer) = client
        .send("GET", &format!("{}/nope", client.stacks()), None)
        .await;
    assert_eq!(answer, fixture("heat-404-stack.json")["body"]);
    let (_, answer) = client
        .send("GET", &format!("{stack}/resources/nope"), None)
        .await;
    assert_eq!(answer, fixture("heat-404-resource.json")["body"]);
    let body = json!({"template": support::cluster(1), "disable_rollback": true});
    let (status, answer) = client.send("PUT", &stack, Some(body)).await;
    assert_eq!(
        (json!(status), answer),
        (
            json!(202),
            fixture("heat-update-patch-202.json")["body"].clone()
        )
    );
    let foreign = "/heat/v1/11092d04873e46d5b9fd9d330f12cc5f/stacks";
    let (status, answer) = client.send("GET", foreign, None).await;
    assert_eq!(
        (json!(status), answer),
        (
            json!(403),
            fixture("heat-403-foreign-tenant.json")["body"].clone()
        )
    );
    let reader = support::Client::login(&client.base, "demo-reader", "demopw", "demo").await;
    let recorded = fixture("heat-403-reader-create.json");
    let (status, answer) = reader
        .send(
            "POST",
            &client.stacks(),
            Some(recorded["request"]["body"].clone()),
        )
        .await;
    assert_eq!(
        (json!(status), answer),
        (json!(403), recorded["body"].clone())
    );
    cloud.shutdown().await;
}

#[tokio::test]
async fn keystone_answers_have_the_recorded_keys() {
    let (cloud, client) = support::start().await;
    let recorded = fixture("keystone-token-demo.json");
    let body = Some(recorded["request"]["body"].clone());
    let (status, answer) = client.send("POST", "/identity/v3/auth/tokens", body).await;
    assert_eq!(status, 201);
    let (ours, theirs) = (&answer["token"], &recorded["body"]["token"]);
    same_keys(ours, theirs);
    let types = |token: &Value| -> BTreeSet<String> {
        let catalog = token["catalog"].as_array().unwrap().iter();
        catalog
            .map(|s| s["type"].as_str().unwrap().to_owned())
            .collect()
    };
    let missing: Vec<_> = types(theirs).difference(&types(ours)).cloned().collect();
    assert_eq!(missing, ["cloudformation", "container-infra"]);
    same_keys(
        &ours["catalog"][0]["endpoints"][0],
        &theirs["catalog"][0]["endpoints"][0],
    );
    let recorded = fixture("keystone-token-unscoped.json");
    let body = Some(recorded["request"]["body"].clone());
    let (_, answer) = client.send("POST", "/identity/v3/auth/tokens", body).await;
    same_keys(&answer["token"], &recorded["body"]["token"]);
    let recorded = fixture("keystone-401-bad-password.json");
    let body = Some(recorded["request"]["body"].clone());
    let (status, answer) = client.send("POST", "/identity/v3/auth/tokens", body).await;
    assert_eq!(status, 401);
    assert_eq!(answer, recorded["body"]);
    let recorded = fixture("keystone-application-credential-create.json");
    let path = "/identity/v3/users/d85fc77cfbe34db09091d2e1a36af302/application_credentials";
    let (status, answer) = client
        .send("POST", path, Some(recorded["request"]["body"].clone()))
        .await;
    assert_eq!(status, 201, "{answer}");
    let credential = &answer["application_credential"];
    same_keys(credential, &recorded["body"]["application_credential"]);
    let identity = json!({
        "methods": ["application_credential"],
        "application_credential": {"id": credential["id"], "secret": credential["secret"]},
    });
    let body = Some(json!({"auth": {"identity": identity}}));
    let (status, answer) = client.send("POST", "/identity/v3/auth/tokens", body).await;
    assert_eq!(status, 201);
    same_keys(
        &answer["token"],
        &fixture("keystone-token-application-credential.json")["body"]["token"],
    );
    assert_eq!(client.get("/identity/v3").await["version"]["id"], "v3.14");
    cloud.shutdown().await;
}

#[tokio::test]
async fn tags_are_cleared_by_a_put_without_them_and_kept_by_a_patch() {
    let (cloud, client) = support::start().await;
    let template = json!({"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::RandomString"}}});
    let stack = client
        .create("tagged", &template, json!({"tags": "x,y"}))
        .await;
    client.settle(&stack).await;
    let count = async |query: &str| {
        client.get(&format!("{}?{query}", client.stacks())).await["stacks"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count("tags=x,y").await, 1);
    assert_eq!(count("tags_any=x,q").await, 1);
    assert_eq!(count("not_tags=x").await, 0);
    assert_eq!(count("status=CREATE_COMPLETE&name=tagged").await, 1);
    assert_eq!(
        client
            .send("PATCH", &stack, Some(json!({"parameters": {}})))
            .await
            .0,
        202
    );
    assert_eq!(client.settle(&stack).await["tags"], json!(["x", "y"]));
    client.update(&stack, &template).await;
    assert_eq!(client.settle(&stack).await["tags"], json!([]));
    assert_eq!(count("tags=x").await, 0);
    cloud.shutdown().await;
}
