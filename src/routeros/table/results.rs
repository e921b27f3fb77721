//! Results as data: JSON Schemas of what tools answer. Objects are open, as in all results.

use super::super::value::{Field, Kind};
use serde_json::{Map, Value, json};

/// What a field of a result is.
#[derive(Clone, Copy, Debug)]
pub enum OutKind {
    Text,
    /// Null where there is nothing to say.
    MaybeText,
    Integer,
    Number,
    Flag,
    /// Whether something was changed; `"unknown"` where nobody can say.
    Changed,
    Texts,
    /// An object whose names are not known beforehand.
    Map,
    /// One row of a menu.
    Row(&'static [Field]),
    /// Rows of a menu.
    Rows(&'static [Field]),
    Object(&'static [Out]),
    Objects(&'static [Out]),
}

/// A field of a result.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    pub name: &'static str,
    pub kind: OutKind,
    /// In every result.
    pub always: bool,
}

/// A field of every result.
pub const fn out(name: &'static str, kind: OutKind) -> Out {
    Out { name, kind, always: true }
}

/// A field of some results.
pub const fn maybe(name: &'static str, kind: OutKind) -> Out {
    Out { name, kind, always: false }
}

/// The page of a list that a result has, as in all tools of this server.
pub const PAGINATION: Out = out(
    "pagination",
    OutKind::Object(&[
        out("limit", OutKind::Integer),
        out("offset", OutKind::Integer),
        out("returned_count", OutKind::Integer),
        out("total_count", OutKind::Integer),
        out("has_more", OutKind::Flag),
        maybe("next_offset", OutKind::Integer),
    ]),
);

/// An object with these fields.
pub(super) fn open(fields: &[Out]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), field.kind.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.always).map(|field| field.name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

impl OutKind {
    fn schema(self) -> Value {
        let list = |items: Value| json!({ "type": "array", "items": items });
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::MaybeText => json!({ "type": ["string", "null"] }),
            Self::Integer => json!({ "type": "integer" }),
            Self::Number => json!({ "type": "number" }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Changed => json!({ "type": ["boolean", "string"] }),
            Self::Texts => list(Self::Text.schema()),
            Self::Map => json!({ "type": "object" }),
            Self::Row(fields) => row(fields),
            Self::Rows(fields) => list(row(fields)),
            Self::Object(fields) => open(fields),
            Self::Objects(fields) => list(open(fields)),
        }
    }
}

/// Flags and lists are always there; a number may be a text, such as `auto`.
fn row(fields: &[Field]) -> Value {
    let kind = |kind: Kind| match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::List => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Integer | Kind::Seconds => json!({ "type": ["integer", "string"] }),
        Kind::Number | Kind::Milliseconds => json!({ "type": ["number", "string"] }),
    };
    let properties: Map<String, Value> =
        fields.iter().map(|(name, _, theirs)| ((*name).to_owned(), kind(*theirs))).collect();
    let always = fields.iter().filter(|(_, _, kind)| matches!(kind, Kind::Flag | Kind::List));
    let required: Vec<&str> = always.map(|(name, _, _)| *name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The fields of a singleton, as fields of a result.
pub(super) fn whole(fields: &[Field]) -> Value {
    row(fields)
}
