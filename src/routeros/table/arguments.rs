//! Arguments as data: their JSON Schema is what is advertised, and what is executed.

use serde_json::{Map, Value, json};

/// What an argument may be.
#[derive(Clone, Copy, Debug)]
pub enum ArgKind {
    /// A configured device.
    Device,
    /// Configured devices, each once.
    Devices,
    /// From so many to so many characters.
    Text(u16, u16),
    /// So many characters at most, a regular expression, and an example.
    Pattern(u16, &'static str, &'static str),
    /// One of these.
    Word(&'static [&'static str]),
    /// From the first to the second.
    Integer(i64, i64),
    /// From zero on.
    Count,
    Flag,
    /// RFC 3339.
    Time,
    /// From so many to so many texts of at most so many characters, each once.
    Texts(u16, u16, u16),
    /// `["site=main"]`, or `["site"]` for any value; also taken: `{"site": "main"}`.
    Tags,
    Object(&'static [Arg]),
    /// From so many to so many objects.
    Objects(u16, u16, &'static [Arg]),
}

/// One argument.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    pub name: &'static str,
    pub kind: ArgKind,
    pub required: bool,
    /// JSON; empty: there is none.
    pub default: &'static str,
    pub about: &'static str,
}

/// An argument that has to be given.
pub const fn need(name: &'static str, kind: ArgKind, about: &'static str) -> Arg {
    Arg { name, kind, required: true, default: "", about }
}

/// An argument that may be absent.
pub const fn may(name: &'static str, kind: ArgKind, about: &'static str) -> Arg {
    Arg { name, kind, required: false, default: "", about }
}

/// An argument with a default, as JSON.
pub const fn or(name: &'static str, kind: ArgKind, default: &'static str, about: &'static str) -> Arg {
    Arg { name, kind, required: false, default, about }
}

pub const DEVICE: Arg = need("device_id", ArgKind::Device, "The router's id.");
pub const DEVICES: Arg = need("device_ids", ArgKind::Devices, "The routers' ids.");
pub const DRY_RUN: Arg = or("dry_run", ArgKind::Flag, "false", "Say what would change; change nothing.");

/// Most devices of one call.
const MOST_DEVICES: u16 = 500;
/// Most tags of a filter.
const MOST_TAGS: u16 = 16;

impl Arg {
    pub(super) fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        schema["description"] = json!(self.about);
        if let Some(default) = self.default() {
            schema["default"] = default;
        }
        schema
    }

    pub fn default(&self) -> Option<Value> {
        serde_json::from_str(self.default).ok()
    }
}

impl ArgKind {
    fn schema(self) -> Value {
        match self {
            // An unknown one is told as such, so its shape need not be.
            Self::Device => json!({ "type": "string", "maxLength": 63 }),
            Self::Devices => Self::Texts(1, MOST_DEVICES, 63).schema(),
            Self::Text(least, most) => json!({ "type": "string", "minLength": least, "maxLength": most }),
            Self::Pattern(most, pattern, example) => {
                json!({ "type": "string", "maxLength": most, "pattern": pattern, "examples": [example] })
            }
            Self::Word(words) => json!({ "type": "string", "enum": words }),
            Self::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
            Self::Count => json!({ "type": "integer", "minimum": 0 }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Time => json!({ "type": "string", "format": "date-time" }),
            Self::Texts(least, most, longest) => json!({
                "type": "array", "minItems": least, "maxItems": most,
                "items": { "type": "string", "minLength": 1, "maxLength": longest },
            }),
            Self::Tags => json!({
                "type": "array", "maxItems": MOST_TAGS,
                "items": { "type": "string", "maxLength": 127 },
            }),
            Self::Object(args) => closed(args),
            Self::Objects(least, most, args) => {
                json!({ "type": "array", "minItems": least, "maxItems": most, "items": closed(args) })
            }
        }
    }

    /// What is accepted beyond what is advertised.
    pub(super) fn accepts(self) -> Option<Value> {
        let map = json!({
            "type": "object", "maxProperties": MOST_TAGS,
            "additionalProperties": { "type": "string", "maxLength": 63 },
        });
        matches!(self, Self::Tags).then(|| json!({ "anyOf": [self.schema(), map] }))
    }
}

/// A closed object with these properties.
pub(super) fn closed(args: &[Arg]) -> Value {
    let properties: Map<String, Value> = args.iter().map(|arg| (arg.name.to_owned(), arg.schema())).collect();
    let required: Vec<&str> = args.iter().filter(|arg| arg.required).map(|arg| arg.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}
