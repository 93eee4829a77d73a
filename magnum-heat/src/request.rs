//! Requests are values: what to send and how to read the answer, without the sending.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Error, Result, fault};

/// A kind of OpenStack service, found in the catalog by its type or one of its aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ServiceType {
    /// Keystone.
    Identity,
    /// Heat.
    Orchestration,
    /// Nova.
    Compute,
    /// Neutron.
    Network,
    /// Glance.
    Image,
    /// Octavia.
    LoadBalancer,
    /// Cinder.
    BlockStorage,
    /// Barbican.
    KeyManager,
    /// Ironic.
    BareMetal,
    /// Placement.
    Placement,
    /// Any other service, by its catalog type.
    Other(&'static str),
}

impl ServiceType {
    /// Catalog types, the official one first.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Identity => &["identity"],
            Self::Orchestration => &["orchestration"],
            Self::Compute => &["compute"],
            Self::Network => &["network"],
            Self::Image => &["image"],
            Self::LoadBalancer => &["load-balancer"],
            Self::BlockStorage => &["block-storage", "block-store", "volumev3", "volume"],
            Self::KeyManager => &["key-manager"],
            Self::BareMetal => &["baremetal", "bare-metal"],
            Self::Placement => &["placement"],
            Self::Other(_) => &[],
        }
    }

    /// The official catalog type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Other(name) => name,
            known => known.names().first().copied().unwrap_or_default(),
        }
    }

    /// Version path appended to an endpoint that names no version.
    pub(crate) fn version_path(self) -> Option<&'static str> {
        match self {
            Self::Identity => Some("v3"),
            Self::Compute => Some("v2.1"),
            Self::Network => Some("v2.0"),
            Self::Image | Self::LoadBalancer => Some("v2"),
            Self::KeyManager | Self::BareMetal => Some("v1"),
            Self::Orchestration | Self::BlockStorage | Self::Placement | Self::Other(_) => None,
        }
    }

    /// Name of the service in the `OpenStack-API-Version` header.
    pub(crate) fn microversion_name(self) -> &'static str {
        match self {
            Self::BlockStorage => "volume",
            other => other.name(),
        }
    }
}

impl fmt::Display for ServiceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A path below a service's endpoint, as segments; each is percent-encoded when sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(Vec<Cow<'static, str>>);

impl Path {
    /// A path of the given segments.
    pub fn new<S: Into<Cow<'static, str>>>(segments: impl IntoIterator<Item = S>) -> Self {
        Self(segments.into_iter().map(Into::into).collect())
    }

    /// Adds a segment.
    #[must_use]
    pub fn join(mut self, segment: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(segment.into());
        self
    }

    /// The segments.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Whether a segment is empty or would climb; such a request is never sent (`SM-09`).
    pub(crate) fn is_unusable(&self) -> bool {
        self.segments()
            .any(|s| s.trim().is_empty() || s == "." || s == "..")
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments().try_for_each(|s| write!(f, "/{s}"))
    }
}

/// Builds a [`Path`] from segments of mixed string types.
macro_rules! segments {
    ($($segment:expr),+ $(,)?) => {
        $crate::request::Path::default()$(.join(String::from(AsRef::<str>::as_ref(&$segment))))+
    };
}
pub(crate) use segments;

/// Content of a request.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Body {
    /// Nothing is sent.
    #[default]
    Empty,
    /// JSON.
    Json(Bytes),
    /// Other content with its media type.
    Raw(&'static str, Bytes),
}

