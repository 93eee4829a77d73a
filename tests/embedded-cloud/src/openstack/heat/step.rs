//! One resource's step within an operation: create, update in place, replace or delete.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::failure::Failure;
use super::functions::evaluate;
use super::model::{Action, Resource, Stack, Status};
use super::plugins::{self, Change, Context};
use super::{Heat, schema, template};
use crate::openstack::Cloud;

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All well.
    Done,
    /// A newer operation has taken over, or the stack has failed.
    Superseded,
    /// The resource failed: its action and the reason.
    Failed(Action, String),
}

/// The operation that a step belongs to.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) heat: Arc<Heat>,
    pub(super) cloud: Cloud,
    pub(super) stack: String,
    pub(super) traversal: u64,
}

impl Job {
    fn read<R>(&self, f: impl FnOnce(&Stack) -> R) -> Option<R> {
        self.heat.state.read(|s| s.stacks.get(&self.stack).map(f))
    }

    fn write<R>(&self, f: impl FnOnce(&mut Stack) -> R) -> Option<R> {
        self.heat
            .state
            .write(|s| s.stacks.get_mut(&self.stack).map(f))
    }

    /// Whether the operation is still the stack's current one and has not failed.
    pub(super) fn live(&self) -> bool {
        self.read(|s| s.traversal == self.traversal && s.status == Status::InProgress)
            .unwrap_or(false)
    }

    /// Why work in flight must stop now: the stack is being deleted, or its time is over.
    fn aborted(&self, deleting: bool) -> Option<String> {
        self.read(|s| {
            if s.action == Action::Delete && !deleting {
                return Some(format!("Stack \"{}\" is being deleted", s.name));
            }
            let timed_out = s.status == Status::Failed
                && s.reason == "Timed out"
                && s.traversal == self.traversal;
            timed_out.then(|| "Timed out".to_owned())
        })
        .unwrap_or_else(|| Some("the stack is gone".to_owned()))
    }

    fn row(&self, rid: u64) -> Option<Resource> {
        self.read(|s| s.resources.get(&rid).cloned()).flatten()
    }

