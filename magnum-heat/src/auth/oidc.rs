//! OpenID Connect: an access token from the identity provider, exchanged at Keystone.

use bytes::Bytes;
use chrono::Utc;
use http::{Method, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::{AuthContext, Identity};
use crate::{Error, Result, fault::ApiError, request::ServiceType};

const OPERATION: &str = "log in with OpenID Connect";

/// How the access token is got.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OidcGrant {
    /// As the client itself.
    ClientCredentials,
    /// With a user's password at the identity provider.
    Password {
        /// User name at the identity provider.
        username: String,
        /// Its password.
        password: SecretString,
    },
    /// An access token that exists already.
    AccessToken(SecretString),
}

/// An OpenID Connect login. `Debug` shows no secret.
#[derive(Debug, Clone)]
pub struct OidcAuth {
    /// Identity provider as Keystone names it.
    pub identity_provider: String,
    /// Protocol as Keystone names it: `openid`.
    pub protocol: String,
    /// Address of the provider's discovery document; used when no token endpoint is given.
    pub discovery_endpoint: Option<String>,
    /// Address of the provider's token endpoint.
    pub access_token_endpoint: Option<String>,
    /// Client id.
    pub client_id: Option<String>,
    /// Client secret.
    pub client_secret: Option<SecretString>,
    /// Scopes asked for, separated by blanks. Usually `openid profile`.
    pub scope: String,
    /// How the access token is got.
    pub grant: OidcGrant,
}

#[derive(Deserialize)]
struct Discovery {
    token_endpoint: String,
}

#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
}

impl OidcAuth {
    pub(crate) async fn identity(&self, cx: AuthContext<'_>) -> Result<Identity> {
        let access = match &self.grant {
            OidcGrant::AccessToken(token) => token.clone(),
            grant => self.access_token(cx, grant).await?,
        };
        let path = [
            "OS-FEDERATION",
            "identity_providers",
            &self.identity_provider,
            "protocols",
            &self.protocol,
            "auth",
        ];
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(cx.auth_url.join(&path).as_str())
            .header(
                header::AUTHORIZATION,
                format!("Bearer {}", access.expose_secret()),
            );
        let answer = send(cx, request, Bytes::new()).await?;
        let token = answer
            .headers()
            .get("x-subject-token")
            .and_then(|v| v.to_str().ok())
            .ok_or_else(|| Error::Decode {
                operation: OPERATION,
                message: "no X-Subject-Token".to_owned(),
                request_id: None,
            })?;
        Ok(Identity::token(&SecretString::from(token)))
    }

    async fn access_token(&self, cx: AuthContext<'_>, grant: &OidcGrant) -> Result<SecretString> {
        let endpoint = match (&self.access_token_endpoint, &self.discovery_endpoint) {
            (Some(endpoint), _) => endpoint.clone(),
            (None, Some(discovery)) => {
                let request = http::Request::builder().uri(checked(discovery)?.as_str());
                let answer = send(cx, request, Bytes::new()).await?;
                json::<Discovery>(&answer)?.token_endpoint
            }
            (None, None) => {
                return Err(Error::invalid(
                    OPERATION,
                    "neither a token nor a discovery endpoint is given",
                ));
            }
        };
        let body = {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.append_pair("scope", &self.scope);
            match grant {
                OidcGrant::Password { username, password } => {
                    form.append_pair("grant_type", "password");
                    form.append_pair("username", username);
                    form.append_pair("password", password.expose_secret());
                }
                _ => {
                    form.append_pair("grant_type", "client_credentials");
                }
            }
            if let Some(id) = &self.client_id {
                form.append_pair("client_id", id);
            }
            if let Some(secret) = &self.client_secret {
                form.append_pair("client_secret", secret.expose_secret());
            }
            form.finish()
        };
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(checked(&endpoint)?.as_str())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = send(cx, request, Bytes::from(body)).await?;
        Ok(json::<Granted>(&answer)?.access_token)
    }
}

fn checked(text: &str) -> Result<Url> {
    Url::parse(text).map_err(|e| Error::invalid(OPERATION, format!("{text:?} is not a URL: {e}")))
}

fn json<T: for<'de> Deserialize<'de>>(answer: &http::Response<Bytes>) -> Result<T> {
    serde_json::from_slice(answer.body()).map_err(|e| Error::Decode {
        operation: OPERATION,
        message: e.to_string(),
        request_id: None,
    })
}

async fn send(
    cx: AuthContext<'_>,
    request: http::request::Builder,
    body: Bytes,
) -> Result<http::Response<Bytes>> {
    let request = request
        .header(header::ACCEPT, "application/json")
        .body(body)
        .map_err(|e| Error::invalid(OPERATION, e.to_string()))?;
    let answer = cx.http.call(request).await.map_err(|source| Error::Http {
        operation: OPERATION,
        source,
    })?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    let source = ApiError::decode(OPERATION, ServiceType::Identity, &answer, Utc::now());
    Err(Error::Login {
        auth_url: cx.auth_url.to_string(),
        source: Box::new(source),
    })
}
