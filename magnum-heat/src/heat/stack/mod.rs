//! Stacks: create, read, change, delete, list.

mod adopt;
mod create;
mod delete;
mod list;
mod model;
mod parts;
mod read;
mod update;

pub use adopt::{AdoptOutcome, CreatedStack, create_stack_or_adopt};
pub use create::{CreateStack, PreviewStack, StackContent};
pub use delete::{DeleteStack, DeleteWait, wait_deleted};
pub use list::{ListStacks, ListStacksDetail, list_stacks};
pub(crate) use model::stack_of_href;
pub use model::{Output, Stack, StackLink, StackRef, StackSummary};
pub use parts::{GetEnvironment, GetFiles, GetTemplate, ListOutputs, OutputSummary, ShowOutput};
pub use read::{ShowStack, find_stack};
pub use update::{PatchStack, PreviewPatch, PreviewReplace, ReplaceStack};