impl Body {
    /// A JSON body.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the value cannot be written as JSON.
    pub fn json<T: Serialize + ?Sized>(operation: &'static str, value: &T) -> Result<Self> {
        let text = serde_json::to_vec(value)
            .map_err(|e| Error::invalid(operation, format!("cannot be sent as JSON: {e}")))?;
        Ok(Self::Json(text.into()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Json(bytes) => write!(f, "Json({} bytes)", bytes.len()),
            Self::Raw(media, bytes) => write!(f, "Raw({media}, {} bytes)", bytes.len()),
        }
    }
}

/// Query parameters in order.
pub type Query = Vec<(Cow<'static, str>, String)>;

/// One typed request; send it with [`crate::Session::send`].
///
/// Implement it to add an operation or a service of your own; nothing else is needed.
pub trait Request: Send + Sync {
    /// What a successful answer decodes into.
    type Output: Send;
    /// Service that receives it.
    const SERVICE: ServiceType;
    /// HTTP method.
    const METHOD: Method;
    /// Whether sending it twice has the effect of sending it once. Only such requests are repeated after an answer
    /// was lost or the service was overloaded.
    const IDEMPOTENT: bool;
    /// What it does, for errors and traces: `create stack`.
    const OPERATION: &'static str;
    /// Microversion that it needs, sent as `OpenStack-API-Version`; `None` means the service's oldest. A service that
    /// does not speak it ends the call in [`Error::Microversion`].
    const MICROVERSION: Option<&'static str> = None;
    /// Newest microversion that it understands, where it understands several: the session asks the service once for
    /// what it offers and sends the newest that both know, [`Request::MICROVERSION`] at least. The one used is in the
    /// answer's header. `None` sends [`Request::MICROVERSION`] itself and asks nothing.
    const NEWEST_MICROVERSION: Option<&'static str> = None;

    /// Path below the endpoint.
    fn path(&self) -> Path;

    /// Query parameters.
    fn query(&self) -> Query {
        Query::new()
    }

    /// Content.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the request is wrong and must not be sent.
    fn body(&self) -> Result<Body> {
        Ok(Body::Empty)
    }

    /// Further headers.
    fn headers(&self) -> HeaderMap {
        HeaderMap::new()
    }

    /// Whether an answer of this status is a success. Usually 2xx.
    fn accepts(&self, status: StatusCode) -> bool {
        status.is_success()
    }

    /// Reads a successful answer.
    ///
    /// # Errors
    /// [`Error::Decode`] when the answer is not what the API promises.
    fn decode(&self, answer: Answer) -> Result<Self::Output>;
}

/// A successful answer, for [`Request::decode`].
#[derive(Clone)]
pub struct Answer {
    /// What was being done.
    pub operation: &'static str,
    /// HTTP status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Content.
    pub body: Bytes,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl Answer {
    /// Request id of the answer.
    pub fn request_id(&self) -> Option<String> {
        fault::request_id(&self.headers)
    }

    /// A decoding error of this answer.
    pub fn unexpected(&self, message: impl Into<String>) -> Error {
        Error::Decode {
            operation: self.operation,
            message: message.into(),
            request_id: self.request_id(),
        }
    }

    /// The whole body as `T`.
    ///
    /// # Errors
    /// [`Error::Decode`].
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|e| self.unexpected(e.to_string()))
    }

    /// The value under `key` of the body's object as `T`.
    ///
    /// # Errors
    /// [`Error::Decode`], naming the key.
    pub fn json_at<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        let mut at = At { key, found: None };
        let mut reader = serde_json::Deserializer::from_slice(&self.body);
        let read = serde::de::DeserializeSeed::deserialize(&mut at, &mut reader)
            .and_then(|()| reader.end());
        read.map_err(|e| self.unexpected(format!("{key}: {e}")))?;
        at.found
            .ok_or_else(|| self.unexpected(format!("no {key:?} in the answer")))
    }

    /// Accepts any body, also none (`HC-08`).
    ///
    /// # Errors
    /// None; the signature is that of the other readers.
    pub fn ignore(self) -> Result<()> {
        Ok(())
    }

    /// Value of a header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    /// The body as loose JSON, `Null` when empty.
    ///
    /// # Errors
    /// [`Error::Decode`].
    pub fn value(&self) -> Result<Value> {
        if self.body.is_empty() {
            Ok(Value::Null)
        } else {
            self.json()
        }
    }
}

/// Reads one key of an object straight into its type; other keys are skipped without being built.
struct At<'k, T> {
    key: &'k str,
    found: Option<T>,
}

impl<'de, T: DeserializeOwned> serde::de::DeserializeSeed<'de> for &mut At<'_, T> {
    type Value = ();
    fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> serde::de::Visitor<'de> for &mut At<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == self.key {
                self.found = Some(map.next_value()?);
            } else {
                map.next_value::<serde::de::IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Declares a request whose parts are plain expressions over its fields.
macro_rules! request {
    (
        $(#[$doc:meta])*
        $name:ident { $( $(#[$fdoc:meta])* $field:ident : $ty:ty ),* $(,)? } => $out:ty;
        $service:ident $method:ident $operation:literal $( @ $micro:literal )? ;
        path: |$p:ident| $path:expr;
        $( query: |$q:ident| $query:expr; )?
        $( body: |$b:ident| $body:expr; )?
        $( idempotent: $idem:literal; )?
        decode: |$a:ident| $decode:expr $(;)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name { $( $(#[$fdoc])* pub $field: $ty, )* }

        impl $crate::request::Request for $name {
            type Output = $out;
            const SERVICE: $crate::request::ServiceType = $crate::request::ServiceType::$service;
            const METHOD: http::Method = http::Method::$method;
            const IDEMPOTENT: bool = $crate::request::idempotent!($method $($idem)?);
            const OPERATION: &'static str = $operation;
            $( const MICROVERSION: Option<&'static str> = Some($micro); )?
            fn path(&self) -> $crate::request::Path { let $p = self; $path }
            $( fn query(&self) -> $crate::request::Query { let $q = self; $query } )?
            $( fn body(&self) -> $crate::Result<$crate::request::Body> {
                let $b = self;
                $crate::request::Body::json($operation, &$body)
            } )?
            fn decode(&self, $a: $crate::request::Answer) -> $crate::Result<$out> { $decode }
        }
    };
}
pub(crate) use request;

/// Whether a request may be repeated: as said, else as its method means.
macro_rules! idempotent {
    ($method:ident $given:literal) => {
        $given
    };
    (GET) => {
        true
    };
    (HEAD) => {
        true
    };
    (PUT) => {
        true
    };
    (DELETE) => {
        true
    };
    (POST) => {
        false
    };
    (PATCH) => {
        false
    };
}
pub(crate) use idempotent;
