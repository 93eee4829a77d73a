//! Reading and merging the configuration files.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{ConfigError, Env};

/// Largest configuration file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The raw settings of one cloud and where they came from.
pub(super) struct RawCloud {
    pub(super) settings: Map<String, Value>,
    pub(super) place: String,
}

/// Finds the named cloud (or the only one) in the files.
pub(super) fn find(name: Option<&str>, env: &Env) -> Result<Option<RawCloud>, ConfigError> {
    let Some(path) = locate(env, "OS_CLIENT_CONFIG_FILE", "clouds")? else {
        return Ok(None);
    };
    let file = path.display().to_string();
    let mut clouds = section(&path, "clouds")?;
    if let Some(secure) = locate(env, "OS_CLIENT_SECURE_FILE", "secure")? {
        merge(&mut clouds, section(&secure, "clouds")?);
    }
    let names: Vec<String> = clouds.keys().cloned().collect();
    let chosen = match (name, names.as_slice()) {
        (Some(name), _) => name.to_owned(),
        (None, [only]) => only.clone(),
        (None, []) => return Ok(None),
        (None, _) => {
            return Err(ConfigError::ChooseCloud {
                file,
                available: names,
            });
        }
    };
    let place = format!("{file}: cloud {chosen:?}");
    let mut settings = match clouds.remove(&chosen) {
        Some(Value::Object(settings)) => settings,
        Some(_) => {
            return Err(ConfigError::Malformed {
                file,
                reason: format!("cloud {chosen:?} is not a map"),
            });
        }
        None => {
            return Err(ConfigError::NoCloud {
                cloud: chosen,
                file,
                available: names,
            });
        }
    };
    if let Some(profile) = settings
        .remove("profile")
        .or_else(|| settings.remove("cloud"))
    {
        let profile = profile.as_str().unwrap_or_default().to_owned();
        settings = with_profile(settings, &profile, env, &place)?;
    }
    Ok(Some(RawCloud { settings, place }))
}

/// All places that are tried for `clouds.yaml`, for messages.
pub(super) fn places(env: &Env) -> Vec<String> {
    match env.var("OS_CLIENT_CONFIG_FILE") {
        Some(path) => vec![path.to_owned()],
        None => env
            .config_dirs()
            .iter()
            .map(|dir| dir.join("clouds.yaml").display().to_string())
            .collect(),
    }
}

fn with_profile(
    own: Map<String, Value>,
    profile: &str,
    env: &Env,
    place: &str,
) -> Result<Map<String, Value>, ConfigError> {
    let missing = |reason: String| ConfigError::BadValue {
        place: place.to_owned(),
        key: "profile".to_owned(),
        reason,
    };
    let path = locate(env, "OS_CLIENT_VENDOR_FILE", "clouds-public")?.ok_or_else(|| {
        missing(format!(
            "{profile:?} needs a clouds-public.yaml, and there is none"
        ))
    })?;
    let mut profiles = section(&path, "public-clouds")?;
    match profiles.remove(profile) {
        Some(Value::Object(mut base)) => {
            merge(&mut base, own);
            Ok(base)
        }
        _ => Err(missing(format!("{profile:?} is not in {}", path.display()))),
    }
}

fn locate(env: &Env, variable: &str, stem: &str) -> Result<Option<PathBuf>, ConfigError> {
    if let Some(path) = env.var(variable) {
        let path = PathBuf::from(path);
        if path.is_file() {
            return Ok(Some(path));
        }
        return Err(ConfigError::Unreadable {
            file: path.display().to_string(),
            reason: format!("named by {variable}, but there is no such file"),
        });
    }
    let found = env
        .config_dirs()
        .into_iter()
        .flat_map(|dir| ["yaml", "yml", "json"].map(|end| dir.join(format!("{stem}.{end}"))))
        .find(|path| path.is_file());
    Ok(found)
}

fn section(path: &Path, key: &str) -> Result<Map<String, Value>, ConfigError> {
    let file = path.display().to_string();
    let unreadable = |reason: String| ConfigError::Unreadable {
        file: file.clone(),
        reason,
    };
    let size = std::fs::metadata(path)
        .map_err(|e| unreadable(e.to_string()))?
        .len();
    if size > MAX_FILE {
        return Err(unreadable(format!("larger than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
    parse_section(&text, key).map_err(|reason| ConfigError::Malformed { file, reason })
}

/// The map under `key` of a YAML or JSON text. Errors name the place and show no values.
pub(super) fn parse_section(text: &str, key: &str) -> Result<Map<String, Value>, String> {
    let value = crate::yaml::parse(text)?;
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(mut root) => match root.remove(key) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(_) => Err(format!("{key} is not a map")),
        },
        _ => Err("is not a map".to_owned()),
    }
}

/// Lays `over` on `base`, map by map.
fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
