//! Warnings in time, renewal.

use futures::StreamExt as _;
use magnum_certs::ExpiryWarning;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Days of the warning and days of age of the world when it came.
async fn heard(world: &World, since: Option<DateTime<Utc>>, days: i64) -> Vec<(i64, String, i64)> {
    let mut warnings = world.certificates.expiry_warnings(&alice(), since, DAY);
    let mut heard = Vec::new();
    let end = start() + TimeDelta::days(days);
    loop {
        // The clock goes on by itself when the stream waits; without a warning it would for ever.
        let clock = Arc::clone(&world.clock);
        let over = async move {
            while magnum_core::Clock::now(&*clock) < end {
                tokio::task::yield_now().await;
            }
        };
        let next = tokio::select! {
            biased;
            next = warnings.next() => next,
            () = over => return heard,
        };
        let ExpiryWarning { days, expiry, .. } = next.unwrap().unwrap();
        let age = (magnum_core::Clock::now(&*world.clock) - start()).num_days();
        heard.push((days, expiry.name, age));
    }
}

#[tokio::test]
async fn ck_10_p_08_warnings_come_once_and_in_time() {
    let world = created().await;
    let mut operator = RequestContext::new("p", "root");
    operator.is_admin = true;
    let component = Profile::EtcdClient {
        name: "backup".into(),
    };
    for (profile, life) in [(&component, DAY * 20), (&admin_of("alice"), DAY)] {
        let issued = world
            .certificates
            .issue(&operator, "my.cluster", profile, Some(life))
            .await;
        issued.unwrap();
    }
    let overview = world.certificates.expiries(&alice(), "my.cluster").await;
    let names: Vec<_> = overview.unwrap().into_iter().map(|e| e.name).collect();
    assert_eq!(names[..2], ["admin alice", "etcd-client backup"]);
    assert_eq!(names.len(), 5);

    let first = heard(&world, None, 30).await;
    let backup = "etcd-client backup";
    let expected = [(7, 13), (1, 19), (0, 20)];
    let lines: Vec<_> = first
        .iter()
        .map(|(days, name, age)| {
            assert_eq!(name, backup, "nobody is warned of a day's certificate");
            (*days, *age)
        })
        .collect();
    assert_eq!(lines.len(), 3, "{first:?}");
    for ((days, age), (wanted, at)) in lines.iter().zip(expected) {
        assert_eq!(*days, wanted);
        assert!((at..=at + 1).contains(age), "{first:?}");
    }

    // Another process goes on from the last look; the authorities live for 3650 days.
    let since = magnum_core::Clock::now(&*world.clock);
    world.clock.advance(DAY * 3520);
    let second = heard(&world, Some(since), 3660).await;
    let of = |name: &str| -> Vec<i64> {
        let own = second.iter().filter(|(_, have, _)| have == name);
        own.map(|(days, ..)| *days).collect()
    };
    for kind in AuthorityKind::ALL {
        let name = format!("{kind}-ca generation 1");
        assert_eq!(of(&name), [90, 30, 7, 1, 0], "{name}");
    }
    assert_eq!(second.len(), 15);
}

#[tokio::test]
async fn warnings_know_only_what_the_caller_sees() {
    let world = created().await;
    let other = RequestContext::new("q", "bob");
    let mut warnings = world.certificates.expiry_warnings(&other, None, DAY);
    world.clock.advance(DAY * 3640);
    let none = tokio::select! {
        biased;
        next = warnings.next() => next.map(|item| item.is_ok()),
        () = async { for _ in 0..50 { tokio::task::yield_now().await } } => None,
    };
    assert_eq!(none, None);
}

#[tokio::test]
async fn ck_10_a_leaf_is_renewed_when_it_is_due_and_not_before() {
    let world = created().await;
    let (certificates, profile) = (&world.certificates, admin_of("alice"));
    let issued = certificates
        .issue(&alice(), "my.cluster", &profile, Some(DAY * 3))
        .await
        .unwrap();
    let renew = async || {
        certificates
            .renew(&alice(), "my.cluster", issued.certificate(), &profile, None)
            .await
            .unwrap()
    };
    assert!(renew().await.is_none());
    world.clock.advance(Duration::from_secs(50 * 3600));
    let new = renew().await.unwrap();
    assert_eq!(new.certificate().common_name(), "alice");
    assert!(new.certificate().not_after() < issued.certificate().not_after() + DAY);
    let all = certificates
        .issued(&alice(), "my.cluster", &IssuedQuery::default())
        .await;
    assert_eq!(all.unwrap().len(), 2);
    let reader = RequestContext::new("p", "eve").with_roles(["reader"]);
    let refused = certificates
        .renew(&reader, "my.cluster", issued.certificate(), &profile, None)
        .await;
    assert!(matches!(refused, Err(Error::NotAllowed { .. })));
}
