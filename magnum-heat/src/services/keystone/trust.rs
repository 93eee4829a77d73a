//! Trusts.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use http::Method;
use serde::Deserialize;
use serde_json::{Map, json};

use crate::{
    Result,
    auth::TrustId,
    request::{Answer, Body, Path, Request, ServiceType, request, segments},
    session::NamedRef,
    wire,
};

/// A trust: the trustee may act as the trustor in a project.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Trust {
    /// Id.
    #[serde(deserialize_with = "trust_id")]
    pub id: TrustId,
    /// Who trusts.
    pub trustor_user_id: String,
    /// Who is trusted.
    pub trustee_user_id: String,
    /// Project.
    #[serde(default)]
    pub project_id: Option<String>,
    /// Roles.
    #[serde(default)]
    pub roles: Vec<NamedRef>,
    /// When it ends.
    #[serde(default, deserialize_with = "wire::option")]
    pub expires_at: Option<DateTime<Utc>>,
}

fn trust_id<'de, D: serde::Deserializer<'de>>(d: D) -> Result<TrustId, D::Error> {
    Ok(TrustId::from(String::deserialize(d)?))
}

/// Creates a trust (`AU-07`): no redelegation, impersonation on. The trustor must be the logged-in user.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CreateTrust {
    /// Who trusts, by id.
    pub trustor: String,
    /// Who is trusted, by id.
    pub trustee: String,
    /// Project, by id.
    pub project: String,
    /// Roles, by name.
    pub roles: Vec<String>,
    /// When it ends; `None` is never.
    pub expires_at: Option<DateTime<Utc>>,
}

impl CreateTrust {
    /// A trust of these roles that does not end.
    pub fn new<S: Into<String>>(
        trustor: impl Into<String>,
        trustee: impl Into<String>,
        project: impl Into<String>,
        roles: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            trustor: trustor.into(),
            trustee: trustee.into(),
            project: project.into(),
            roles: roles.into_iter().map(Into::into).collect(),
            expires_at: None,
        }
    }
}

impl Request for CreateTrust {
    type Output = Trust;
    const SERVICE: ServiceType = ServiceType::Identity;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "create trust";

    fn path(&self) -> Path {
        segments!["OS-TRUST", "trusts"]
    }

    fn body(&self) -> Result<Body> {
        let mut body = Map::new();
        body.insert("trustor_user_id".into(), self.trustor.clone().into());
        body.insert("trustee_user_id".into(), self.trustee.clone().into());
        body.insert("project_id".into(), self.project.clone().into());
        body.insert("impersonation".into(), true.into());
        body.insert("allow_redelegation".into(), false.into());
        body.insert(
            "roles".into(),
            self.roles
                .iter()
                .map(|name| json!({"name": name}))
                .collect(),
        );
        if let Some(at) = self.expires_at {
            body.insert(
                "expires_at".into(),
                at.to_rfc3339_opts(SecondsFormat::Micros, true).into(),
            );
        }
        Body::json(Self::OPERATION, &json!({"trust": body}))
    }

    fn decode(&self, answer: Answer) -> Result<Trust> {
        answer.json_at("trust")
    }
}

request! {
    /// Lists the trusts that a user gave.
    ListTrusts {
        /// Trustor, by id.
        trustor: String,
    } => Vec<Trust>;
    Identity GET "list trusts";
    path: |_r| segments!["OS-TRUST", "trusts"];
    query: |r| vec![("trustor_user_id".into(), r.trustor.clone())];
    decode: |answer| answer.json_at("trusts")
}

/// Deletes a trust.
#[derive(Clone)]
pub struct DeleteTrust {
    /// Id.
    pub id: TrustId,
}

impl fmt::Debug for DeleteTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeleteTrust(..)")
    }
}

impl Request for DeleteTrust {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Identity;
    const METHOD: Method = Method::DELETE;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "delete trust";

    fn path(&self) -> Path {
        segments!["OS-TRUST", "trusts", self.id.expose()]
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_07_the_trust_body_holds_documented_fields_only() {
        let mut trust = CreateTrust::new("a", "b", "p", ["member"]);
        trust.expires_at = Some(Utc::now());
        let Body::Json(body) = trust.body().unwrap() else {
            panic!("no JSON")
        };
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let allowed = [
            "trustor_user_id",
            "trustee_user_id",
            "project_id",
            "impersonation",
            "roles",
            "expires_at",
            "allow_redelegation",
            "remaining_uses",
        ];
        let body = body["trust"].as_object().unwrap();
        assert!(
            body.keys().all(|key| allowed.contains(&key.as_str())),
            "{body:?}"
        );
        assert_eq!(body["allow_redelegation"], false);
    }
}
