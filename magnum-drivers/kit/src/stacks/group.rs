//! Documents of node groups, and edits of them by whole members.

use std::collections::BTreeSet;

use magnum_core::MemberId;
use magnum_heat::hot::types::ServerGroup;
use magnum_heat::hot::{Document, DocumentError, get_resource};

use super::member::{resource_names, resources};
use super::{Mark, MemberInput};

/// The resource that is the group's own server group.
const SERVERS: &str = "servers";

/// A stack of a group without members. `server_group` gives name and policy of a server group for its members.
///
/// # Errors
/// None for documents of this form; the builder's checks are passed on.
pub fn group_document(
    mark: &Mark,
    group: &str,
    server_group: Option<(&str, &str)>,
) -> Result<Document, DocumentError> {
    let mut document =
        Document::new().description(mark.description(&format!("node group {group}")));
    if let Some((name, policy)) = server_group {
        document.add_resource(SERVERS, ServerGroup::new().name(name).policies([policy]))?;
    }
    Ok(document)
}

/// Adds a member's resources to a document.
///
/// The document's own server group is joined while it has fewer than `server_group_members` members.
///
/// # Errors
/// Where one of the names exists already.
pub fn add_member(
    document: &mut Document,
    mut input: MemberInput<'_>,
    server_group_members: u32,
) -> Result<(), DocumentError> {
    if input.server_group.is_none() && document.has_resource(SERVERS) {
        let most = usize::try_from(server_group_members).unwrap_or(usize::MAX);
        // Stops counting when the group is full: large groups are rendered member by member.
        let joined = document
            .resources()
            .values()
            .filter(|resource| {
                let hints = &resource["properties"]["scheduler_hints"];
                hints.get("group").is_some()
            })
            .take(most)
            .count();
        if joined < most {
            input.server_group = Some(get_resource(SERVERS));
        }
    }
    for (name, resource) in resources(&input) {
        document.add_resource(name, resource)?;
    }
    Ok(())
}

/// Takes a member's resources out of a document; gives the names that were there.
///
/// # Errors
/// None for documents of this form; the builder's checks are passed on.
pub fn remove_member(document: &mut Document, id: &MemberId) -> Result<Vec<String>, DocumentError> {
    let names = member_resources(document, id);
    for name in &names {
        document.remove_resource(name)?;
    }
    Ok(names)
}

/// The names of a member's resources in a document.
#[must_use]
pub fn member_resources(document: &Document, id: &MemberId) -> Vec<String> {
    resource_names(id)
        .into_iter()
        .filter(|name| document.has_resource(name))
        .collect()
}

/// The members that a document has.
#[must_use]
pub fn members_of(document: &Document) -> BTreeSet<MemberId> {
    document
        .resources()
        .keys()
        .filter_map(|name| name.strip_prefix("server_"))
        .map(MemberId::new)
        .collect()
}
