//! When an add-on works, as a decision over its objects.

use serde_json::Value;

use crate::kubernetes::ObjectRef;

/// How many of a workload's pods have to be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All of them.
    Every,
    /// One of the current generation. For what nodes need to become ready: whether each node has it shows in the
    /// node, and a node that is dead must not hold up the others.
    One,
}

/// One object that has to be in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadinessTest {
    /// The object: a DaemonSet or a Deployment.
    pub object: ObjectRef,
    /// How many pods.
    pub coverage: Coverage,
}

/// Whether an add-on works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddonState {
    /// It works.
    Ready,
    /// Not yet; why, in words for an operator.
    Waiting(String),
}

impl ReadinessTest {
    /// The test of an object, if its kind has one.
    pub(crate) fn of(object: ObjectRef, coverage: Coverage) -> Option<Self> {
        let workload = object.api_version == "apps/v1"
            && matches!(object.kind.as_str(), "DaemonSet" | "Deployment");
        workload.then_some(Self { object, coverage })
    }

    /// Judges the object as the API shows it; `None` when it is not there.
    #[must_use]
    pub fn judge(&self, object: Option<&Value>) -> AddonState {
        let Some(object) = object else {
            return AddonState::Waiting(format!("{} is not there", self.object));
        };
        let status = &object["status"];
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        if number(&status["observedGeneration"]) < number(&object["metadata"]["generation"]) {
            return AddonState::Waiting(format!(
                "{} was not looked at by its controller yet",
                self.object
            ));
        }
        let (wanted, updated, ready) = if self.object.kind == "DaemonSet" {
            let wanted = number(&status["desiredNumberScheduled"]);
            (
                wanted,
                number(&status["updatedNumberScheduled"]),
                number(&status["numberReady"]),
            )
        } else {
            let wanted = object["spec"]["replicas"].as_u64().unwrap_or(1);
            (
                wanted,
                number(&status["updatedReplicas"]),
                number(&status["readyReplicas"]),
            )
        };
        let needed = match self.coverage {
            Coverage::Every => wanted,
            Coverage::One => wanted.min(1),
        };
        // A DaemonSet that wants no pod has no node to run on, which is no success before there is one.
        if self.object.kind == "DaemonSet" && wanted == 0 {
            return AddonState::Waiting(format!("{} has no node to run on yet", self.object));
        }
        if updated >= needed && ready >= needed {
            return AddonState::Ready;
        }
        AddonState::Waiting(format!(
            "{}: {ready} of {wanted} pods ready, {updated} up to date",
            self.object
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn daemon_set(coverage: Coverage) -> ReadinessTest {
        let object = ObjectRef::namespaced("apps/v1", "DaemonSet", "n", "d");
        ReadinessTest::of(object, coverage).unwrap()
    }

    fn object(observed: u64, wanted: u64, updated: u64, ready: u64) -> Value {
        json!({"metadata": {"generation": 2}, "status": {"observedGeneration": observed, "desiredNumberScheduled": wanted,
            "updatedNumberScheduled": updated, "numberReady": ready}})
    }

    #[test]
    fn daemon_set_numbers() {
        let every = daemon_set(Coverage::Every);
        assert_eq!(every.judge(Some(&object(2, 3, 3, 3))), AddonState::Ready);
        let AddonState::Waiting(why) = every.judge(Some(&object(2, 3, 3, 2))) else {
            panic!("ready")
        };
        assert_eq!(why, "DaemonSet n/d: 2 of 3 pods ready, 3 up to date");
        assert!(matches!(
            every.judge(Some(&object(1, 3, 3, 3))),
            AddonState::Waiting(_)
        ));
        assert!(matches!(
            every.judge(Some(&object(2, 0, 0, 0))),
            AddonState::Waiting(_)
        ));
        assert!(matches!(every.judge(None), AddonState::Waiting(_)));
        let one = daemon_set(Coverage::One);
        assert_eq!(one.judge(Some(&object(2, 3, 1, 1))), AddonState::Ready);
        assert!(matches!(
            one.judge(Some(&object(2, 3, 0, 3))),
            AddonState::Waiting(_)
        ));
    }

    #[test]
    fn deployment_numbers() {
        let object = ObjectRef::namespaced("apps/v1", "Deployment", "n", "d");
        let test = ReadinessTest::of(object, Coverage::Every).unwrap();
        let ready =
            json!({"spec": {"replicas": 1}, "status": {"updatedReplicas": 1, "readyReplicas": 1}});
        assert_eq!(test.judge(Some(&ready)), AddonState::Ready);
        assert!(matches!(
            test.judge(Some(&json!({"spec": {"replicas": 1}}))),
            AddonState::Waiting(_)
        ));
        assert_eq!(
            test.judge(Some(&json!({"spec": {"replicas": 0}}))),
            AddonState::Ready
        );
    }

    #[test]
    fn other_kinds_have_no_test() {
        assert_eq!(
            ReadinessTest::of(ObjectRef::cluster("v1", "Namespace", "n"), Coverage::Every),
            None
        );
    }
}
