//! The engine's settings, checked before anything starts.

use std::time::Duration;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::model::{KubeVersion, Problems};
use crate::operation::Pace;

/// The engine's settings.
///
/// Read from any serde format (a map of names to values), from environment variables, or set in code; unknown names and bad values are
/// named all at once. In text a duration is a number of seconds, or a number with `ms`, `s`, `m`, `h` or `d`; a list is separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineConfig {
    /// How many operations are worked on at once; 32.
    pub workers: u32,
    /// How long a lease holds without renewal; 30 s. Another engine takes over after it.
    pub lease: Duration,
    /// How long one call of a driver may take before it is dropped and tried again; 300 s.
    pub advance_timeout: Duration,
    /// How often the store is asked for work that other processes have made; 1 s.
    pub poll: Duration,
    /// The first pause after an error; 2 s.
    pub first_pause: Duration,
    /// The longest pause after errors; 60 s.
    pub longest_pause: Duration,
    /// How often operations are looked at whose time ran out, and finished clusters; 600 s.
    pub slow_round: Duration,
    /// How many finished clusters are looked at side by side; 16. They have no part in `workers`.
    pub looks_at_once: u32,
    /// How long the look at one finished cluster may take; 60 s.
    pub look_timeout: Duration,
    /// How long a creation may take that does not say so itself; the driver's own time where absent.
    pub create_timeout: Option<Duration>,
    /// How often a failed deletion is begun again by itself; 2, so three tries in all (rule `OP-03`).
    pub automatic_deletes: u32,
    /// Clusters a project may have where no quota says otherwise; 20.
    pub max_clusters_per_project: u64,
    /// Nodes a project may have where no quota says otherwise; no limit.
    pub max_nodes_per_project: Option<u64>,
    /// Node groups a project may have where no quota says otherwise, the default ones included; no limit.
    pub max_node_groups_per_project: Option<u64>,
    /// Virtual CPUs a project's nodes may have where no quota says otherwise; no limit.
    pub max_vcpus_per_project: Option<u64>,
    /// Memory a project's nodes may have where no quota says otherwise, in MiB; no limit.
    pub max_ram_mib_per_project: Option<u64>,
    /// Node groups a cluster may have where no quota says otherwise, the default ones included; no limit.
    pub max_node_groups_per_cluster: Option<u64>,
    /// Nodes a cluster may have; 1000.
    pub max_nodes_per_cluster: u32,
    /// The Kubernetes version of clusters whose label `kube_tag` names none; v1.36.1.
    pub default_kube_version: KubeVersion,
    /// The pod networks that templates may name; flannel, calico, cilium, none.
    pub allowed_network_drivers: Vec<String>,
    /// Drivers that no new template or cluster may use; clusters that have one are still worked on. None.
    pub disabled_drivers: Vec<String>,
    /// Ranges that are in use elsewhere, such as a company's: no range of a cluster may overlap one. A default range that would is moved to
    /// a free one. None.
    pub reserved_ranges: Vec<IpNet>,
    /// Whether labels that the driver does not know are refused; where not, they are kept and reported. Off.
    pub strict_labels: bool,
    /// How long events are kept; 180 days. No limit where absent.
    pub events_max_age: Option<Duration>,
    /// How many events are kept; no limit where absent.
    pub events_max_count: Option<u64>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            workers: 32,
            lease: Duration::from_secs(30),
            advance_timeout: Duration::from_secs(300),
            poll: Duration::from_secs(1),
            first_pause: Duration::from_secs(2),
            longest_pause: Duration::from_secs(60),
            slow_round: Duration::from_secs(600),
            looks_at_once: 16,
            look_timeout: Duration::from_secs(60),
            create_timeout: None,
            automatic_deletes: 2,
            max_clusters_per_project: 20,
            max_nodes_per_project: None,
            max_node_groups_per_project: None,
            max_vcpus_per_project: None,
            max_ram_mib_per_project: None,
            max_node_groups_per_cluster: None,
            max_nodes_per_cluster: 1000,
            default_kube_version: "v1.36.1".parse().expect("the default version is valid"),
            allowed_network_drivers: NETWORK_DRIVERS.map(str::to_owned).to_vec(),
            disabled_drivers: Vec::new(),
            reserved_ranges: Vec::new(),
            strict_labels: false,
            events_max_age: Some(Duration::from_secs(180 * 86_400)),
            events_max_count: None,
        }
    }
}

