//! One tool of a running server: a row of this program's tables, or a tool that was added while the server runs.

use super::{
    added::{Added, Author, ToolHandler},
    row::ToolRow,
    tool::{Carried, PreparedCall},
};
use crate::services::Services;
use base::error::ToolError;
use contract::{
    access::caller::Caller,
    access::policy::Policy,
    meta::{Declaration, OwnedMeta},
    schema::{self, Checker},
};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// A tool in the registry. Calls keep it for as long as they run, also after it was removed.
pub struct Entry {
    source: Source,
    /// Compiled on first use: a tool that nobody calls costs nothing.
    checker: OnceLock<Checker>,
}

enum Source {
    Row(&'static ToolRow),
    Added(Box<Added>),
}

/// See [`Entry::configured`].
pub struct ConfiguredTool {
    pub meta: OwnedMeta,
    /// JSON Schema of the arguments, as it is advertised.
    pub input: Value,
    /// The schemas of properties that accept more than that.
    pub accepts: Map<String, Value>,
    pub output: Value,
    /// Other names that calls may use.
    pub aliases: Vec<&'static str>,
    /// More of `_meta`, which `tools.describe` shows.
    pub more: Value,
}

impl From<&'static ToolRow> for Entry {
    fn from(row: &'static ToolRow) -> Self {
        Self { source: Source::Row(row), checker: OnceLock::new() }
    }
}

impl Entry {
    /// A tool that is not part of this program, with JSON Schemas 2020-12 of its arguments and result (null: its results are
    /// not described).
    ///
    /// # Errors
    /// `invalid_argument`, saying what is wrong with the name or the schemas.
    pub fn added(meta: OwnedMeta, input: Value, output: Value, handler: impl ToolHandler) -> Result<Self, ToolError> {
        let (added, checker) = Added::new(meta, input, Map::new(), output, Author::Us, Arc::new(handler))?;
        Ok(Self { source: Source::Added(Box::new(added)), checker: checker.into() })
    }

    /// The same with schemas of somebody else: what is not executed is left to the tool.
    ///
    /// # Errors
    /// As [`Entry::added`]: a name, or a schema that is not one of an object.
    pub fn brought(meta: OwnedMeta, input: Value, output: Value, handler: impl ToolHandler) -> Result<Self, ToolError> {
        let (added, checker) = Added::new(meta, input, Map::new(), output, Author::Others, Arc::new(handler))?;
        Ok(Self { source: Source::Added(Box::new(added)), checker: checker.into() })
    }

    /// A tool of this program that is there only where it is configured.
    ///
    /// # Errors
    /// As [`Entry::added`].
    pub fn configured(tool: ConfiguredTool, handler: impl ToolHandler) -> Result<Self, ToolError> {
        let ConfiguredTool { meta, input, accepts, output, aliases, more } = tool;
        let (mut added, checker) = Added::new(meta, input, accepts, output, Author::Us, Arc::new(handler))?;
        (added.by, added.aliases, added.more) = ("".into(), aliases, more);
        Ok(Self { source: Source::Added(Box::new(added)), checker: checker.into() })
    }

