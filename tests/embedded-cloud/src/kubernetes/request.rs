//! What a request's address asks for.

use std::collections::HashMap;

use super::error::ApiError;

/// The parts of `/apis/<group>/<version>/namespaces/<ns>/<plural>/<name>/<sub>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: String,
    pub(crate) sub: String,
}

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/livez`, `/readyz`, `/healthz` and what is below them.
    Health,
    /// `/version`.
    Version,
    /// `/api`, `/apis`, their groups and versions, `/openapi/...`: the path without the first `/`.
    Discovery(String),
    /// Objects.
    Resource(ResourcePath),
}

/// Parses a path.
pub(crate) fn parse(path: &str) -> Result<Target, ApiError> {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let rest = match parts.as_slice() {
        ["livez" | "readyz" | "healthz", ..] => return Ok(Target::Health),
        ["version"] => return Ok(Target::Version),
        ["api"] | ["api", _] | ["apis"] | ["apis", _] | ["apis", _, _] | ["openapi", ..] => {
            return Ok(Target::Discovery(parts.join("/")));
        }
        ["api", rest @ ..] => [&[""], rest].concat(),
        ["apis", rest @ ..] => rest.to_vec(),
        _ => return Err(ApiError::no_such_path()),
    };
    let text = |s: &&str| percent_decode(s);
    let mut path = ResourcePath {
        group: text(&rest[0]),
        version: text(&rest[1]),
        ..ResourcePath::default()
    };
    let mut place = |namespace: &str, plural: &str, name: &str, sub: &str| {
        path.namespace = percent_decode(namespace);
        path.plural = percent_decode(plural);
        path.name = percent_decode(name);
        path.sub = percent_decode(sub);
    };
    match &rest[2..] {
        ["namespaces", name, sub @ ("status" | "finalize")] => place("", "namespaces", name, sub),
        ["namespaces", ns, plural] => place(ns, plural, "", ""),
        ["namespaces", ns, plural, name] => place(ns, plural, name, ""),
        ["namespaces", ns, plural, name, sub] => place(ns, plural, name, sub),
        [plural] => place("", plural, "", ""),
        [plural, name] => place("", plural, name, ""),
        [plural, name, sub] => place("", plural, name, sub),
        _ => return Err(ApiError::no_such_path()),
    }
    Ok(Target::Resource(path))
}

fn percent_decode(text: &str) -> String {
    // A path segment: a plus sign is itself.
    let escaped = text.replace('+', "%2B");
    url::form_urlencoded::parse(format!("v={escaped}").as_bytes())
        .next()
        .map_or_else(String::new, |(_, v)| v.into_owned())
}

/// Query parameters; the last one of a name counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    /// Parses what stands behind the question mark.
    pub(crate) fn parse(query: Option<&str>) -> Self {
        Self(
            url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
                .into_owned()
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        matches!(self.get(name), "true" | "1")
    }

    /// `dryRun=All`.
    pub(crate) fn dry_run(&self) -> bool {
        self.get("dryRun") == "All"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> ResourcePath {
        match parse(path).unwrap() {
            Target::Resource(r) => r,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn paths_are_taken_apart() {
        let r = resource("/apis/apps/v1/namespaces/kube-system/daemonsets/x/status");
        assert_eq!(
            (
                r.group.as_str(),
                r.namespace.as_str(),
                r.name.as_str(),
                r.sub.as_str()
            ),
            ("apps", "kube-system", "x", "status")
        );
        let r = resource("/api/v1/namespaces/default");
        assert_eq!(
            (r.plural.as_str(), r.name.as_str(), r.namespace.as_str()),
            ("namespaces", "default", "")
        );
        let r = resource("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode");
        assert_eq!(r.name, "system:node");
        assert_eq!(parse("/readyz/etcd").unwrap(), Target::Health);
        assert_eq!(
            parse("/apis/apps/v1").unwrap(),
            Target::Discovery("apis/apps/v1".into())
        );
        assert!(parse("/metrics").is_err());
    }
}
