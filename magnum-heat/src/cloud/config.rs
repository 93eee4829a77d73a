//! The settings of one cloud.

use std::{collections::BTreeMap, fmt, str::FromStr};

use secrecy::SecretString;
use serde_json::{Map, Value};
use url::Url;

use super::{ConfigError, Env, file};
use crate::{
    auth::{Auth, AuthUrl, DomainRef, ProjectRef, Scope, UserRef},
    http::{HttpConfig, TlsConfig},
};

/// Which of a service's endpoints is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Interface {
    /// For everybody.
    #[default]
    Public,
    /// Inside the cloud's own network.
    Internal,
    /// For administrators.
    Admin,
}

impl Interface {
    /// As the catalog spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Interface {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim_end_matches("URL") {
            "public" => Ok(Self::Public),
            "internal" => Ok(Self::Internal),
            "admin" => Ok(Self::Admin),
            _ => Err("must be public, internal or admin".to_owned()),
        }
    }
}

/// Where a cloud is, as whom to log in, and how to reach its services.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CloudConfig {
    /// Keystone's address.
    pub auth_url: AuthUrl,
    /// Credential.
    pub auth: Auth,
    /// What the token is for.
    pub scope: Scope,
    /// Region for every service; may stay unset where the catalog has one region only.
    pub region: Option<String>,
    /// Interface for every service.
    pub interface: Interface,
    /// Endpoints that replace the catalog's, by service type.
    pub endpoint_overrides: BTreeMap<String, Url>,
    /// TLS settings.
    pub tls: TlsConfig,
    /// Proxy for every request; from `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` when loaded.
    pub proxy: Option<Url>,
}

impl CloudConfig {
    /// Settings made by code: public interface, no region, default TLS.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] when the address is not an HTTP URL.
    pub fn new(auth_url: &str, auth: Auth, scope: Scope) -> Result<Self, ConfigError> {
        let auth_url = AuthUrl::parse(auth_url).map_err(|reason| ConfigError::BadValue {
            place: "settings".to_owned(),
            key: "auth_url".to_owned(),
            reason,
        })?;
        Ok(Self {
            auth_url,
            auth,
            scope,
            region: None,
            interface: Interface::Public,
            endpoint_overrides: BTreeMap::new(),
            tls: TlsConfig::default(),
            proxy: None,
        })
    }

    /// The same cloud with another credential and scope; region, interface, overrides and TLS stay.
    #[must_use]
    pub fn with_auth(mut self, auth: Auth, scope: Scope) -> Self {
        self.auth = auth;
        self.scope = scope;
        self
    }

    /// Reads the settings of a cloud.
    ///
    /// The name is `name`, else `OS_CLOUD`. Without a name: `OS_AUTH_URL` and its companions when set, else the only
    /// cloud of the file. Files are `clouds.yaml`, `secure.yaml`, `clouds-public.yaml` in the current folder, the user's
    /// and the site's configuration folder, or where `OS_CLIENT_CONFIG_FILE`, `OS_CLIENT_SECURE_FILE` and
    /// `OS_CLIENT_VENDOR_FILE` say. `secure.yaml` is laid over `clouds.yaml`, which is laid over the profile.
    ///
    /// # Errors
    /// [`ConfigError`], naming file, cloud and key.
    pub fn load(name: Option<&str>, env: &Env) -> Result<Self, ConfigError> {
        let name = name.or_else(|| env.var("OS_CLOUD"));
        let mut cloud = if name.is_none() && env.var("OS_AUTH_URL").is_some() {
            Self::from_settings(&from_variables(env), "environment")?
        } else {
            match file::find(name, env)? {
                Some(raw) => Self::from_settings(&raw.settings, &raw.place)?,
                None => {
                    return Err(ConfigError::NoSource {
                        looked_at: file::places(env),
                    });
                }
            }
        };
        cloud.proxy = env.proxy_for(cloud.auth_url.as_url())?;
        Ok(cloud)
    }

