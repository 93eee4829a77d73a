//! What a reading shows.

use crate::id::{ClusterId, ProjectId};

/// Whose objects a reading shows. Part of every query, so that another project's objects look absent (rule `MS-06`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    /// Those of one project.
    Project(ProjectId),
    /// All: for operators and for the engine itself.
    Everything,
}

impl Visibility {
    /// The project, where it is one.
    #[must_use]
    pub const fn project(&self) -> Option<&ProjectId> {
        match self {
            Self::Project(project) => Some(project),
            Self::Everything => None,
        }
    }

    /// Whether objects of this project are shown.
    #[must_use]
    pub fn shows(&self, owner: &ProjectId) -> bool {
        self.project().is_none_or(|project| project == owner)
    }
}

/// A part of a long list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The last id of the page before; none for the first page.
    pub after: Option<uuid::Uuid>,
    /// How many at most.
    pub limit: u32,
}

impl Page {
    /// Everything in one page.
    pub const ALL: Self = Self {
        after: None,
        limit: u32::MAX,
    };
}

impl Default for Page {
    fn default() -> Self {
        Self::ALL
    }
}

/// Which operations a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationFilter {
    /// Those of one cluster.
    pub cluster: Option<ClusterId>,
    /// Only those that have not ended.
    pub running: bool,
    /// How many at most; all where absent.
    pub limit: Option<u32>,
}
