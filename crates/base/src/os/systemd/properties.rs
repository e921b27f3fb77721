//! All properties of one unit in one message, with typed access.

use super::{SERVICE, name};
use crate::{
    error::ToolError,
    os::bus::{DBus, DBusObject, refusal},
};
use std::collections::HashMap;
use zbus::{Array, Message, Variant};

/// The bytes of a GetAll answer, not parsed yet.
pub struct GetAllReply(zbus::message::Body);

/// The properties of a unit. Empty texts, and numbers that mean "none", are `None`.
pub struct UnitProperties<'a>(HashMap<&'a str, Variant<'a>>);

/// Requests all properties of the unit `unit`. systemd loads it if necessary.
///
/// The empty interface means all of them (supported by sd-bus and used by systemctl): one message for those of every
/// unit and those of a service.
///
/// # Errors
/// As [`DBus::call`].
pub async fn of_unit(bus: &DBus, unit: &str) -> Result<GetAllReply, ToolError> {
    let path = name::object_path(unit);
    let object = DBusObject { service: SERVICE, path: &path, interface: "org.freedesktop.DBus.Properties" };
    let answer: Message = bus.call(object, "GetAll", &"").await?;
    Ok(GetAllReply(answer.body()))
}

impl GetAllReply {
    /// # Errors
    /// `unavailable` when it is not a valid GetAll answer.
    pub fn read(&self) -> Result<UnitProperties<'_>, ToolError> {
        self.0.deserialize().map(UnitProperties).map_err(|error| refusal(SERVICE, "GetAll", &error))
    }
}

impl<'a> UnitProperties<'a> {
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Variant::Str(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        }
    }

    pub fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Variant::Bool(true)))
    }

    /// An unsigned number of any width. systemd represents "not known" and "no limit" by the largest value.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            Variant::U64(u64::MAX) | Variant::U32(u32::MAX) => None,
            Variant::U64(number) => Some(*number),
            Variant::U32(number) => Some((*number).into()),
            Variant::U16(number) => Some((*number).into()),
            _ => None,
        }
    }

    pub fn signed(&self, name: &str) -> Option<i32> {
        match self.0.get(name)? {
            Variant::I32(number) => Some(*number),
            _ => None,
        }
    }

    /// A list of texts; empty when missing.
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Variant::Array(array)) => texts(array),
            _ => Vec::new(),
        }
    }

    /// ExecStart= and similar, one command line each: path and arguments as parsed by systemd.
    pub fn commands(&self, name: &str) -> Vec<Vec<String>> {
        let Some(Variant::Array(array)) = self.0.get(name) else { return Vec::new() };
        let command = |variant: &Variant<'_>| match variant {
            Variant::Structure(command) => match command.fields() {
                [Variant::Str(path), Variant::Array(words), ..] => {
                    let mut words = texts(words);
                    // The first argument is `argv[0]`, almost always the path.
                    match words.first_mut() {
                        Some(first) => path.as_str().clone_into(first),
                        None => words.push(path.as_str().to_owned()),
                    }
                    Some(words)
                }
                _ => None,
            },
            _ => None,
        };
        array.iter().filter_map(command).collect()
    }

    /// LoadError: name and message of the error in the unit's file.
    pub fn load_error(&self) -> Option<String> {
        match self.0.get("LoadError")? {
            Variant::Structure(error) => match error.fields() {
                [Variant::Str(name), Variant::Str(words)] if !name.is_empty() || !words.is_empty() => {
                    Some(if words.is_empty() { name.as_str().into() } else { words.as_str().into() })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn texts(array: &Array<'_>) -> Vec<String> {
    let text = |variant: &Variant<'_>| match variant {
        Variant::Str(text) => Some(text.as_str().to_owned()),
        _ => None,
    };
    array.iter().filter_map(text).collect()
}