impl EngineConfig {
    /// Reads settings by name, such as `workers` and `lease`; what is not named keeps its default.
    ///
    /// # Errors
    /// Every unknown name and every bad value (rule `OP-05`).
    pub fn from_settings<'a>(
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Problems> {
        let mut config = Self::default();
        let mut problems = Problems::new();
        for (name, value) in settings {
            config.set(name, value.trim(), &mut problems);
        }
        problems.absorb(config.validate());
        problems.into_result()?;
        Ok(config)
    }

    /// Reads settings from environment variables `MAGNUM_ENGINE_<NAME>`; others are left alone. The caller passes them in: the library reads no environment.
    ///
    /// # Errors
    /// As [`from_settings`](Self::from_settings).
    pub fn from_variables<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Problems> {
        Self::load(None, variables)
    }

    /// Reads settings from a file's text (a JSON object, where there is one) and then from environment variables, which win.
    ///
    /// # Errors
    /// As [`from_settings`](Self::from_settings), of both at once.
    pub fn load<'a>(
        file: Option<&str>,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Problems> {
        let mut settings = match file {
            Some(text) => settings_of_json(text)?,
            None => Vec::new(),
        };
        settings.extend(settings_of_variables(variables));
        Self::from_settings(settings.iter().map(|(n, v)| (n.as_str(), v.as_str())))
    }

    /// Reads settings from a JSON object.
    ///
    /// # Errors
    /// As [`from_settings`](Self::from_settings), and where the text is no object.
    pub fn from_json(text: &str) -> Result<Self, Problems> {
        Self::load(Some(text), [])
    }

