//! Heat's `str_replace`, to know beforehand what Heat will make of a template.

/// Replaces every key of `params` in `template` as Heat does: the longest keys first (equal lengths in alphabetical
/// order), and never inside of text that came from a value.
#[must_use]
pub fn str_replace(template: &str, params: &[(&str, &str)]) -> String {
    let mut ordered: Vec<(&str, &str)> = params
        .iter()
        .copied()
        .filter(|(key, _)| !key.is_empty())
        .collect();
    ordered.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(b.0)));
    let mut out = String::with_capacity(
        template.len() + ordered.iter().map(|(_, value)| value.len()).sum::<usize>(),
    );
    replace_into(&mut out, template, &ordered);
    out
}

fn replace_into(out: &mut String, text: &str, params: &[(&str, &str)]) {
    let Some(((key, value), rest)) = params.split_first() else {
        out.push_str(text);
        return;
    };
    for (index, part) in text.split(key).enumerate() {
        if index > 0 {
            out.push_str(value);
        }
        replace_into(out, part, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_scanned_again() {
        assert_eq!(
            str_replace("a=%A% b=%B%", &[("%A%", "%B%"), ("%B%", "2")]),
            "a=%B% b=2"
        );
    }

    #[test]
    fn the_longest_key_wins() {
        assert_eq!(
            str_replace("foobar foo", &[("foo", "1"), ("foobar", "2")]),
            "2 1"
        );
    }

    #[test]
    fn unknown_text_stays() {
        assert_eq!(
            str_replace("nothing here", &[("%A%", "1"), ("", "2")]),
            "nothing here"
        );
    }
}