    /// Reads one cloud from the text of a `clouds.yaml`.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn from_yaml(text: &str, cloud: &str) -> Result<Self, ConfigError> {
        let file = || "clouds.yaml".to_owned();
        let mut clouds =
            file::parse_section(text, "clouds").map_err(|reason| ConfigError::Malformed {
                file: file(),
                reason,
            })?;
        match clouds.remove(cloud) {
            Some(Value::Object(settings)) => {
                Self::from_settings(&settings, &format!("clouds.yaml: cloud {cloud:?}"))
            }
            _ => Err(ConfigError::NoCloud {
                cloud: cloud.to_owned(),
                file: file(),
                available: clouds.keys().cloned().collect(),
            }),
        }
    }

    /// The HTTP settings that go with this cloud.
    pub fn http_config(&self) -> HttpConfig {
        let mut config = HttpConfig::with_tls(self.tls.clone());
        config.proxy.clone_from(&self.proxy);
        config
    }

    fn from_settings(settings: &Map<String, Value>, place: &str) -> Result<Self, ConfigError> {
        let reader = Reader {
            settings,
            auth: settings.get("auth").and_then(Value::as_object),
            place,
        };
        let auth_url = AuthUrl::parse(&reader.need("auth_url")?)
            .map_err(|reason| reader.bad("auth_url", reason))?;
        let interface = match reader
            .get("interface")
            .or_else(|| reader.get("endpoint_type"))
        {
            Some(text) => text
                .parse()
                .map_err(|reason| reader.bad("interface", reason))?,
            None => Interface::Public,
        };
        let mut overrides = BTreeMap::new();
        for key in settings.keys() {
            if let Some(service) = key
                .strip_suffix("_endpoint_override")
                .or_else(|| key.strip_suffix("_endpoint"))
                && let Some(text) = reader.get(key)
            {
                let url = Url::parse(&text).map_err(|e| reader.bad(key, e.to_string()))?;
                overrides.insert(service.replace('_', "-"), url);
            }
        }
        Ok(Self {
            auth_url,
            auth: reader.credential()?,
            scope: reader.scope(),
            region: reader.get("region_name"),
            interface,
            endpoint_overrides: overrides,
            tls: reader.tls()?,
            proxy: None,
        })
    }
}

/// `OS_*` as the map that `clouds.yaml` would hold.
fn from_variables(env: &Env) -> Map<String, Value> {
    const KEYS: &[&str] = &[
        "auth_type",
        "auth_url",
        "username",
        "user_id",
        "password",
        "token",
        "project_name",
        "project_id",
        "tenant_name",
        "tenant_id",
        "user_domain_name",
        "user_domain_id",
        "project_domain_name",
        "project_domain_id",
        "default_domain",
        "default_domain_id",
        "default_domain_name",
        "domain_name",
        "domain_id",
        "system_scope",
        "trust_id",
        "application_credential_id",
        "application_credential_name",
        "application_credential_secret",
        "region_name",
        "interface",
        "endpoint_type",
        "cacert",
        "cert",
        "key",
        "insecure",
        "identity_provider",
        "protocol",
        "client_id",
        "client_secret",
        "access_token",
        "discovery_endpoint",
        "access_token_endpoint",
        "openid_scope",
    ];
    KEYS.iter()
        .filter_map(|key| {
            let value = env.var(&format!("OS_{}", key.to_uppercase()))?;
            Some(((*key).to_owned(), Value::String(value.to_owned())))
        })
        .collect()
}

/// Typed access to the raw settings of one cloud.
struct Reader<'a> {
    settings: &'a Map<String, Value>,
    auth: Option<&'a Map<String, Value>>,
    place: &'a str,
}