    fn set(&mut self, name: &str, value: &str, problems: &mut Problems) {
        const NUMBER: &str = "must be a whole number of at least 0";
        const TIME: &str = "must be a number of seconds, or a number with ms, s, m, h or d";
        let number = || value.parse().map_err(|_| NUMBER);
        let limit = || value.parse().map(Some).map_err(|_| NUMBER);
        let time = || duration(value).ok_or(TIME);
        let words = || -> Vec<String> {
            let words = value.split(',').map(str::trim);
            words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        let done = match name {
            "workers" => put(&mut self.workers, number()),
            "looks_at_once" => put(&mut self.looks_at_once, number()),
            "automatic_deletes" => put(&mut self.automatic_deletes, number()),
            "max_nodes_per_cluster" => put(&mut self.max_nodes_per_cluster, number()),
            "max_clusters_per_project" => put(
                &mut self.max_clusters_per_project,
                value.parse().map_err(|_| NUMBER),
            ),
            "max_nodes_per_project" => put(&mut self.max_nodes_per_project, limit()),
            "max_node_groups_per_project" => put(&mut self.max_node_groups_per_project, limit()),
            "max_vcpus_per_project" => put(&mut self.max_vcpus_per_project, limit()),
            "max_ram_mib_per_project" => put(&mut self.max_ram_mib_per_project, limit()),
            "max_node_groups_per_cluster" => put(&mut self.max_node_groups_per_cluster, limit()),
            "events_max_count" => put(&mut self.events_max_count, limit()),
            "lease" => put(&mut self.lease, time()),
            "advance_timeout" => put(&mut self.advance_timeout, time()),
            "poll" => put(&mut self.poll, time()),
            "first_pause" => put(&mut self.first_pause, time()),
            "longest_pause" => put(&mut self.longest_pause, time()),
            "slow_round" => put(&mut self.slow_round, time()),
            "look_timeout" => put(&mut self.look_timeout, time()),
            "create_timeout" => put(&mut self.create_timeout, time().map(Some)),
            "events_max_age" if value == "none" => put(&mut self.events_max_age, Ok(None)),
            "events_max_age" => put(&mut self.events_max_age, time().map(Some)),
            "default_kube_version" => put(
                &mut self.default_kube_version,
                value
                    .parse()
                    .map_err(|_| "must be a Kubernetes release such as v1.36.1"),
            ),
            "strict_labels" => put(
                &mut self.strict_labels,
                value.parse().map_err(|_| "must be true or false"),
            ),
            "allowed_network_drivers" => put(&mut self.allowed_network_drivers, Ok(words())),
            "disabled_drivers" => put(&mut self.disabled_drivers, Ok(words())),
            "reserved_ranges" => put(
                &mut self.reserved_ranges,
                words()
                    .iter()
                    .map(|word| word.parse())
                    .collect::<Result<_, _>>()
                    .map_err(|_| "must be address ranges such as 10.0.0.0/8, separated by commas"),
            ),
            _ => Err("is no setting of the engine"),
        };
        if let Err(rule) = done {
            problems.add(name, value, rule);
        }
    }

    /// Checks all settings.
    ///
    /// # Errors
    /// Every setting that is out of its range.
    pub fn validate(&self) -> Result<(), Problems> {
        let mut problems = Problems::new();
        for (name, value) in [
            ("workers", self.workers),
            ("looks_at_once", self.looks_at_once),
        ] {
            if value == 0 || value > 10_000 {
                problems.add(name, value, "must be 1 to 10000");
            }
        }
        for driver in &self.allowed_network_drivers {
            if !NETWORK_DRIVERS.contains(&driver.as_str()) {
                let rule = format!("must be among {}", NETWORK_DRIVERS.join(", "));
                problems.add("allowed_network_drivers", driver, rule);
            }
        }
        if self.allowed_network_drivers.is_empty() {
            problems.add("allowed_network_drivers", "", "must name at least one");
        }
        if self.max_nodes_per_cluster == 0 {
            let rule = "must be at least 1";
            problems.add("max_nodes_per_cluster", 0, rule);
        }
        let durations = [
            ("lease", self.lease, 1.0, 3600.0),
            ("advance_timeout", self.advance_timeout, 1.0, 86_400.0),
            ("poll", self.poll, 0.01, 3600.0),
            ("first_pause", self.first_pause, 0.01, 3600.0),
            ("longest_pause", self.longest_pause, 0.01, 86_400.0),
            ("slow_round", self.slow_round, 1.0, 604_800.0),
            ("look_timeout", self.look_timeout, 1.0, 86_400.0),
        ];
        let optional = [
            ("create_timeout", self.create_timeout, 60.0, 604_800.0),
            ("events_max_age", self.events_max_age, 3600.0, 315_360_000.0),
        ];
        let optional = optional
            .into_iter()
            .filter_map(|(name, value, least, most)| Some((name, value?, least, most)));
        let durations = durations.into_iter().chain(optional);
        for (name, value, least, most) in durations {
            let seconds = value.as_secs_f64();
            if seconds < least || seconds > most {
                let rule = format!("must be {least} to {most} seconds");
                problems.add(name, seconds, rule);
            }
        }
        if self.longest_pause < self.first_pause {
            let rule = "must not be shorter than first_pause";
            problems.add("longest_pause", self.longest_pause.as_secs_f64(), rule);
        }
        problems.into_result()
    }

    pub(crate) const fn pace(&self) -> Pace {
        Pace {
            first_pause: self.first_pause,
            longest_pause: self.longest_pause,
            slow_round: self.slow_round,
            automatic_deletes: self.automatic_deletes,
        }
    }
}

/// The pod networks that there are.
const NETWORK_DRIVERS: [&str; 4] = ["flannel", "calico", "cilium", "none"];

fn put<T>(to: &mut T, read: Result<T, &'static str>) -> Result<(), &'static str> {
    *to = read?;
    Ok(())
}

/// Seconds, or a number with its unit.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim() {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let number: f64 = digits.trim().parse().ok()?;
    Duration::try_from_secs_f64(number * factor).ok()
}

fn settings_of_variables<'a>(
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> impl Iterator<Item = (String, String)> {
    variables.into_iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("MAGNUM_ENGINE_")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    })
}

