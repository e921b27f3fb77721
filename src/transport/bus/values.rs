//! D-Bus values in and out. Bodies are read and written as lists of variants: one copy of the codec serves all methods.

use super::fault::Fault;
use crate::registry::listing::ListingFilter;
use base::error::ToolError;
use std::time::Duration;
use zbus::{Array, Dict, Message, Structure, Variant, message::Builder};

/// The arguments of a method, a reply or a signal.
pub type Fields = Vec<Variant<'static>>;

/// Longest correlation id, in bytes, as at the other doors.
const CORRELATION_ID: usize = 128;

/// D-Bus has no text with a zero in it.
pub fn text(text: impl Into<String>) -> Variant<'static> {
    let text = text.into();
    Variant::from(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text })
}

/// The arguments of a message whose signature is known to fit.
///
/// # Errors
/// `InvalidArgs` if the bytes are not what the signature says.
pub fn fields_of(message: &Message) -> Result<Fields, Fault> {
    let body = message.body();
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let read = || -> zbus::Result<Fields> {
        let structure: Structure<'_> = body.deserialize()?;
        structure.into_fields().into_iter().map(|field| field.try_into_owned().map(Variant::from)).collect()
    };
    read().map_err(|error| Fault::Bus("InvalidArgs", format!("the arguments cannot be read: {error}")))
}

/// The message with these arguments.
///
/// # Errors
/// For a text that D-Bus cannot carry.
pub fn with_fields(builder: Builder<'_>, fields: Fields) -> zbus::Result<Message> {
    if fields.is_empty() {
        return builder.build(&());
    }
    let structure = fields.into_iter().fold(Structure::builder(), |all, field| all.append_field(field));
    builder.build(&structure.build()?)
}

/// What a caller can add to a call.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    /// When the call is cancelled.
    pub timeout: Option<Duration>,
    pub correlation_id: Option<String>,
    pub schema_version: Option<u32>,
}

impl Options {
    /// # Errors
    /// `invalid_argument` for an unknown key, a value of another type or out of its bounds.
    pub fn of(given: &Dict<'_, '_>) -> Result<Self, ToolError> {
        let mut options = Self::default();
        for (key, value) in entries(given) {
            match (key, value) {
                ("timeout_ms", Variant::U32(ms @ 1..)) => options.timeout = Some(Duration::from_millis((*ms).into())),
                ("correlation_id", Variant::Str(id)) if id.len() <= CORRELATION_ID => {
                    options.correlation_id = Some(id.to_string());
                }
                ("schema_version", Variant::U32(version)) => options.schema_version = Some(*version),
                _ => {
                    return Err(unknown("options", key, value).hint(
                        "options are timeout_ms (u, from 1), correlation_id (s, at most 128 bytes) and schema_version (u)",
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// The filter of `List`.
///
/// # Errors
/// `invalid_argument` for an unknown key, or a value of another type.
pub fn filter_of(given: &Dict<'_, '_>) -> Result<ListingFilter, ToolError> {
    let mut filter = ListingFilter::default();
    for (key, value) in entries(given) {
        match (key, value) {
            ("names", Variant::Array(names)) if *names.element_signature() == "s" => filter.names = Some(texts(names)),
            ("tags", Variant::Array(tags)) if *tags.element_signature() == "s" => filter.tags = Some(texts(tags)),
            ("enabled", Variant::Bool(enabled)) => filter.enabled = Some(*enabled),
            _ => {
                return Err(unknown("filter", key, value).hint("a filter has names (as), tags (as) and enabled (b)"));
            }
        }
    }
    Ok(filter)
}

/// The texts of an `as`.
pub fn texts(array: &Array<'_>) -> Vec<String> {
    let each = array.inner().iter();
    each.filter_map(|item| if let Variant::Str(text) = item { Some(text.to_string()) } else { None }).collect()
}

/// An `as` of these texts.
pub fn texts_of<'a>(all: impl Iterator<Item = &'a str>) -> Variant<'static> {
    Variant::from(all.map(str::to_owned).collect::<Vec<_>>())
}

/// The entries of an `a{sv}`, out of their variants.
fn entries<'a>(given: &'a Dict<'a, 'a>) -> impl Iterator<Item = (&'a str, &'a Variant<'a>)> {
    given.iter().filter_map(|(key, value)| {
        let Variant::Str(key) = key else { return None };
        Some((key.as_str(), if let Variant::Variant(inner) = value { &**inner } else { value }))
    })
}

fn unknown(which: &str, key: &str, value: &Variant<'_>) -> ToolError {
    let key: String = key.chars().take(64).collect();
    let what = value.value_signature().to_string_no_parens();
    ToolError::invalid(format!("{key:?} of type {what:?} is no entry of {which}, or out of its bounds"))
        .with("parameter", which)
        .with("path", format!("/{which}/{key}"))
}
