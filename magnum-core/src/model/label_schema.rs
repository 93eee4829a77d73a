//! Which labels a driver knows, and of which type they are.

use std::collections::BTreeMap;
use std::str::FromStr;

use ipnet::IpNet;

use super::{KubeVersion, Labels, Problems};

/// The type of a label's value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabelKind {
    /// Any text.
    Text,
    /// `true` or `false`, in any case.
    Switch,
    /// A whole number within these bounds, both included.
    Number {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// An address range such as `10.0.0.0/24`.
    Range,
    /// Address ranges, separated by commas.
    Ranges,
    /// A Kubernetes release such as `v1.36.1`.
    Version,
    /// One of these words, in any case.
    OneOf(&'static [&'static str]),
    /// One of Magnum's labels that has no effect here; kept, and reported with the reason.
    Ignored(&'static str),
}

/// The labels that a driver knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSchema(BTreeMap<&'static str, LabelKind>);

impl LabelSchema {
    /// The labels that the engine itself reads, for whatever driver.
    #[must_use]
    pub fn of_the_engine() -> Self {
        const COUNT: LabelKind = LabelKind::Number {
            min: 0,
            max: u32::MAX as u64,
        };
        Self::default().with([
            ("kube_tag", LabelKind::Version),
            ("min_node_count", COUNT),
            ("max_node_count", COUNT),
            ("fixed_subnet_cidr", LabelKind::Range),
            ("pods_network_cidr", LabelKind::Range),
            ("flannel_network_cidr", LabelKind::Range),
            ("calico_ipv4pool", LabelKind::Range),
            ("service_cluster_ip_range", LabelKind::Range),
        ])
    }

    /// The same schema with more labels.
    #[must_use]
    pub fn with(mut self, labels: impl IntoIterator<Item = (&'static str, LabelKind)>) -> Self {
        self.0.extend(labels);
        self
    }

    /// All labels by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &LabelKind)> {
        self.0.iter().map(|(key, kind)| (*key, kind))
    }

    /// Checks the values of known labels, and says which labels are unknown or have no effect, in a sentence each.
    pub fn check(&self, labels: &Labels, problems: &mut Problems) -> Vec<String> {
        let mut notes = Vec::new();
        for (key, value) in labels.iter() {
            match self.0.get(key) {
                None => notes.push(match self.nearest(key) {
                    Some(near) => format!("label {key} is not known: is {near} meant?"),
                    None => format!("label {key} is not known"),
                }),
                Some(LabelKind::Ignored(why)) => {
                    notes.push(format!("label {key} has no effect: {why}"));
                }
                Some(kind) => {
                    if let Err(rule) = kind.check(value.trim()) {
                        problems.add(format!("labels.{key}"), value, rule);
                    }
                }
            }
        }
        notes
    }

    /// The keys of `labels` that are not in the schema.
    pub fn unknown<'a>(&'a self, labels: &'a Labels) -> impl Iterator<Item = &'a str> {
        let keys = labels.iter().map(|(key, _)| key);
        keys.filter(|key| !self.0.contains_key(key))
    }

    /// A known key that differs by little: a letter more, less or other, or two exchanged.
    fn nearest(&self, key: &str) -> Option<&'static str> {
        self.0.keys().copied().find(|known| is_near(key, known))
    }
}

impl LabelKind {
    fn check(&self, value: &str) -> Result<(), String> {
        let read = |fits: bool, rule: &str| {
            if fits { Ok(()) } else { Err(rule.to_owned()) }
        };
        match self {
            Self::Text | Self::Ignored(_) => Ok(()),
            Self::Switch => {
                let word = value.to_ascii_lowercase();
                read(word == "true" || word == "false", "must be true or false")
            }
            Self::Number { min, max } => {
                let number = value.parse::<u64>();
                let fits = number.is_ok_and(|number| (*min..=*max).contains(&number));
                let top = u64::from(u32::MAX);
                read(
                    fits,
                    &if *max >= top {
                        format!("must be a whole number of at least {min}")
                    } else {
                        format!("must be a whole number from {min} to {max}")
                    },
                )
            }
            Self::Range => read(
                IpNet::from_str(value).is_ok(),
                "must be an address range such as 10.0.0.0/24",
            ),
            Self::Ranges => read(
                value
                    .split(',')
                    .all(|item| IpNet::from_str(item.trim()).is_ok()),
                "must be address ranges such as 10.0.0.0/8, separated by commas",
            ),
            Self::Version => read(
                value.parse::<KubeVersion>().is_ok(),
                "must be a Kubernetes release such as v1.36.1",
            ),
            Self::OneOf(words) => read(
                words.iter().any(|word| word.eq_ignore_ascii_case(value)),
                &format!("must be one of {}", words.join(", ")),
            ),
        }
    }
}

fn is_near(one: &str, other: &str) -> bool {
    let (a, b) = (one.as_bytes(), other.as_bytes());
    if a == b || a.len().abs_diff(b.len()) > 1 || a.len() < 4 {
        return false;
    }
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let swapped =
        a.len() >= 2 && b.len() == a.len() && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..];
    let same_rest = |a: &[u8], b: &[u8], skip_a: usize, skip_b: usize| {
        a.len() >= skip_a && b.len() >= skip_b && a[skip_a..] == b[skip_b..]
    };
    swapped || same_rest(a, b, 1, 1) || same_rest(a, b, 1, 0) || same_rest(a, b, 0, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> LabelSchema {
        LabelSchema::of_the_engine().with([
            (
                "boot_volume_size",
                LabelKind::Number {
                    min: 0,
                    max: 16_384,
                },
            ),
            ("monitoring_enabled", LabelKind::Switch),
            ("lb_method", LabelKind::OneOf(&["A", "B"])),
            (
                "use_podman",
                LabelKind::Ignored("images bring their own runtime"),
            ),
        ])
    }

    fn check(text: &str) -> (Vec<String>, Vec<String>) {
        let mut problems = Problems::new();
        let notes = schema().check(&text.parse().unwrap(), &mut problems);
        let fields = problems.iter().map(|p| p.field.clone()).collect();
        (fields, notes)
    }

    #[test]
    fn tv_01_known_labels_are_typed_and_every_wrong_one_is_named() {
        let right = "boot_volume_size= 20 ,monitoring_enabled=True,lb_method=A,kube_tag=v1.36.1,fixed_subnet_cidr=10.0.0.0/24";
        assert_eq!(check(right), (vec![], vec![]));
        let (fields, notes) = check(
            "boot_volume_size=20GB,monitoring_enabled=yes,lb_method=C,kube_tag=latest,min_node_count=-5,calico_ipv4pool=x",
        );
        assert_eq!(fields.len(), 6, "{fields:?}");
        assert!(notes.is_empty());
        assert_eq!(
            check("boot_volume_size=99999").0,
            ["labels.boot_volume_size"]
        );
    }

    #[test]
    fn unknown_labels_are_reported_with_what_may_be_meant() {
        let (fields, notes) = check("boot_volume_sise=20,use_podman=true,example.org/team=a");
        assert!(fields.is_empty());
        assert_eq!(
            notes,
            [
                "label boot_volume_sise is not known: is boot_volume_size meant?",
                "label example.org/team is not known",
                "label use_podman has no effect: images bring their own runtime",
            ]
        );
        for typo in ["boot_volme_size", "boot_volumee_size", "boot_volume_szie"] {
            let (_, notes) = check(&format!("{typo}=1"));
            assert!(notes[0].contains("is boot_volume_size meant"), "{notes:?}");
        }
    }
}