    async fn context(&self, rid: u64) -> Result<Context<'_>, Failure> {
        let row = self
            .row(rid)
            .ok_or_else(|| Failure::new("ResourceNotFound", "the resource is gone"))?;
        self.heat.context(&self.cloud, &self.stack, row).await
    }

    fn set(
        &self,
        rid: u64,
        action: Action,
        status: Status,
        reason: &str,
        change: impl FnOnce(&mut Resource),
    ) {
        let cloud = &self.cloud;
        self.write(|stack| {
            let Some(row) = stack.resources.get_mut(&rid) else {
                return;
            };
            row.action = action;
            row.status = status;
            reason.clone_into(&mut row.reason);
            row.updated = cloud.now();
            change(row);
            let row = row.clone();
            super::events::resource(cloud, stack, &row);
        });
    }

    fn fail(&self, rid: u64, action: Action, failure: &Failure) -> Outcome {
        let name = self.row(rid).map(|r| r.name).unwrap_or_default();
        let reason = failure.reason(&name);
        self.set(rid, action, Status::Failed, &reason, |_| {});
        Outcome::Failed(action, reason)
    }

    /// The definition and the resolved properties of a resource in the current template.
    async fn resolve(&self, name: &str) -> Result<(Value, Map<String, Value>), Failure> {
        let definition = self.read(|s| s.definition(name).cloned()).flatten();
        let definition =
            definition.ok_or_else(|| Failure::new("ResourceNotFound", "not in the template"))?;
        let empty = Value::Object(Map::new());
        let properties = definition
            .get("properties")
            .filter(|p| p.is_object())
            .unwrap_or(&empty);
        let scope = self
            .heat
            .scope(&self.cloud, &self.stack, properties)
            .await?;
        let evaluated = evaluate(properties, &scope)?;
        let kind = definition
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let schema = schema::resource_type(kind)
            .ok_or_else(|| Failure::unsupported(format!("the resource type {kind}")))?;
        let given = evaluated.as_object().cloned().unwrap_or_default();
        let path = format!("resources.{name}.properties");
        let resolved = schema::resolve(schema, &path, &given, &mut Vec::new())?;
        Ok((definition, resolved))
    }

    /// Brings a resource of the template to what the template says.
    pub(super) async fn update(&self, name: &str) -> Outcome {
        let lock = self.heat.lock(&self.stack, name);
        let _guard = lock.lock().await;
        if !self.live() {
            return Outcome::Superseded;
        }
        let Some(row) = self.read(|s| s.current(name).cloned()).flatten() else {
            return Outcome::Superseded;
        };
        let (definition, properties) = match self.resolve(name).await {
            Ok(found) => found,
            Err(failure) => {
                let action = if row.action == Action::Init {
                    Action::Create
                } else {
                    Action::Update
                };
                return self.fail(row.rid, action, &failure);
            }
        };
        let kind = definition
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match (row.action, row.status) {
            (Action::Init, _) => self.create(row.rid, definition, properties).await,
            (Action::Create, Status::InProgress) if row.physical_id.is_some() => {
                self.finish_create(row.rid).await
            }
            (Action::Create, Status::InProgress) => {
                self.create(row.rid, definition, properties).await
            }
            (Action::Create, Status::Failed) | (Action::Delete, _) => {
                self.replace(&row, definition, properties).await
            }
            _ if kind != row.kind => self.replace(&row, definition, properties).await,
            _ => self.compare(&row, definition, properties).await,
        }
    }

    async fn compare(
        &self,
        row: &Resource,
        definition: Value,
        properties: Map<String, Value>,
    ) -> Outcome {
        let keys: BTreeSet<&String> = properties.keys().chain(row.properties.keys()).collect();
        let changed = keys
            .into_iter()
            .filter(|k| properties.get(*k) != row.properties.get(*k));
        let changed: Vec<String> = changed.cloned().collect();
        let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
        match plugins::change(&row.kind, &changed, &row.properties, &properties) {
            Change::Replace => self.replace(row, definition, properties).await,
            Change::InPlace => {
                self.update_in_place(row, definition, properties, &changed)
                    .await
            }
            Change::None => {
                self.write(|stack| {
                    if let Some(row) = stack.resources.get_mut(&row.rid) {
                        row.requires = template::requirements(&definition);
                        row.definition = definition;
                        row.properties = properties;
                    }
                });
                if row.status == Status::Failed {
                    self.set(
                        row.rid,
                        Action::Update,
                        Status::InProgress,
                        "state changed",
                        |_| {},
                    );
                    self.set(
                        row.rid,
                        Action::Update,
                        Status::Complete,
                        "state changed",
                        |_| {},
                    );
                }
                Outcome::Done
            }
        }
    }

    async fn create(&self, rid: u64, definition: Value, properties: Map<String, Value>) -> Outcome {
        self.set(
            rid,
            Action::Create,
            Status::InProgress,
            "state changed",
            |row| {
                row.requires = template::requirements(&definition);
                row.definition = definition;
                row.properties = properties;
            },
        );
        loop {
            if let Some(why) = self.aborted(false) {
                return self.fail(rid, Action::Create, &Failure::new("CREATE aborted", why));
            }
            let hold = self.cloud.hold().await;
            let started = match self.context(rid).await {
                Ok(cx) => plugins::create(&cx).await,
                Err(failure) => Err(failure),
            };
            match started {
                Ok(Some(created)) => {
                    self.write(|stack| {
                        if let Some(row) = stack.resources.get_mut(&rid) {
                            row.physical_id = Some(created.id);
                            row.data.extend(created.data);
                        }
                    });
                    drop(hold);
                    return self.finish_create(rid).await;
                }
                Ok(None) => {}
                Err(failure) => {
                    drop(hold);
                    return self.fail(rid, Action::Create, &failure);
                }
            }
            drop(hold);
            self.pause().await;
        }
    }

    async fn pause(&self) {
        tokio::time::sleep(self.cloud.latency().heat_poll).await;
    }

    async fn finish_create(&self, rid: u64) -> Outcome {
        loop {
            let done = match self.context(rid).await {
                Ok(cx) => plugins::created(&cx).await,
                Err(failure) => Err(failure),
            };
            match done {
                Ok(true) => {
                    self.set(
                        rid,
                        Action::Create,
                        Status::Complete,
                        "state changed",
                        |_| {},
                    );
                    return Outcome::Done;
                }
                Ok(false) => {}
                Err(failure) => return self.fail(rid, Action::Create, &failure),
            }
            if let Some(why) = self.aborted(false) {
                return self.fail(rid, Action::Create, &Failure::new("CREATE aborted", why));
            }
            self.pause().await;
        }
    }

    async fn replace(
        &self,
        old: &Resource,
        definition: Value,
        properties: Map<String, Value>,
    ) -> Outcome {
        if old.physical_id.is_some()
            && let Ok(cx) = self.context(old.rid).await
        {
            let _hold = self.cloud.hold().await;
            plugins::prepare_replace(&cx).await;
        }
        let rid = self.write(|stack| {
            let rid = super::engine::insert_row(&self.cloud, stack, &old.name);
            if let Some(row) = stack.resources.get_mut(&old.rid) {
                row.replaced_by = Some(rid);
            }
            rid
        });
        match rid {
            Some(rid) => self.create(rid, definition, properties).await,
            None => Outcome::Superseded,
        }
    }

    async fn update_in_place(
        &self,
        old: &Resource,
        definition: Value,
        properties: Map<String, Value>,
        changed: &[&str],
    ) -> Outcome {
        let rid = old.rid;
        self.set(
            rid,
            Action::Update,
            Status::InProgress,
            "state changed",
            |_| {},
        );
        loop {
            let started = {
                let _hold = self.cloud.hold().await;
                match self.context(rid).await {
                    Ok(mut cx) => {
                        cx.resource.properties.clone_from(&properties);
                        plugins::update(&cx, changed, &old.properties).await
                    }
                    Err(failure) => Err(failure),
                }
            };
            match started {
                Ok(Some(())) => break,
                Ok(None) => {}
                Err(failure) => return self.fail(rid, Action::Update, &failure),
            }
            if let Some(why) = self.aborted(false) {
                return self.fail(rid, Action::Update, &Failure::new("UPDATE aborted", why));
            }
            self.pause().await;
        }
        loop {
            let done = match self.context(rid).await {
                Ok(mut cx) => {
                    cx.resource.properties.clone_from(&properties);
                    plugins::updated(&cx).await
                }
                Err(failure) => Err(failure),
            };
            match done {
                Ok(true) => break,
                Ok(false) => {}
                Err(failure) => return self.fail(rid, Action::Update, &failure),
            }
            if let Some(why) = self.aborted(false) {
                return self.fail(rid, Action::Update, &Failure::new("UPDATE aborted", why));
            }
            self.pause().await;
        }
        self.set(
            rid,
            Action::Update,
            Status::Complete,
            "state changed",
            |row| {
                row.requires = template::requirements(&definition);
                row.definition = definition;
                row.properties = properties;
            },
        );
        Outcome::Done
    }

    /// Deletes a version of a resource unless it is the one that the template wants.
    pub(super) async fn cleanup(&self, rid: u64, wanted: &BTreeSet<String>) -> Outcome {
        let Some(row) = self.row(rid) else {
            return Outcome::Done;
        };
        let lock = self.heat.lock(&self.stack, &row.name);
        let _guard = lock.lock().await;
        if !self.live() {
            return Outcome::Superseded;
        }
        let Some(row) = self.row(rid) else {
            return Outcome::Done;
        };
        if row.replaced_by.is_none() && wanted.contains(&row.name) {
            return Outcome::Done;
        }
        if row.physical_id.is_none() && row.action == Action::Init {
            self.write(|stack| stack.resources.shift_remove(&rid));
            return Outcome::Done;
        }
        self.set(
            rid,
            Action::Delete,
            Status::InProgress,
            "state changed",
            |_| {},
        );
        if row.physical_id.is_some()
            && let Err(failure) = self.destroy(rid).await
        {
            return self.fail(rid, Action::Delete, &failure);
        }
        self.set(
            rid,
            Action::Delete,
            Status::Complete,
            "state changed",
            |_| {},
        );
        self.write(|stack| stack.resources.shift_remove(&rid));
        Outcome::Done
    }

    async fn destroy(&self, rid: u64) -> Result<(), Failure> {
        let stop = |why: String| Failure::new("DELETE aborted", why);
        loop {
            let hold = self.cloud.hold().await;
            let started = plugins::delete(&self.context(rid).await?).await?;
            drop(hold);
            if started {
                break;
            }
            if let Some(why) = self.aborted(true) {
                return Err(stop(why));
            }
            self.pause().await;
        }
        while !plugins::deleted(&self.context(rid).await?).await? {
            if let Some(why) = self.aborted(true) {
                return Err(stop(why));
            }
            self.pause().await;
        }
        Ok(())
    }

    /// Ends a step that a kill of the process has cut off in a stack that is not in progress any more.
    pub(super) async fn settle(&self, rid: u64) {
        let Some(row) = self.row(rid) else { return };
        let lock = self.heat.lock(&self.stack, &row.name);
        let _guard = lock.lock().await;
        match (row.action, row.physical_id.is_some()) {
            (Action::Create, true) => {
                self.finish_create(rid).await;
            }
            (action, _) => {
                self.fail(
                    rid,
                    action,
                    &Failure::new("Error", "the engine was stopped"),
                );
            }
        }
    }
}
