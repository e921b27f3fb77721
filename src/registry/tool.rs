//! The trait that a tool of this program implements, and what its calls return.

use super::context::Context;
use crate::services::Services;
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use std::{future::Future, pin::Pin};

/// One operation of the machine: typed arguments in, a typed result out.
///
/// The types are the contract: their schema is what `schemas/` promises and what the pipeline enforces.
pub trait Tool: 'static {
    type Args: DeserializeOwned + JsonSchema + Send;
    type Out: Serialize + JsonSchema + Send;
    const META: Meta;

    /// Gives arguments that can be written in several ways their one form, before anybody checks, hashes, shows or records
    /// them: a person approves the same call whichever way it is written. What is malformed stays, for the schema to refuse.
    fn normalise(_args: &mut Value) {}

    /// Whether the arguments fit each other: one that would be ignored beside the others is refused ([`ToolError::ignored`]),
    /// unless it has its default value.
    ///
    /// # Errors
    /// `invalid_argument` naming the argument.
    fn check(_args: &Self::Args) -> Result<(), ToolError> {
        Ok(())
    }

    /// What this particular call needs beyond its role, as `area:verb:resource` (`gpio:write:17`), or nothing.
    ///
    /// # Errors
    /// `permission_denied` with `details.required_permission` when the configuration does not grant it.
    fn permit(_cx: &Context, _args: &Self::Args) -> Result<(), ToolError> {
        Ok(())
    }

    /// Whether a person is asked about this call, where policy says "ask". Taking a risky thing back is not risky.
    fn asks(_args: &Self::Args) -> bool {
        true
    }

    /// What the audit has in place of the plain arguments. A person who is asked sees those (`access::question`).
    fn shown(_args: &Value) -> Option<Value> {
        None
    }

    /// The call of another tool that the arguments hold. It runs in the place of this one, with the rights, limits, questions and
    /// audit of that tool; this one runs only where that cannot be, to say why.
    const CARRIED: Option<ReadCarried> = None;

    /// What the configuration must have before the tool can reach anything, such as an entry in a list. Without it, and
    /// without a grant that names something, the tool is off: it is not listed and not found by a search.
    const NEEDS: Option<Needs> = None;

    /// Does the work. Runs under a deadline. A read is dropped when its caller has gone, and must leave nothing behind; a write is
    /// told by [`Context::cancel`] and runs to its own end ([`super::deed`]).
    fn call(cx: &Context, args: Self::Args) -> impl Future<Output = Result<Self::Out, ToolError>> + Send;

    /// MCP content blocks beside the text form of the result (an image, say).
    fn content(_out: &Self::Out) -> Vec<Value> {
        Vec::new()
    }

    /// The bytes that the answer is about, where it is about a file: what a resource of it holds, and an HTTP GET gives.
    fn blob(_out: &Self::Out) -> Option<Blob> {
        None
    }

    /// A whole MCP result in place of text and `structuredContent`, for answers that are no data (`input_required`) or
    /// would carry one twice (pictures).
    fn whole(_out: &Self::Out) -> Option<Value> {
        None
    }
}

/// A call inside the arguments of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// In any spelling.
    pub tool: String,
    /// A JSON object.
    pub args: Value,
}

/// Finds the carried call in the arguments of its carrier; `None` if they do not fit the carrier's schema.
pub type ReadCarried = fn(&Value) -> Option<Carried>;

/// See [`Tool::NEEDS`]. The error says what is missing, and how the owner adds it.
pub type Needs = fn(&Services) -> Result<(), ToolError>;

/// A file in an answer.
#[derive(Clone, Debug)]
pub struct Blob {
    pub mime: &'static str,
    pub bytes: bytes::Bytes,
}

/// What a tool answered, serialised once.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    pub json: Box<RawValue>,
    pub content: Vec<Value>,
    pub whole: Option<Value>,
    pub blob: Option<Blob>,
}

/// The result of a tool's work, once it has ended.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// What a person is asked about a call.
pub type SubjectFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send + 'a>>;

/// Arguments that passed their schema and their parser, ready to be permitted and run.
pub trait PreparedCall: Send {
    /// [`Tool::check`], then [`Tool::permit`].
    fn permit(&self, cx: &Context) -> Result<(), ToolError>;
    /// See [`Tool::asks`].
    fn asks(&self) -> bool;
    /// See [`super::added::ToolHandler::subject`].
    fn subject<'a>(&'a self, _cx: &'a Context) -> Option<SubjectFuture<'a>> {
        None
    }
    fn run<'a>(self: Box<Self>, cx: &'a Context) -> ToolFuture<'a>;
}
