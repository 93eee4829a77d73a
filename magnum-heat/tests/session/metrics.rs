//! Counts and times of calls, with feature `metrics`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use magnum_heat::{
    nova,
    stack::{DeleteStack, ListStacks, StackRef},
    testing::{Reply, Script},
};
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use serde_json::json;

/// Keeps everything by its name and labels.
#[derive(Default)]
struct Kept(Arc<Mutex<BTreeMap<String, u64>>>);

struct One(Arc<Mutex<BTreeMap<String, u64>>>, String);

impl One {
    fn add(&self, by: u64) {
        *self.0.lock().unwrap().entry(self.1.clone()).or_default() += by;
    }
}

impl CounterFn for One {
    fn increment(&self, value: u64) {
        self.add(value);
    }
    fn absolute(&self, _value: u64) {}
}

impl HistogramFn for One {
    fn record(&self, value: f64) {
        assert!(value >= 0.0);
        self.add(1);
    }
}

impl Kept {
    fn one(&self, key: &Key) -> Arc<One> {
        let labels: Vec<String> = key.labels().map(|l| l.value().to_owned()).collect();
        Arc::new(One(
            self.0.clone(),
            format!("{} {}", key.name(), labels.join("|")),
        ))
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.one(key))
    }
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.one(key))
    }
}

#[test]
fn calls_repeats_and_logins_are_counted() {
    let kept = Kept::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    metrics::with_local_recorder(&kept, || {
        runtime.block_on(async {
            let script = Script::new()
                .then(Reply::empty(503))
                .then(Reply::json(200, &json!({"stacks": []})))
                .then(Reply::empty(401))
                .then(Reply::empty(204))
                .then(Reply::empty(409));
            let session = script.session().await.unwrap();
            session.send(ListStacks::new()).await.unwrap();
            let stack = StackRef::new("s", "i");
            session.send(DeleteStack { stack }).await.unwrap();
            session
                .send(nova::DeleteServer { id: "s".into() })
                .await
                .unwrap_err();
            session
                .send(nova::DeleteServer { id: "".into() })
                .await
                .unwrap_err();
        });
    });
    let seen = kept.0.lock().unwrap().clone();
    let want = [
        ("openstack_calls_total compute|delete server|4xx", 1),
        ("openstack_calls_total compute|delete server|not_sent", 1),
        ("openstack_calls_total orchestration|delete stack|2xx", 1),
        ("openstack_calls_total orchestration|list stacks|2xx", 1),
        ("openstack_call_seconds compute|delete server", 2),
        ("openstack_call_seconds orchestration|delete stack", 1),
        ("openstack_call_seconds orchestration|list stacks", 1),
        ("openstack_logins_total ok", 2),
        (
            "openstack_repeats_total orchestration|delete stack|refused token",
            1,
        ),
        (
            "openstack_repeats_total orchestration|list stacks|overloaded",
            1,
        ),
    ];
    let want: BTreeMap<String, u64> = want.map(|(k, n)| (k.to_owned(), n)).into();
    assert_eq!(seen, want);
}
