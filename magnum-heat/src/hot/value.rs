//! A property value: a literal or a function.

use std::fmt;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

/// A literal or a function of HOT. Everything literal converts into it; functions are made by
/// [`get_param`](super::get_param) and its siblings.
///
/// Values may be secrets (user data), so `Debug` shows functions and lengths only.
#[derive(Clone, PartialEq)]
pub struct Value(Json);

impl Value {
    /// A value of this JSON, as it is.
    pub fn json(value: Json) -> Self {
        Self(value)
    }

    /// A list.
    pub fn list<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        Self(Json::Array(
            items.into_iter().map(|item| item.into().0).collect(),
        ))
    }

    /// A map, in this order.
    pub fn map<K: Into<String>, T: Into<Self>>(entries: impl IntoIterator<Item = (K, T)>) -> Self {
        Self(Json::Object(
            entries
                .into_iter()
                .map(|(k, v)| (k.into(), v.into().0))
                .collect(),
        ))
    }

    /// The value as JSON.
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    /// The value as JSON.
    pub fn into_json(self) -> Json {
        self.0
    }

    /// Whether it is a map with the one key of a function.
    pub fn is_function(&self) -> bool {
        self.0
            .as_object()
            .is_some_and(|map| map.len() == 1 && map.keys().all(|k| super::functions::is_name(k)))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Json::Null => f.write_str("null"),
            Json::Bool(b) => write!(f, "{b}"),
            Json::Number(n) => write!(f, "{n}"),
            Json::String(s) => write!(f, "text({} bytes)", s.len()),
            Json::Array(items) => write!(f, "list({} items)", items.len()),
            Json::Object(map) if self.is_function() => {
                write!(f, "{}(..)", map.keys().next().map_or("", String::as_str))
            }
            Json::Object(map) => write!(f, "map({} keys)", map.len()),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

macro_rules! from_literals {
    ($($ty:ty),+) => { $(
        impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self(Json::from(value))
            }
        }
    )+ };
}
from_literals!(&str, String, bool, i32, i64, u8, u16, u32, u64, usize, Json);

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self(Json::from(value.as_str()))
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Self {
        value.clone()
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::list(items)
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        Self::list(items)
    }
}

impl<T: Into<Self>> From<IndexMap<String, T>> for Value {
    fn from(map: IndexMap<String, T>) -> Self {
        Self::map(map)
    }
}

impl From<std::net::IpAddr> for Value {
    fn from(address: std::net::IpAddr) -> Self {
        Self(Json::String(address.to_string()))
    }
}
