//! Every tool the server offers, as data: one slice of entries feeds the listing, the dispatcher, the schemas on disk,
//! the policy table and the tests.

mod admission;
pub mod answer_meta;
mod authorization;
pub mod bounds;
mod budget;
pub mod cache;
#[cfg(not(schemas_from_types))]
mod carried;
pub mod context;
pub mod deed;
mod gates;
pub mod listing;
pub mod names;
pub mod pipeline;
pub mod places;
pub mod progress;
mod rate;
mod refusal;
pub mod tool;
mod trail;

use base::error::ToolError;
use contract::schema::Checker;
use names::Names;
use serde_json::Value;
use std::{collections::HashMap, sync::OnceLock};
use tool::{Entry, Prepared};

/// Whether this build makes its schemas from types. A release has them from the files, so it is no witness for the files.
pub const FROM_TYPES: bool = cfg!(schemas_from_types);

/// The entries of one server, with their names.
pub struct Registry {
    entries: Vec<&'static Entry>,
    pub names: Names,
    /// Compiled on first use: a tool nobody calls costs nothing.
    checkers: HashMap<&'static str, OnceLock<Checker>>,
}

impl Registry {
    /// A registry of these slices, in this order. The product's are `tools::NAMESPACES`; who starts a server may add others.
    pub fn new(namespaces: &[&'static [Entry]]) -> Self {
        let entries: Vec<_> = namespaces.iter().copied().flatten().collect();
        let checkers = entries.iter().map(|entry| (entry.name(), OnceLock::new())).collect();
        Self { names: Names::new(&entries), checkers, entries }
    }

    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + '_ {
        self.entries.iter().copied()
    }

    /// Gives `args` the one form that the approval, the audit and the tool see: without optional arguments that are null,
    /// which count as absent, and by [`tool::Tool::normalise`].
    pub fn normalise(&self, entry: &Entry, args: &mut Value) {
        if has_null(args) {
            self.checker(entry).without_nulls(args);
        }
        entry.normalise(args);
    }

    /// Schema first, then the types: both must accept.
    ///
    /// # Errors
    /// `invalid_argument` naming the parameter, what was expected and what came.
    pub fn prepare(&self, entry: &Entry, mut args: Value) -> Result<Box<dyn Prepared>, ToolError> {
        self.normalise(entry, &mut args);
        if let Err(fault) = self.checker(entry).check(&args) {
            return Err(fault.refusal(&args));
        }
        entry.parse(whole(args))
    }

    fn checker(&self, entry: &Entry) -> &Checker {
        self.checkers[entry.name()]
            .get_or_init(|| Checker::new(&entry.input_schema()).expect("the contract test compiles every schema"))
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