    pub fn meta(&self) -> Declaration<'_> {
        match &self.source {
            Source::Row(row) => *row.meta,
            Source::Added(added) => added.meta.declaration(),
        }
    }

    pub fn name(&self) -> &str {
        match &self.source {
            Source::Row(row) => row.name(),
            Source::Added(added) => added.meta.declaration().name,
        }
    }

    /// Who does its work, if it is no part of this program.
    pub fn by(&self) -> Option<&str> {
        match &self.source {
            Source::Row(_) => None,
            Source::Added(added) => Some(&*added.by).filter(|by| !by.is_empty()),
        }
    }

    /// Other names that calls may use, and that are not listed.
    pub fn aliases(&self) -> &[&'static str] {
        match &self.source {
            Source::Row(_) => &[],
            Source::Added(added) => &added.aliases,
        }
    }

    /// What `tools.describe` has in `_meta` beside what a listing has.
    pub fn more_meta(&self) -> Option<&Map<String, Value>> {
        match &self.source {
            Source::Row(_) => None,
            Source::Added(added) => added.more.as_object(),
        }
    }

    /// See [`ToolRow::is_older`].
    pub fn is_older(&self) -> bool {
        matches!(&self.source, Source::Row(row) if row.is_older())
    }

    /// The row of this program's tables; `None`: it was added while the server runs.
    pub fn row(&self) -> Option<&'static ToolRow> {
        match &self.source {
            Source::Row(row) => Some(row),
            Source::Added(_) => None,
        }
    }

    /// Why it can reach nothing by the configuration or by a grant to `caller`; `None` if it can. See
    /// [`Tool::NEEDS`](super::tool::Tool::NEEDS).
    pub fn lacks(&self, services: &Services, policy: &Policy, caller: &Caller) -> Option<ToolError> {
        let missing = (self.row()?.needs?)(services).err()?;
        let granted = policy.reach(&self.meta(), caller).names_something();
        (!granted).then(|| missing.with("tool", self.name()))
    }

    /// JSON Schema 2020-12 of the arguments that are accepted: what is executed.
    pub fn input_schema(&self) -> Value {
        match &self.source {
            Source::Row(row) => row.input_schema(),
            Source::Added(added) => schema::advertised::executed(added.input.clone(), added.accepts.clone()),
        }
    }

    /// See [`ToolRow::advertised`].
    pub fn advertised(&self) -> (Value, Map<String, Value>) {
        match &self.source {
            Source::Row(row) => row.advertised(),
            Source::Added(added) => (added.input.clone(), added.accepts.clone()),
        }
    }

    /// See [`ToolRow::output_schema`].
    pub fn output_schema(&self) -> Value {
        match &self.source {
            Source::Row(row) => row.output_schema(),
            Source::Added(added) => added.output.clone(),
        }
    }

    /// See [`super::tool::Tool::shown`].
    pub fn shown(&self, args: &Value) -> Option<Value> {
        match &self.source {
            Source::Row(row) => row.shown(args),
            Source::Added(_) => None,
        }
    }

    /// See [`ToolRow::carries`].
    pub fn carries(&self) -> bool {
        matches!(&self.source, Source::Row(row) if row.carries())
    }

    /// See [`super::tool::Tool::CARRIED`].
    pub fn carried(&self, args: &Value) -> Option<Carried> {
        match &self.source {
            Source::Row(row) => row.carried(args),
            Source::Added(_) => None,
        }
    }

    /// Gives `args` the one form that the approval, the audit and the tool see: without optional arguments that are null,
    /// which count as absent, and by [`super::tool::Tool::normalise`].
    pub fn normalise(&self, args: &mut Value) {
        if has_null(args) {
            self.checker().without_nulls(args);
        }
        if let Source::Row(row) = &self.source {
            row.normalise(args);
        }
    }

    /// Schema first, then the types: both must accept.
    ///
    /// # Errors
    /// `invalid_argument` naming the parameter, what was expected and what came.
    pub fn prepare(&self, mut args: Value) -> Result<Box<dyn PreparedCall>, ToolError> {
        self.normalise(&mut args);
        if let Err(fault) = self.checker().check(&args) {
            return Err(fault.refusal(&args));
        }
        match &self.source {
            Source::Row(row) => row.parse(whole(args)),
            Source::Added(added) => Ok(added.prepare(args)),
        }
    }

    fn checker(&self) -> &Checker {
        self.checker.get_or_init(|| {
            schema::Checker::new(&self.input_schema()).expect("the contract test compiles every schema")
        })
    }
}

/// Whether a property of it, or of an object in it, is null.
fn has_null(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.values().any(|item| item.is_null() || has_null(item)))
}

/// JSON Schema's integers include `7.0` (Draft 2020-12, "type"), which some clients send for 7; serde's do not.
fn whole(value: Value) -> Value {
    /// Beyond it not every integer has a float of its own.
    const EXACT: f64 = (1u64 << 53) as f64;
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => (float as i64).into(),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole).collect(),
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, whole(value))).collect(),
        other => other,
    }
}
