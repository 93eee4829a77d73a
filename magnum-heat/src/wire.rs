//! How OpenStack writes times (with `Z`, with an offset, or with nothing, then UTC) and absent values.

use chrono::{DateTime, NaiveDateTime, Utc};
use serde::{Deserialize, Deserializer};

pub(crate) fn parse(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text)
        .map(|t| t.with_timezone(&Utc))
        .ok()
        .or_else(|| {
            NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f")
                .map(|t| t.and_utc())
                .ok()
        })
        .or_else(|| {
            NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f")
                .map(|t| t.and_utc())
                .ok()
        })
}

/// An optional time; text that is no time counts as none.
pub(crate) fn option<'de, D: Deserializer<'de>>(d: D) -> Result<Option<DateTime<Utc>>, D::Error> {
    Ok(Option::<String>::deserialize(d)?.as_deref().and_then(parse))
}

/// `null` as the default value.
pub(crate) fn null_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    d: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

/// A stack's tags: `null` is none, and so is the one empty tag that Heat keeps when a PATCH cleared them.
pub(crate) fn tags<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let tags = Option::<Vec<String>>::deserialize(d)?.unwrap_or_default();
    Ok(tags.into_iter().filter(|tag| !tag.is_empty()).collect())
}
