//! Every operation of Heat's API, after its route table (`heat/api/openstack/v1/__init__.py`), with what a real Heat
//! answers to it.

/// How a real Heat answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// With a success.
    Success,
    /// With this status, which is no error: a redirect, a choice of versions.
    Status(u16),
    /// With a refusal of this status and fault type, because its operator has to switch the operation on first, and
    /// Heat's default is off.
    Refusal(u16, &'static str),
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    /// Path below the endpoint; `*` is any one segment.
    path: &'static str,
    /// Key of the body that tells it from others of the same route.
    key: Option<&'static str>,
    pub(crate) answers: Answers,
}

const fn op(
    name: &'static str,
    method: &'static str,
    path: &'static str,
    answers: Answers,
) -> Operation {
    Operation {
        name,
        method,
        path,
        key: None,
        answers,
    }
}

const fn keyed(
    name: &'static str,
    method: &'static str,
    path: &'static str,
    key: &'static str,
    answers: Answers,
) -> Operation {
    Operation {
        name,
        method,
        path,
        key: Some(key),
        answers,
    }
}

use Answers::{Refusal, Status, Success};

/// Switched off by Heat's defaults `enable_stack_adopt` and `enable_stack_abandon`.
const OFF: Answers = Refusal(400, "NotSupported");

/// All of them; where two fit, the first is meant.
pub(crate) const OPERATIONS: &[Operation] = &[
    op("api versions", "GET", "/", Status(300)),
    // Stacks.
    op("list", "GET", "/stacks", Success),
    op("list detail", "GET", "/stacks/detail", Success),
    keyed("adopt", "POST", "/stacks", "adopt_stack_data", OFF),
    op("create", "POST", "/stacks", Success),
    op("preview", "POST", "/stacks/preview", Success),
    op("find", "GET", "/stacks/*", Status(302)),
    op("find below", "GET", "/stacks/*/resources", Status(302)),
    op("show", "GET", "/stacks/*/*", Success),
    op("update PUT", "PUT", "/stacks/*/*", Success),
    op("update PATCH", "PATCH", "/stacks/*/*", Success),
    op("preview update PUT", "PUT", "/stacks/*/*/preview", Success),
    op(
        "preview update PATCH",
        "PATCH",
        "/stacks/*/*/preview",
        Success,
    ),
    op("delete", "DELETE", "/stacks/*/*", Success),
    op("abandon", "DELETE", "/stacks/*/*/abandon", OFF),
    op("export", "GET", "/stacks/*/*/export", OFF),
    // Their parts.
    op("template", "GET", "/stacks/*/*/template", Success),
    op("environment", "GET", "/stacks/*/*/environment", Success),
    op("files", "GET", "/stacks/*/*/files", Success),
    op("outputs list", "GET", "/stacks/*/*/outputs", Success),
    op("output show", "GET", "/stacks/*/*/outputs/*", Success),
    // Snapshots.
    op("snapshot create", "POST", "/stacks/*/*/snapshots", Success),
    op("snapshot list", "GET", "/stacks/*/*/snapshots", Success),
    op("snapshot show", "GET", "/stacks/*/*/snapshots/*", Success),
    op(
        "snapshot delete",
        "DELETE",
        "/stacks/*/*/snapshots/*",
        Success,
    ),
    op(
        "snapshot restore",
        "POST",
        "/stacks/*/*/snapshots/*/restore",
        Success,
    ),
    // Actions.
    keyed("suspend", "POST", "/stacks/*/*/actions", "suspend", Success),
    keyed("resume", "POST", "/stacks/*/*/actions", "resume", Success),
    keyed("check", "POST", "/stacks/*/*/actions", "check", Success),
    keyed(
        "cancel_update",
        "POST",
        "/stacks/*/*/actions",
        "cancel_update",
        Success,
    ),
    keyed(
        "cancel_without_rollback",
        "POST",
        "/stacks/*/*/actions",
        "cancel_without_rollback",
        Success,
    ),
    // Resources and events.
    op("resource list", "GET", "/stacks/*/*/resources", Success),
    op("resource show", "GET", "/stacks/*/*/resources/*", Success),
    op(
        "resource metadata",
        "GET",
        "/stacks/*/*/resources/*/metadata",
        Success,
    ),
    op(
        "resource signal",
        "POST",
        "/stacks/*/*/resources/*/signal",
        Success,
    ),
    op(
        "resource mark unhealthy",
        "PATCH",
        "/stacks/*/*/resources/*",
        Success,
    ),
    op("event list", "GET", "/stacks/*/*/events", Success),
    op(
        "event list of resource",
        "GET",
        "/stacks/*/*/resources/*/events",
        Success,
    ),
    op(
        "event show",
        "GET",
        "/stacks/*/*/resources/*/events/*",
        Success,
    ),
    // Types and templates.
    op("resource types", "GET", "/resource_types", Success),
    op("resource type schema", "GET", "/resource_types/*", Success),
    op(
        "resource type template",
        "GET",
        "/resource_types/*/template",
        Success,
    ),
    op("template versions", "GET", "/template_versions", Success),
    op(
        "template functions",
        "GET",
        "/template_versions/*/functions",
        Success,
    ),
    op("validate", "POST", "/validate", Success),
    // Software configs and deployments.
    op("config list", "GET", "/software_configs", Success),
    op("config create", "POST", "/software_configs", Success),
    op("config show", "GET", "/software_configs/*", Success),
    op("config delete", "DELETE", "/software_configs/*", Success),
    op("deployment list", "GET", "/software_deployments", Success),
    op(
        "deployment create",
        "POST",
        "/software_deployments",
        Success,
    ),
    op(
        "deployment metadata",
        "GET",
        "/software_deployments/metadata/*",
        Success,
    ),
    op("deployment show", "GET", "/software_deployments/*", Success),
    op(
        "deployment update",
        "PUT",
        "/software_deployments/*",
        Success,
    ),
    op(
        "deployment delete",
        "DELETE",
        "/software_deployments/*",
        Success,
    ),
    // The service itself.
    op("build info", "GET", "/build_info", Success),
    op("services", "GET", "/services", Success),
];

impl Operation {
    fn fits(&self, method: &str, path: &str, body: &serde_json::Value) -> bool {
        let same = |(want, got): (&str, &str)| want == "*" && !got.is_empty() || want == got;
        self.method == method
            && self.path.split('/').count() == path.split('/').count()
            && self.path.split('/').zip(path.split('/')).all(same)
            && self.key.is_none_or(|key| body.get(key).is_some())
    }
}

/// The operation that a request is, by its path below the endpoint (without query) and its body.
pub(crate) fn operation_of(
    method: &str,
    path: &str,
    body: &serde_json::Value,
) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|o| o.fits(method, path, body))
}
