//! What a person is shown of a call before approving it: all of it, in a form that no caller can forge.
//!
//! The arguments are shown unchanged, with two exceptions that are marked: a field that the tool's schema declares
//! secret (`writeOnly`), and the content of a file above [`TEXT_BYTES`]. Marks are kept apart from the arguments, by
//! JSON pointer, so that a caller's text cannot imitate one. Anything else that is too long is refused, because nobody
//! can judge half a command.

mod request;
mod text;

pub use request::AskRequest;
pub use text::{lines, quoted};

use base::canonical;
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Maximum bytes of one text. Texts are shown in full.
pub const TEXT_BYTES: usize = 64 * 1024;
/// Maximum bytes of all arguments of one ask with their marks, in canonical JSON: the agent keeps up to 32 asks.
pub const ALL_BYTES: usize = 96 * 1024;
/// Bytes that are shown of each end of a truncated text.
const END_BYTES: usize = 2 * 1024;
/// Maximum nesting of arguments in an ask.
const MOST_LEVELS: usize = 16;
/// Maximum bytes of a tool's or caller's name, and of a summary.
const SHORT_BYTES: usize = 1024;

/// Why a value is not shown unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mark {
    /// The tool's schema declares it secret. No hash either, because a short secret could be found from it.
    Hidden { characters: usize },
    /// Content of a file that is too long to show.
    Cut {
        bytes: usize,
        /// Of the whole text in the argument.
        sha256: String,
        head: String,
        tail: String,
    },
}

/// Values that are not shown, by their JSON pointer; the arguments have null there.
pub type Marks = BTreeMap<String, Mark>;

/// The arguments of a call of `tool` as a person is shown them, with the marks of what is not shown.
///
/// # Errors
/// `content_too_large` when they are too long for a person to judge, and cutting the `bulk` arguments does not help.
pub fn shown(tool: &str, schema: &Value, bulk: &[&str], args: &Value) -> Result<(Value, Marks), ToolError> {
    let (mut args, mut marks) = (args.clone(), Marks::new());
    hide(schema, schema, &mut args, &mut String::new(), &mut marks);
    for longest in [TEXT_BYTES, 2 * END_BYTES] {
        if check(tool, &args, &marks).is_err()
            && let Some(args) = args.as_object_mut()
        {
            cut(args, bulk, longest, &mut marks);
        }
    }
    check(tool, &args, &marks)?;
    Ok((args, marks))
}

/// Checks that the arguments are within the limits and that each mark is at a null. The agent checks this too.
///
/// # Errors
/// `content_too_large` naming the limit; `invalid_argument` for a mark at a value that is not null.
pub fn check(tool: &str, args: &Value, marks: &Marks) -> Result<(), ToolError> {
    let too_large = |limit: usize, what: &str| {
        ToolError::new(
            ErrorCode::ContentTooLarge,
            format!("the arguments of {tool} are too large for a person to judge: {what}"),
        )
        .with("limit_bytes", limit)
        .hint("send smaller arguments, in several calls")
    };
    if levels(args) > MOST_LEVELS {
        return Err(too_large(ALL_BYTES, "they are nested too deeply"));
    }
    let marked: usize = marks.iter().map(|(at, mark)| at.len() + weight(mark)).sum();
    if canonical::to_string(args).len() + marked > ALL_BYTES {
        return Err(too_large(ALL_BYTES, "all of them are shown, and they are longer than that"));
    }
    if longest(args) > TEXT_BYTES {
        return Err(too_large(TEXT_BYTES, "one text is longer than is shown"));
    }
    if let Some(at) = marks.keys().find(|at| !args.pointer(at).is_some_and(Value::is_null)) {
        return Err(ToolError::invalid(format!("a mark stands at {}, where nothing is hidden", quoted(at))));
    }
    Ok(())
}

/// Checks that `text`, such as a tool's name, has at most 1024 bytes.
///
/// # Errors
/// `content_too_large`.
pub fn short(name: &str, text: &str) -> Result<(), ToolError> {
    if text.len() <= SHORT_BYTES {
        return Ok(());
    }
    Err(ToolError::new(ErrorCode::ContentTooLarge, format!("{name} of an ask has {SHORT_BYTES} bytes at most"))
        .with("limit_bytes", SHORT_BYTES))
}

/// Replaces what `schema` declares secret by null and adds marks.
fn hide(root: &Value, schema: &Value, value: &mut Value, at: &mut String, marks: &mut Marks) {
    if at.split('/').count() > MOST_LEVELS {
        return;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#'))
        && let Some(schema) = root.pointer(name)
    {
        hide(root, schema, value, at, marks);
    }
    for list in ["anyOf", "oneOf", "allOf"] {
        for schema in schema[list].as_array().into_iter().flatten() {
            hide(root, schema, value, at, marks);
        }
    }
    if schema["writeOnly"] == true && !value.is_null() {
        let characters = value.as_str().map_or_else(|| value.to_string().chars().count(), |text| text.chars().count());
        marks.insert(at.clone(), Mark::Hidden { characters });
        *value = Value::Null;
        return;
    }
    let length = at.len();
    match value {
        Value::Object(map) => {
            for (name, item) in map {
                let schema = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                if schema.is_object() {
                    at.push('/');
                    at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    hide(root, schema, item, at, marks);
                    at.truncate(length);
                }
            }
        }
        Value::Array(items) if schema["items"].is_object() => {
            for (index, item) in items.iter_mut().enumerate() {
                at.push_str(&format!("/{index}"));
                hide(root, &schema["items"], item, at, marks);
                at.truncate(length);
            }
        }
        _ => {}
    }
}

/// Replaces the arguments in `bulk` that are longer than `longest` by null and adds marks.
fn cut(args: &mut Map<String, Value>, bulk: &[&str], longest: usize, marks: &mut Marks) {
    for name in bulk {
        let Some(Value::String(text)) = args.get(*name) else { continue };
        if text.len() <= longest {
            continue;
        }
        let mark = Mark::Cut {
            bytes: text.len(),
            sha256: canonical::hex(&Sha256::digest(text.as_bytes())),
            head: text[..text.floor_char_boundary(END_BYTES)].to_owned(),
            tail: text[text.ceil_char_boundary(text.len() - END_BYTES)..].to_owned(),
        };
        marks.insert(format!("/{name}"), mark);
        args.insert((*name).to_owned(), Value::Null);
    }
}

fn weight(mark: &Mark) -> usize {
    match mark {
        Mark::Hidden { .. } => 32,
        // JSON needs at most six bytes for one byte of text.
        Mark::Cut { head, tail, .. } => 128 + 6 * (head.len() + tail.len()),
    }
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

fn longest(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(longest).max().unwrap_or(0),
        Value::Object(map) => map.iter().map(|(name, item)| name.len().max(longest(item))).max().unwrap_or(0),
        _ => 0,
    }
}
