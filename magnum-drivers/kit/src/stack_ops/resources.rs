//! A stack's resources, seen member by member.

use std::collections::BTreeMap;

use magnum_core::MemberId;
use magnum_core::driver::DriverError;
use magnum_heat::diagnose::Reason;
use magnum_heat::resource::{ListResources, Resource};
use magnum_heat::stack::StackRef;
use magnum_heat::{Session, StackAction, StackStatus};

use crate::fault::cloud_error;
use crate::memo::StackRecord;

/// One resource as Heat shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceView {
    /// Its name in the document.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Its physical id; empty until there is one.
    pub physical: String,
    /// Its status.
    pub status: StackStatus,
    /// Why.
    pub reason: String,
}

impl From<Resource> for ResourceView {
    fn from(resource: Resource) -> Self {
        Self {
            name: resource.name,
            kind: resource.kind,
            physical: resource.physical_id,
            status: resource.status,
            reason: resource.status_reason,
        }
    }
}

/// How far a member's resources are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberResources {
    /// Some are being made.
    Building,
    /// Some are not begun. In a stack that has failed they never will be.
    NotStarted {
        /// Which.
        resource: String,
    },
    /// All are there.
    Complete {
        /// The server.
        server_id: String,
    },
    /// One failed.
    Failed {
        /// Which.
        resource: String,
        /// Why, in Heat's words.
        reason: String,
    },
}

impl MemberResources {
    /// Judges the resources of a member. `wanted` are the names that the document has for it.
    ///
    /// Where several failed, the first real failure counts, not those that were cancelled because of it (rule `OP-02`).
    #[must_use]
    pub fn judge(id: &MemberId, wanted: &[String], views: &BTreeMap<String, ResourceView>) -> Self {
        let mine: Vec<&ResourceView> = wanted.iter().filter_map(|name| views.get(name)).collect();
        if mine.iter().any(|view| view.status.is_in_progress()) {
            return Self::Building;
        }
        let mut failed: Vec<&&ResourceView> =
            mine.iter().filter(|view| view.status.is_failed()).collect();
        failed.sort_by_key(|view| is_follow_up(&view.reason));
        if let Some(view) = failed.first() {
            return Self::Failed {
                resource: view.name.clone(),
                reason: view.reason.clone(),
            };
        }
        let begun = |name: &String| {
            views
                .get(name)
                .is_some_and(|view| view.status.action != StackAction::Init)
        };
        if let Some(resource) = wanted.iter().find(|name| !begun(name)) {
            return Self::NotStarted {
                resource: resource.clone(),
            };
        }
        let server = views
            .get(&format!("server_{id}"))
            .map(|view| view.physical.clone())
            .filter(|physical| !physical.is_empty());
        match server {
            Some(server_id) if mine.iter().all(|view| view.status.is_complete()) => {
                Self::Complete { server_id }
            }
            _ => Self::Building,
        }
    }

    /// The same in a stack that has failed and in which nothing is in flight: what was not begun has failed with it.
    #[must_use]
    pub fn after_failure(self) -> Self {
        match self {
            Self::NotStarted { resource } => Self::Failed {
                resource,
                reason: String::new(),
            },
            other => other,
        }
    }
}

/// Whether a reason only says that something else failed.
pub(crate) fn is_follow_up(reason: &str) -> bool {
    reason.trim().is_empty() || Reason::parse(reason).is_follower()
}

/// Reads the resources of a stack by name, in one request.
///
/// # Errors
/// As the session.
pub async fn read_resources(
    session: &Session,
    record: &StackRecord,
) -> Result<BTreeMap<String, ResourceView>, DriverError> {
    let stack = record.id.as_ref().map_or_else(
        || StackRef::find(&record.name),
        |id| StackRef::new(&record.name, id),
    );
    let resources = session
        .send(ListResources::new(stack))
        .await
        .map_err(cloud_error)?;
    Ok(resources
        .into_iter()
        .map(|resource| (resource.name.clone(), resource.into()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str, status: &str, physical: &str, reason: &str) -> (String, ResourceView) {
        (
            name.to_owned(),
            ResourceView {
                name: name.to_owned(),
                kind: String::new(),
                physical: physical.to_owned(),
                status: StackStatus::parse(status),
                reason: reason.to_owned(),
            },
        )
    }

    #[test]
    fn op_02_the_real_failure_of_a_member_counts() {
        let id = MemberId::new("a");
        let wanted = ["port_a".to_owned(), "server_a".to_owned()];
        let judge = |views: Vec<(String, ResourceView)>| {
            MemberResources::judge(&id, &wanted, &views.into_iter().collect())
        };
        let failed = judge(vec![
            view(
                "port_a",
                "CREATE_FAILED",
                "",
                "CREATE aborted (Task create cancelled)",
            ),
            view("server_a", "CREATE_FAILED", "", "No valid host was found"),
        ]);
        assert_eq!(
            failed,
            MemberResources::Failed {
                resource: "server_a".into(),
                reason: "No valid host was found".into()
            }
        );
        let settling = judge(vec![
            view("port_a", "CREATE_FAILED", "", "x"),
            view("server_a", "CREATE_IN_PROGRESS", "", ""),
        ]);
        assert_eq!(settling, MemberResources::Building);
        let missing = judge(vec![view("server_a", "CREATE_COMPLETE", "s", "")]);
        let not_started = MemberResources::NotStarted {
            resource: "port_a".into(),
        };
        assert_eq!(missing, not_started);
        let waiting = judge(vec![
            view("port_a", "INIT_COMPLETE", "", ""),
            view("server_a", "INIT_COMPLETE", "", ""),
        ]);
        assert_eq!(waiting, not_started);
        assert_eq!(
            waiting.after_failure(),
            MemberResources::Failed {
                resource: "port_a".into(),
                reason: String::new()
            }
        );
        let complete = judge(vec![
            view("port_a", "CREATE_COMPLETE", "p", ""),
            view("server_a", "UPDATE_COMPLETE", "s", ""),
        ]);
        assert_eq!(
            complete,
            MemberResources::Complete {
                server_id: "s".into()
            }
        );
    }
}
