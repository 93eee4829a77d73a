//! The events of a stack.

use super::model::{Action, Event, Resource, Stack, Status};
use super::plugins;
use crate::openstack::Cloud;

/// Events kept of a stack.
const LIMIT: usize = 1000;

fn push(stack: &mut Stack, event: Event) {
    if stack.events.len() >= LIMIT {
        stack.events.drain(..LIMIT / 10);
    }
    stack.events.push(event);
}

/// Notes the state of a resource.
pub(super) fn resource(cloud: &Cloud, stack: &mut Stack, row: &Resource) {
    let event = Event {
        id: cloud.uuid(),
        at: cloud.now(),
        resource_name: row.name.clone(),
        resource_type: row.kind.clone(),
        physical_id: Some(
            row.physical_id
                .clone()
                .unwrap_or_else(|| plugins::physical_name(row)),
        ),
        status: row.resource_status(),
        reason: row.reason.clone(),
    };
    push(stack, event);
}

/// Notes a signal.
pub(super) fn signal(cloud: &Cloud, stack: &mut Stack, row: &Resource, reason: String) {
    let event = Event {
        id: cloud.uuid(),
        at: cloud.now(),
        resource_name: row.name.clone(),
        resource_type: row.kind.clone(),
        physical_id: row.physical_id.clone(),
        status: format!("{}_{}", Action::Signal, Status::Complete),
        reason,
    };
    push(stack, event);
}

/// Sets and notes the state of the stack itself.
pub(super) fn stack(
    cloud: &Cloud,
    stack: &mut Stack,
    action: Action,
    status: Status,
    reason: &str,
) {
    stack.action = action;
    stack.status = status;
    reason.clone_into(&mut stack.reason);
    let event = Event {
        id: cloud.uuid(),
        at: cloud.now(),
        resource_name: stack.name.clone(),
        resource_type: "OS::Heat::Stack".to_owned(),
        physical_id: Some(stack.id.clone()),
        status: stack.stack_status(),
        reason: reason.to_owned(),
    };
    push(stack, event);
}