fn settings_of_json(text: &str) -> Result<Vec<(String, String)>, Problems> {
    let read: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(text);
    read.map(settings_of_map)
        .map_err(|error| Problems::one("settings", error, "must be a JSON object"))
}

fn settings_of_map(map: serde_json::Map<String, serde_json::Value>) -> Vec<(String, String)> {
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    let settings = map.into_iter().map(|(name, value)| match value {
        serde_json::Value::Array(items) => {
            let items: Vec<_> = items.into_iter().map(text).collect();
            (name, items.join(","))
        }
        other => (name, text(other)),
    });
    settings.collect()
}

/// From a map of names to texts, numbers, switches and lists; what is not named keeps its default.
impl<'de> Deserialize<'de> for EngineConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = serde_json::Map::deserialize(deserializer)?;
        let settings = settings_of_map(map);
        Self::from_settings(settings.iter().map(|(n, v)| (n.as_str(), v.as_str())))
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn op_05_every_wrong_setting_is_named() {
        let error = EngineConfig::from_settings([
            ("workers", "0"),
            ("lease", "-5"),
            ("colour", "blue"),
            ("default_kube_version", "latest"),
        ])
        .unwrap_err();
        let fields: Vec<_> = error.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(
            fields,
            ["lease", "colour", "default_kube_version", "workers"]
        );
    }

    #[test]
    fn settings_come_from_variables_and_json() {
        let config =
            EngineConfig::from_variables([("MAGNUM_ENGINE_WORKERS", "4"), ("PATH", "/bin")])
                .unwrap();
        assert_eq!(config.workers, 4);
        let config =
            EngineConfig::from_json(r#"{"poll": 0.5, "max_nodes_per_project": 7}"#).unwrap();
        assert_eq!(config.poll, Duration::from_millis(500));
        assert_eq!(config.max_nodes_per_project, Some(7));
        assert!(EngineConfig::from_json("[]").is_err());
        let file = r#"{"lease": "1m", "reserved_ranges": ["10.0.0.0/8"], "strict_labels": true, "poll": 3}"#;
        let variables = [("MAGNUM_ENGINE_POLL", "250ms")];
        let config = EngineConfig::load(Some(file), variables).unwrap();
        assert_eq!(config.lease, Duration::from_secs(60));
        assert_eq!(config.poll, Duration::from_millis(250), "variables win");
        assert!(config.strict_labels && config.reserved_ranges.len() == 1);
    }

    #[test]
    fn op_05_any_serde_format_names_every_wrong_setting() {
        let wrong =
            serde_json::json!({"workers": -1, "lese": 5, "disabled_drivers": [], "poll": "soon"});
        let error = serde_json::from_value::<EngineConfig>(wrong)
            .unwrap_err()
            .to_string();
        for name in ["workers", "lese", "poll"] {
            assert!(error.contains(name), "{error}");
        }
        let right =
            serde_json::json!({"allowed_network_drivers": ["calico"], "events_max_age": "30d"});
        let config: EngineConfig = serde_json::from_value(right).unwrap();
        assert_eq!(
            config.events_max_age,
            Some(Duration::from_secs(30 * 86_400))
        );
        assert_eq!(config.allowed_network_drivers, ["calico"]);
    }
}
