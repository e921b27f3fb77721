//! Tools that are added while the server runs: their texts, schemas and handler are owned, and go when they are removed.

use super::{
    context::Context,
    names,
    tool::{PreparedCall, SubjectFuture, ToolFuture},
};
use base::error::ToolError;
use contract::{
    meta::OwnedMeta,
    schema::{Checker, advertised::executed, executable},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Does the work of a tool that is no part of this program.
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs one call. `args` fit the tool's input schema. Deadline, cancellation and audit are as for [`super::tool::Tool::call`].
    fn call<'a>(&'a self, cx: &'a Context, args: Value) -> ToolFuture<'a>;

    /// What a person is asked about, and an approval is bound to; `None`: the arguments.
    ///
    /// # Errors
    /// Why the call cannot be approved: it would be refused anyway.
    fn subject<'a>(&'a self, _cx: &'a Context, _args: &'a Value) -> Option<SubjectFuture<'a>> {
        None
    }

    /// See [`super::tool::Tool::asks`].
    fn asks(&self, _args: &Value) -> bool {
        true
    }
}

/// Whose schemas a tool has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// Ours: every keyword is executed, or the tool is refused.
    Us,
    /// Somebody else: what is not executed is left to the tool.
    Others,
}

impl Author {
    fn checker(self, schema: &Value) -> Result<Checker, String> {
        match self {
            Self::Us => Checker::new(schema),
            Self::Others => Checker::new(&executable(schema)),
        }
    }
}

pub(super) struct Added {
    pub meta: OwnedMeta,
    /// As it is advertised.
    pub input: Value,
    /// The schemas of properties that accept more.
    pub accepts: Map<String, Value>,
    /// Null: results are not described.
    pub output: Value,
    /// `agent:` and the namespace; empty: this program does it.
    pub by: Box<str>,
    /// Other names that are accepted and not listed.
    pub aliases: Vec<&'static str>,
    /// More of `_meta`, which `tools.describe` shows.
    pub more: Value,
    handler: Arc<dyn ToolHandler>,
}

impl Added {
    /// # Errors
    /// `invalid_argument`: the name has no form that every client takes, a schema uses a keyword that is not executed, or the
    /// arguments are no object.
    pub fn new(
        meta: OwnedMeta,
        input: Value,
        accepts: Map<String, Value>,
        output: Value,
        author: Author,
        handler: Arc<dyn ToolHandler>,
    ) -> Result<(Self, Checker), ToolError> {
        let name = meta.declaration().name;
        names::check(name).map_err(|why| ToolError::invalid(format!("{name} cannot be the name of a tool: {why}")))?;
        let bad = |which: &str, why: &str| ToolError::invalid(format!("the {which} of {name} cannot be used: {why}"));
        let executed = executed(input.clone(), accepts.clone());
        let checker = author.checker(&executed).map_err(|why| bad("inputSchema", &why))?;
        for (which, schema) in [("inputSchema", &input), ("outputSchema", &output)] {
            if (which == "inputSchema" || !schema.is_null()) && schema["type"] != "object" {
                return Err(bad(which, "its type is not \"object\""));
            }
        }
        if !output.is_null() {
            author.checker(&output).map_err(|why| bad("outputSchema", &why))?;
        }
        let by = format!("agent:{}", meta.declaration().namespace()).into();
        Ok((Self { meta, input, accepts, output, by, aliases: Vec::new(), more: Value::Null, handler }, checker))
    }

    pub fn prepare(&self, args: Value) -> Box<dyn PreparedCall> {
        Box::new(Ready { handler: Arc::clone(&self.handler), args })
    }
}

struct Ready {
    handler: Arc<dyn ToolHandler>,
    args: Value,
}

impl PreparedCall for Ready {
    fn permit(&self, _cx: &Context) -> Result<(), ToolError> {
        Ok(())
    }
    fn asks(&self) -> bool {
        self.handler.asks(&self.args)
    }
    fn subject<'a>(&'a self, cx: &'a Context) -> Option<SubjectFuture<'a>> {
        self.handler.subject(cx, &self.args)
    }
    fn run<'a>(self: Box<Self>, cx: &'a Context) -> ToolFuture<'a> {
        Box::pin(async move { self.handler.call(cx, self.args).await })
    }
}
