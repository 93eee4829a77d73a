//! HOT, Heat's template language: build, read, edit, compare.
//!
//! A [`Document`] is ordered JSON, which Heat reads as it reads YAML. Properties of the resource types that drivers use
//! are typed structs in [`types`]; any other type goes through [`Resource::raw`].

mod diff;
mod document;
mod files;
mod functions;
mod limits;
mod output;
mod parse;
mod resource;
pub mod types;
mod value;

pub use diff::{Diff, ProofError, diff, prove_only};
pub use document::{Document, DocumentError, Section};
pub use files::Files;
pub use functions::{
    and, digest, equals, filter, get_attr, get_attr_path, get_file, get_param, get_resource,
    if_else, list_join, map_merge, not, or, raw_function, repeat, resource_facade, str_replace,
    str_replace_strict, yaql,
};
pub use limits::{LimitError, Limits, check_stack_name};
pub use output::{Output, Parameter, ParameterType};
pub use parse::ParseError;
pub use resource::{Properties, Resource};
pub use value::Value;
