//! Filters, selected fields and pages of lists, on their JSON form.

use serde_json::{Map, Value};

/// What a query asks beside filters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// At most so many.
    pub limit: Option<usize>,
    /// Start after the element with this id.
    pub marker: Option<String>,
}

impl Page {
    /// Reads `limit` and `marker`; a limit of 0 or none means all.
    ///
    /// # Errors
    /// The text of a limit that is not a number.
    pub fn from_query(query: &[(String, String)]) -> Result<Self, String> {
        let mut page = Self::default();
        for (key, value) in query {
            match key.as_str() {
                "limit" => {
                    let limit: usize = value.parse().map_err(|_| value.clone())?;
                    page.limit = (limit > 0).then_some(limit);
                }
                "marker" => page.marker = Some(value.clone()),
                _ => {}
            }
        }
        Ok(page)
    }

    /// Cuts a list; the second value says whether more follows.
    ///
    /// # Errors
    /// The marker, when no element has that id.
    pub fn cut(&self, mut items: Vec<Value>, id_key: &str) -> Result<(Vec<Value>, bool), String> {
        if let Some(marker) = &self.marker {
            let at = items
                .iter()
                .position(|item| item[id_key].as_str() == Some(marker));
            let Some(at) = at else {
                return Err(marker.clone());
            };
            items.drain(..=at);
        }
        let more = self.limit.is_some_and(|limit| items.len() > limit);
        if let Some(limit) = self.limit {
            items.truncate(limit);
        }
        Ok((items, more))
    }
}

/// Whether a JSON value is what a query parameter says (`True` and `true` both mean true).
#[must_use]
pub fn matches(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Bool(flag) => {
            let yes = matches!(
                wanted.to_ascii_lowercase().as_str(),
                "true" | "1" | "yes" | "t" | "on"
            );
            yes == *flag
        }
        Value::String(text) => text == wanted,
        Value::Null => wanted.is_empty() || wanted == "None",
        Value::Array(items) => items.iter().any(|item| match item {
            Value::Object(inner) => inner.values().any(|v| matches(v, wanted)),
            other => matches(other, wanted),
        }),
        Value::Number(number) => number.to_string().as_str() == wanted,
        Value::Object(_) => false,
    }
}

/// Whether `tags` of an element satisfy one of the four tag filters; `None` when the key is not a tag filter.
#[must_use]
pub fn tag_filter(item: &Value, key: &str, wanted: &str) -> Option<bool> {
    let has = |tag: &str| {
        item["tags"]
            .as_array()
            .is_some_and(|tags| tags.iter().any(|t| t.as_str() == Some(tag)))
    };
    let mut asked = wanted.split(',');
    match key {
        "tags" => Some(asked.all(has)),
        "tags-any" => Some(asked.any(has)),
        "not-tags" => Some(!asked.all(has)),
        "not-tags-any" => Some(!asked.any(has)),
        _ => None,
    }
}

/// Keeps only the named fields of an element; all when none are named.
#[must_use]
pub fn select(item: Value, fields: &[&str]) -> Value {
    match item {
        Value::Object(map) if !fields.is_empty() => {
            let kept: Map<String, Value> = map
                .into_iter()
                .filter(|(key, _)| fields.contains(&key.as_str()))
                .collect();
            Value::Object(kept)
        }
        other => other,
    }
}

/// The query without the marker, with another marker: the address of the next page.
#[must_use]
pub fn next_query(query: &[(String, String)], marker: &str) -> String {
    let mut out = url::form_urlencoded::Serializer::new(String::new());
    for (key, value) in query.iter().filter(|(key, _)| key != "marker") {
        out.append_pair(key, value);
    }
    out.append_pair("marker", marker);
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pages_are_cut_after_the_marker() {
        let items: Vec<Value> = ["a", "b", "c"]
            .into_iter()
            .map(|id| json!({"id": id}))
            .collect();
        let page = Page {
            limit: Some(1),
            marker: Some("a".into()),
        };
        let (cut, more) = page.cut(items.clone(), "id").unwrap();
        assert_eq!(cut, vec![json!({"id": "b"})]);
        assert!(more);
        let lost = Page {
            limit: None,
            marker: Some("z".into()),
        };
        assert_eq!(lost.cut(items, "id").unwrap_err(), "z");
    }

    #[test]
    fn booleans_numbers_and_tags_match() {
        assert!(matches(&json!(true), "True") && !matches(&json!(true), "false"));
        assert!(matches(&json!(6443), "6443"));
        assert!(matches(&json!([{"id": "x"}]), "x"));
        let item = json!({"tags": ["a", "b"]});
        assert_eq!(tag_filter(&item, "tags", "a,b"), Some(true));
        assert_eq!(tag_filter(&item, "tags", "a,c"), Some(false));
        assert_eq!(tag_filter(&item, "not-tags-any", "c"), Some(true));
        assert_eq!(tag_filter(&item, "name", "c"), None);
    }

    #[test]
    fn next_page_keeps_the_other_parameters() {
        let query = vec![
            ("limit".to_owned(), "1".to_owned()),
            ("marker".to_owned(), "a".to_owned()),
        ];
        assert_eq!(next_query(&query, "b"), "limit=1&marker=b");
    }
}
