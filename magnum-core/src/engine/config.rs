//! The engine's settings, checked before anything starts.

use std::time::Duration;

use crate::model::{KubeVersion, Problems};
use crate::operation::Pace;

/// The engine's settings. Durations in settings text are whole seconds.
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
    /// How often a failed deletion is begun again by itself; 2, so three tries in all (rule `OP-03`).
    pub automatic_deletes: u32,
    /// Clusters a project may have where no quota says otherwise; 20.
    pub max_clusters_per_project: u64,
    /// Nodes a project may have where no quota says otherwise; no limit.
    pub max_nodes_per_project: Option<u64>,
    /// Node groups a cluster may have where no quota says otherwise, the default ones included; no limit.
    pub max_node_groups_per_cluster: Option<u64>,
    /// Nodes a cluster may have; 1000.
    pub max_nodes_per_cluster: u32,
    /// The Kubernetes version of clusters whose label `kube_tag` names none; v1.36.1.
    pub default_kube_version: KubeVersion,
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
            automatic_deletes: 2,
            max_clusters_per_project: 20,
            max_nodes_per_project: None,
            max_node_groups_per_cluster: None,
            max_nodes_per_cluster: 1000,
            default_kube_version: "v1.36.1".parse().expect("the default version is valid"),
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
        let named: Vec<_> = variables
            .into_iter()
            .filter_map(|(name, value)| {
                let name = name.strip_prefix("MAGNUM_ENGINE_")?;
                Some((name.to_ascii_lowercase(), value))
            })
            .collect();
        Self::from_settings(named.iter().map(|(name, value)| (name.as_str(), *value)))
    }

    /// Reads settings from a JSON object.
    ///
    /// # Errors
    /// As [`from_settings`](Self::from_settings), and where the text is no object of texts and numbers.
    pub fn from_json(text: &str) -> Result<Self, Problems> {
        let read: Result<serde_json::Map<String, serde_json::Value>, _> =
            serde_json::from_str(text);
        let object =
            read.map_err(|error| Problems::one("settings", error, "must be a JSON object"))?;
        let named: Vec<_> = object
            .into_iter()
            .map(|(name, value)| match value {
                serde_json::Value::String(text) => (name, text),
                other => (name, other.to_string()),
            })
            .collect();
        Self::from_settings(named.iter().map(|(n, v)| (n.as_str(), v.as_str())))
    }

    fn set(&mut self, name: &str, value: &str, problems: &mut Problems) {
        const NUMBER: &str = "must be a whole number of at least 0";
        const SECONDS: &str = "must be a number of seconds";
        let mut number = |to: &mut u32| match value.parse() {
            Ok(read) => *to = read,
            Err(_) => problems.add(name, value, NUMBER),
        };
        match name {
            "workers" => return number(&mut self.workers),
            "automatic_deletes" => return number(&mut self.automatic_deletes),
            "max_nodes_per_cluster" => return number(&mut self.max_nodes_per_cluster),
            _ => {}
        }
        let mut limit = |to: &mut Option<u64>| match value.parse() {
            Ok(read) => *to = Some(read),
            Err(_) => problems.add(name, value, NUMBER),
        };
        match name {
            "max_clusters_per_project" => {
                let mut read = Some(self.max_clusters_per_project);
                limit(&mut read);
                self.max_clusters_per_project = read.unwrap_or_default();
                return;
            }
            "max_nodes_per_project" => return limit(&mut self.max_nodes_per_project),
            "max_node_groups_per_cluster" => {
                return limit(&mut self.max_node_groups_per_cluster);
            }
            "default_kube_version" => {
                match value.parse() {
                    Ok(version) => self.default_kube_version = version,
                    Err(others) => problems.absorb(Err(others)),
                }
                return;
            }
            _ => {}
        }
        let to = match name {
            "lease" => &mut self.lease,
            "advance_timeout" => &mut self.advance_timeout,
            "poll" => &mut self.poll,
            "first_pause" => &mut self.first_pause,
            "longest_pause" => &mut self.longest_pause,
            "slow_round" => &mut self.slow_round,
            _ => return problems.add(name, value, "is no setting of the engine"),
        };
        match value.parse::<f64>().map(Duration::try_from_secs_f64) {
            Ok(Ok(read)) => *to = read,
            _ => problems.add(name, value, SECONDS),
        }
    }

    /// Checks all settings.
    ///
    /// # Errors
    /// Every setting that is out of its range.
    pub fn validate(&self) -> Result<(), Problems> {
        let mut problems = Problems::new();
        if self.workers == 0 || self.workers > 10_000 {
            problems.add("workers", self.workers, "must be 1 to 10000");
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
        ];
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
        assert_eq!(fields, ["lease", "colour", "kube_version", "workers"]);
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
    }
}
