//! Heat's limits, checked before anything is sent.

use serde_json::Value as Json;

use super::{Document, Section};

/// Limits of the Heat at hand. The defaults are Heat's own; Heat has no call that tells them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest template. Heat counts the characters of its Python form; default 512 KiB.
    pub template_size: usize,
    /// Largest request, in bytes; default 1 MiB.
    pub request_bytes: usize,
    /// Most resources of a stack, nested ones included; default 1000.
    pub resources: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            template_size: 524_288,
            request_bytes: 1_048_576,
            resources: 1000,
        }
    }
}

/// A document is larger than Heat takes, or has a name that Heat refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The template is too large.
    #[error("the template has {size} characters as Heat counts them, the limit is {limit}")]
    TemplateSize {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// Too many resources.
    #[error("the template has {count} resources, the limit is {limit}")]
    Resources {
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A parameter and a resource share a name.
    #[error("a parameter and a resource are both named {name:?}")]
    SharedName {
        /// The name.
        name: String,
    },
    /// A name has a slash or is too long.
    #[error("{} has the unusable name {name:?}", .section.as_str())]
    BadName {
        /// Where.
        section: Section,
        /// The name.
        name: String,
    },
}

impl Limits {
    pub(super) fn check(&self, document: &Document) -> Result<(), LimitError> {
        let count = document.resources().len();
        if count > self.resources {
            return Err(LimitError::Resources {
                count,
                limit: self.resources,
            });
        }
        for section in [Section::Resources, Section::Outputs, Section::Parameters] {
            for name in document.section(section).keys() {
                if name.is_empty()
                    || name.chars().count() > 255
                    || (section == Section::Resources && name.contains('/'))
                {
                    return Err(LimitError::BadName {
                        section,
                        name: name.clone(),
                    });
                }
            }
        }
        let parameters = document.section(Section::Parameters);
        if let Some(name) = document
            .resources()
            .keys()
            .find(|name| parameters.contains_key(*name))
        {
            return Err(LimitError::SharedName { name: name.clone() });
        }
        let size = Self::template_size_of(document);
        if size > self.template_size {
            return Err(LimitError::TemplateSize {
                size,
                limit: self.template_size,
            });
        }
        Ok(())
    }

    /// Size of a document as Heat counts it: the characters of Python's form of it.
    pub fn template_size_of(document: &Document) -> usize {
        let top = document.top();
        2 + top
            .iter()
            .map(|(k, v)| text_size(k) + 2 + size(v))
            .sum::<usize>()
            + 2 * top.len().saturating_sub(1)
    }

    /// Lowers a limit after Heat refused a template of so many resources with a `RequestLimitExceeded` of this message;
    /// others stay. Returns whether it did.
    pub fn learn(&mut self, message: &str, resources: usize) -> bool {
        let numbers: Vec<usize> = message
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .collect();
        let before = self.clone();
        if message.contains("Template size") {
            if let Some(limit) = numbers.last() {
                self.template_size = self.template_size.min(*limit);
            }
        } else if message.contains("JSON body size") {
            if let Some(limit) = numbers.last() {
                self.request_bytes = self.request_bytes.min(*limit);
            }
        } else if message.contains("esources per stack") {
            // Heat does not say how many; we know what was too many.
            self.resources = self.resources.min(resources.saturating_sub(1));
        }
        *self != before
    }
}

fn size(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(true) => 4,
        Json::Bool(false) => 5,
        Json::Number(n) => n.to_string().len(),
        Json::String(text) => text_size(text),
        Json::Array(items) => {
            2 + items.iter().map(size).sum::<usize>() + 2 * items.len().saturating_sub(1)
        }
        Json::Object(map) => {
            2 + map
                .iter()
                .map(|(k, v)| text_size(k) + 2 + size(v))
                .sum::<usize>()
                + 2 * map.len().saturating_sub(1)
        }
    }
}

/// Characters of Python's `repr` of a text.
fn text_size(text: &str) -> usize {
    let double = text.contains('\'') && !text.contains('"');
    2 + text
        .chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' | '\\' => 2,
            '\'' if !double => 2,
            c if c.is_control() => 4,
            _ => 1,
        })
        .sum::<usize>()
}

/// Whether Heat takes this as the name of a stack.
///
/// # Errors
/// A sentence about what is wrong.
pub fn check_stack_name(name: &str) -> Result<(), String> {
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 255
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if good {
        return Ok(());
    }
    Err(format!(
        "{name:?} is no stack name: a letter, then letters, digits, _ - and ., at most 255 in all"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::Resource;

    #[test]
    fn size_is_that_of_pythons_form() {
        // len(str({...})) by Python 3.11.
        let cases = [
            (r#"{"a": 1, "b": [true, null, 1.5], "c": {}}"#, 41),
            (r#"{"a": "it's \"q\"\n\t\\"}"#, 24),
            (r#"{"a": "it's"}"#, 13),
        ];
        for (text, want) in cases {
            assert_eq!(size(&serde_json::from_str(text).unwrap()), want, "{text}");
        }
    }

    #[test]
    fn limits_are_checked_and_learnt() {
        let mut doc = Document::new();
        for n in 0..3 {
            doc.add_resource(format!("r{n}"), Resource::raw("OS::Heat::None"))
                .unwrap();
        }
        let mut limits = Limits::default();
        doc.check(&limits).unwrap();
        assert!(limits.learn(
            "Template size (524400 bytes) exceeds maximum allowed size (100 bytes).",
            3
        ));
        assert!(matches!(
            doc.check(&limits),
            Err(LimitError::TemplateSize { limit: 100, .. })
        ));
        limits = Limits {
            resources: 2,
            ..Limits::default()
        };
        assert!(matches!(
            doc.check(&limits),
            Err(LimitError::Resources { count: 3, limit: 2 })
        ));
        assert!(!limits.learn("something else 5", 3));
        assert!(limits.learn(
            "Request limit exceeded: Maximum resources per stack exceeded.",
            2
        ));
        assert_eq!(limits.resources, 1);
        assert!(
            check_stack_name("a-b_c.d1").is_ok()
                && check_stack_name("1a").is_err()
                && check_stack_name("a/b").is_err()
        );
    }
}
