//! A quota failure and its diagnosis.

use std::time::Duration;

use magnum_heat::{
    Error,
    diagnose::{CauseKind, root_cause},
    follow::{Until, wait_for},
    nova,
    stack::CreateStack,
};
use serde_json::json;

use super::project::*;
#[tokio::test(flavor = "multi_thread")]
async fn quota_failure_is_diagnosed() {
    let project = Project::new("heat-quota").await;
    let quotas = json!({"instances": 0}).as_object().unwrap().clone();
    project
        .admin
        .send(nova::SetQuota {
            project: project.id.clone(),
            quotas,
        })
        .await
        .unwrap();
    let s = &project.session;
    let made = s.send(CreateStack::new("q1", cluster())).await.unwrap();
    let error = wait_for(
        s,
        &made.stack,
        Until::complete(),
        Duration::from_secs(1),
        Duration::from_secs(300),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, Error::StackState { .. }), "{error}");
    let cause = root_cause(s, &made.stack).await.unwrap().unwrap();
    let CauseKind::Quota(numbers) = &cause.kind else {
        panic!("{cause:?}")
    };
    assert_eq!(
        (numbers.resource.as_str(), numbers.limit),
        ("instances", Some(0))
    );
    assert_eq!(cause.path, ["server_0"]);
    println!("{cause}");
    assert_eq!(
        s.send(nova::GetQuota {
            project: project.id.clone()
        })
        .await
        .unwrap()
        .instances
        .free(),
        Some(0)
    );
    gone(s, &made.stack).await;
    project.remove().await;
}