impl Reader<'_> {
    fn get(&self, key: &str) -> Option<String> {
        let find = |map: &Map<String, Value>| match map.get(key)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        };
        self.auth.and_then(find).or_else(|| find(self.settings))
    }

    fn any(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.get(key))
    }

    fn need(&self, key: &str) -> Result<String, ConfigError> {
        self.get(key).ok_or_else(|| ConfigError::Missing {
            place: self.place.to_owned(),
            key: key.to_owned(),
        })
    }

    fn secret(&self, key: &str) -> Result<SecretString, ConfigError> {
        self.need(key).map(SecretString::from)
    }

    fn bad(&self, key: &str, reason: impl Into<String>) -> ConfigError {
        ConfigError::BadValue {
            place: self.place.to_owned(),
            key: key.to_owned(),
            reason: reason.into(),
        }
    }

    fn domain(&self, prefix: &str) -> Option<DomainRef> {
        let id = self.any(&[
            &format!("{prefix}_domain_id"),
            "default_domain_id",
            "default_domain",
        ]);
        let name = self.get(&format!("{prefix}_domain_name"));
        match (self.get(&format!("{prefix}_domain_id")), name) {
            (Some(id), _) => Some(DomainRef::Id(id)),
            (None, Some(name)) => Some(DomainRef::Name(name)),
            (None, None) => id
                .map(DomainRef::Id)
                .or_else(|| self.get("default_domain_name").map(DomainRef::Name)),
        }
    }

    fn user(&self) -> Result<UserRef, ConfigError> {
        if let Some(id) = self.get("user_id") {
            return Ok(UserRef::Id(id));
        }
        let name = self.need("username")?;
        let domain = self
            .domain("user")
            .unwrap_or_else(|| DomainRef::Id("default".to_owned()));
        Ok(UserRef::Name { name, domain })
    }

    fn scope(&self) -> Scope {
        if let Some(id) = self.get("trust_id") {
            return Scope::Trust(id.into());
        }
        let unscoped = self.get("unscoped");
        if unscoped.is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Scope::Unscoped;
        }
        if self.get("system_scope").is_some() {
            return Scope::System;
        }
        if let Some(id) = self.any(&["project_id", "tenant_id"]) {
            return Scope::Project(ProjectRef::Id(id));
        }
        if let Some(name) = self.any(&["project_name", "tenant_name"]) {
            let domain = self
                .domain("project")
                .unwrap_or_else(|| DomainRef::Id("default".to_owned()));
            return Scope::Project(ProjectRef::Name { name, domain });
        }
        if let Some(id) = self.get("domain_id") {
            return Scope::Domain(DomainRef::Id(id));
        }
        self.get("domain_name").map_or(Scope::UserDefault, |name| {
            Scope::Domain(DomainRef::Name(name))
        })
    }

    fn credential(&self) -> Result<Auth, ConfigError> {
        let kind = self.get("auth_type").unwrap_or_default();
        let has_application_credential = self
            .any(&["application_credential_id", "application_credential_name"])
            .is_some();
        match kind.as_str() {
            "v3applicationcredential" => self.application_credential(),
            "token" | "v3token" => Ok(Auth::Token(self.secret("token")?)),
            "" if has_application_credential => self.application_credential(),
            "" | "password" | "v3password" => {
                if kind.is_empty() && self.get("password").is_none() && self.get("token").is_some()
                {
                    return Ok(Auth::Token(self.secret("token")?));
                }
                Ok(Auth::Password {
                    user: self.user()?,
                    password: self.secret("password")?,
                })
            }
            "v3oidcpassword" | "v3oidcclientcredentials" | "v3oidcaccesstoken" => self.oidc(&kind),
            other => Err(self.bad("auth_type", format!("{other:?} is not supported"))),
        }
    }

    fn application_credential(&self) -> Result<Auth, ConfigError> {
        let secret = self.secret("application_credential_secret")?;
        if let Some(id) = self.get("application_credential_id") {
            return Ok(Auth::ApplicationCredential { id, secret });
        }
        let name = self.need("application_credential_name")?;
        Ok(Auth::NamedApplicationCredential {
            name,
            user: self.user()?,
            secret,
        })
    }

    fn oidc(&self, kind: &str) -> Result<Auth, ConfigError> {
        use crate::auth::{OidcAuth, OidcGrant};
        let grant = match kind {
            "v3oidcaccesstoken" => OidcGrant::AccessToken(self.secret("access_token")?),
            "v3oidcpassword" => OidcGrant::Password {
                username: self.need("username")?,
                password: self.secret("password")?,
            },
            _ => OidcGrant::ClientCredentials,
        };
        let endpoint = self.any(&["access_token_endpoint", "discovery_endpoint"]);
        if endpoint.is_none() && kind != "v3oidcaccesstoken" {
            return Err(ConfigError::Missing {
                place: self.place.to_owned(),
                key: "discovery_endpoint".to_owned(),
            });
        }
        Ok(Auth::Oidc(OidcAuth {
            identity_provider: self.need("identity_provider")?,
            protocol: self.need("protocol")?,
            discovery_endpoint: self.get("discovery_endpoint"),
            access_token_endpoint: self.get("access_token_endpoint"),
            client_id: self.get("client_id"),
            client_secret: self.get("client_secret").map(SecretString::from),
            scope: self
                .get("openid_scope")
                .unwrap_or_else(|| "openid profile".to_owned()),
            grant,
        }))
    }

    fn tls(&self) -> Result<TlsConfig, ConfigError> {
        let read = |key: &str, path: String| {
            std::fs::read_to_string(&path)
                .map_err(|e| self.bad(key, format!("cannot read {path}: {e}")))
        };
        let mut tls = TlsConfig::default();
        if let Some(path) = self.get("cacert") {
            tls.ca_bundle = Some(read("cacert", path)?);
        }
        if let Some(path) = self.get("cert") {
            let certificate = read("cert", path.clone())?;
            let key = SecretString::from(read("key", self.get("key").unwrap_or(path))?);
            tls = tls.with_identity(certificate, key);
        }
        let off =
            |key: &str, value: &str| self.get(key).is_some_and(|v| v.eq_ignore_ascii_case(value));
        if off("verify", "false") || off("insecure", "true") || off("insecure", "1") {
            tls.dangerous().skip_verification();
        }
        Ok(tls)
    }
}
