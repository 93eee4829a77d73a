//! Reading one stack.

use http::Method;

use super::model::{Stack, StackRef};
use crate::{
    Error, Result, Session,
    request::{Answer, Path, Query, Request, ServiceType},
};

/// Reads a stack.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShowStack {
    /// Which.
    pub stack: StackRef,
    /// Compute the outputs; costly in Heat, so off unless needed.
    pub resolve_outputs: bool,
}

impl ShowStack {
    /// Without outputs.
    pub fn new(stack: impl Into<StackRef>) -> Self {
        Self {
            stack: stack.into(),
            resolve_outputs: false,
        }
    }

    /// With outputs.
    #[must_use]
    pub fn with_outputs(mut self) -> Self {
        self.resolve_outputs = true;
        self
    }
}

impl From<&Stack> for StackRef {
    fn from(stack: &Stack) -> Self {
        stack.reference()
    }
}

impl From<&StackRef> for StackRef {
    fn from(stack: &StackRef) -> Self {
        stack.clone()
    }
}

impl Request for ShowStack {
    type Output = Stack;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "show stack";

    fn path(&self) -> Path {
        self.stack.path()
    }

    fn query(&self) -> Query {
        vec![(
            "resolve_outputs".into(),
            if self.resolve_outputs {
                "True"
            } else {
                "False"
            }
            .to_owned(),
        )]
    }

    fn decode(&self, answer: Answer) -> Result<Stack> {
        answer.json_at("stack")
    }
}

/// Finds a stack by name or id; `None` when there is none or it is deleted (`HC-03`). A name that looks like an id is
/// found by name when no stack has such an id.
///
/// # Errors
/// Those of [`Session::send`], except not found.
pub async fn find_stack(session: &Session, name_or_id: &str) -> Result<Option<Stack>> {
    let found = match session
        .send(ShowStack::new(StackRef::find(name_or_id)))
        .await
    {
        Ok(stack) => Some(stack),
        Err(error) if error.is_not_found() && !matches!(error, Error::Lookup(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(found.filter(|stack| !stack.status.is_gone()))
}
