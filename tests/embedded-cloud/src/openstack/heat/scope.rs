//! What functions see while a stack lives: parameters, references and attributes of its resources.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::functions::Scope;
use super::model::Resource;
use super::plugins::{self, Context, Home};
use super::template;
use super::{Heat, client::Client};
use crate::openstack::Cloud;

/// The scope of one evaluation; attributes were fetched before.
#[derive(Debug)]
pub(super) struct Known {
    conditions: Value,
    parameters: Map<String, Value>,
    files: Map<String, Value>,
    home: Home,
    rows: HashMap<String, (Resource, Result<Value, Failure>)>,
}

impl Scope for Known {
    fn parameter(&self, name: &str) -> Option<Value> {
        match name {
            "OS::stack_id" => Some(json!(self.home.id)),
            "OS::stack_name" => Some(json!(self.home.name)),
            "OS::project_id" => Some(json!(self.home.project_id)),
            _ => self.parameters.get(name).cloned(),
        }
    }

    fn reference(&self, name: &str) -> Option<Value> {
        self.rows.get(name).map(|(row, _)| plugins::reference(row))
    }

    fn attribute(&self, resource: &str, attribute: &str) -> Result<Value, Failure> {
        let Some((row, live)) = self.rows.get(resource) else {
            return Ok(Value::Null);
        };
        match live {
            Ok(live) if attribute.is_empty() => Ok(live.clone()),
            Ok(live) => Ok(plugins::attribute(row, live, attribute)),
            Err(failure) => Err(failure.clone()),
        }
    }

    fn file(&self, name: &str) -> Option<Value> {
        self.files.get(name).cloned()
    }

    fn condition(&self, name: &str) -> Option<Value> {
        self.conditions.get(name).cloned()
    }
}

/// Names in `get_attr` anywhere in a value.
fn attributes(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| attributes(v, found)),
        Value::Object(map) => {
            if let Some(name) = map
                .get("get_attr")
                .and_then(|a| a.get(0))
                .and_then(Value::as_str)
            {
                found.insert(name.to_owned());
            }
            map.values().for_each(|v| attributes(v, found));
        }
        _ => {}
    }
}

/// Names in `get_file` anywhere in a value.
fn file_names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| file_names(v, found)),
        Value::Object(map) => {
            if let Some(name) = map.get("get_file").and_then(Value::as_str) {
                found.insert(name.to_owned());
            }
            map.values().for_each(|v| file_names(v, found));
        }
        _ => {}
    }
}

impl Heat {
    /// A plugin's context for a resource of a stack.
    pub(super) async fn context<'a>(
        &'a self,
        cloud: &'a Cloud,
        stack: &str,
        resource: Resource,
    ) -> Result<Context<'a>, Failure> {
        let (home, trust) = self.home(stack)?;
        let token = self.token(cloud, stack, &trust).await?;
        Ok(Context {
            heat: self,
            cloud,
            client: Client {
                cloud: cloud.clone(),
                token,
            },
            home,
            resource,
        })
    }

    fn home(&self, stack: &str) -> Result<(Home, String), Failure> {
        self.state.read(|s| {
            let found = s
                .stacks
                .get(stack)
                .ok_or_else(|| Failure::not_found(stack))?;
            let home = Home {
                id: found.id.clone(),
                name: found.name.clone(),
                project_id: found.project_id.clone(),
                user_project_id: found.user_project_id.clone(),
            };
            Ok((home, found.trust_id.clone()))
        })
    }

    /// The scope for evaluating `value`: fetches the attributes that it uses.
    pub(super) async fn scope(
        &self,
        cloud: &Cloud,
        stack: &str,
        value: &Value,
    ) -> Result<Known, Failure> {
        let mut names = BTreeSet::new();
        template::references(value, &mut names);
        let mut fetched = BTreeSet::new();
        attributes(value, &mut fetched);
        let (home, _) = self.home(stack)?;
        let mut named = BTreeSet::new();
        file_names(value, &mut named);
        let (conditions, parameters, files, found) = self.state.read(|s| {
            let stack = s
                .stacks
                .get(stack)
                .ok_or_else(|| Failure::not_found(stack))?;
            let found: Vec<_> = names
                .iter()
                .filter_map(|n| stack.current(n).cloned())
                .collect();
            let used = stack.files.iter().filter(|(name, _)| named.contains(*name));
            let files: Map<_, _> = used
                .map(|(name, text)| (name.clone(), text.clone()))
                .collect();
            let conditions = stack
                .template
                .get("conditions")
                .cloned()
                .unwrap_or(Value::Null);
            let parameters = template::parameters(&stack.template, &stack.parameters)?;
            Ok::<_, Failure>((conditions, parameters, files, found))
        })?;
        let mut rows = HashMap::new();
        for row in found {
            let live = if fetched.contains(&row.name) && row.physical_id.is_some() {
                match self.context(cloud, stack, row.clone()).await {
                    Ok(cx) => plugins::live(&cx).await,
                    Err(failure) => Err(failure),
                }
            } else {
                Ok(Value::Null)
            };
            rows.insert(row.name.clone(), (row, live));
        }
        Ok(Known {
            conditions,
            parameters,
            files,
            home,
            rows,
        })
    }
}
