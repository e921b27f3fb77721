//! Errors on the bus. Those of a call have one name for each error code; mistakes in the use of D-Bus have the names that
//! D-Bus has for them.

use super::values::{Fields, text};
use base::error::{ErrorCode, ToolError};
use serde_json::Value;

/// Why a method is not answered with its result.
#[derive(Debug)]
pub enum Fault {
    Tool(ToolError),
    /// The last part of a name below `org.freedesktop.DBus.Error`, and a sentence.
    Bus(&'static str, String),
}

impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl Fault {
    /// The error's name and its arguments: the sentence, and the JSON of `details` for errors of a call.
    pub fn parts(self) -> (String, Fields) {
        match self {
            Self::Tool(error) => {
                let details = Value::Object(error.details.clone()).to_string();
                (name_of(error.code), vec![text(error.advice()), text(details)])
            }
            Self::Bus(name, sentence) => (format!("org.freedesktop.DBus.Error.{name}"), vec![text(sentence)]),
        }
    }
}

/// `permission_denied` is `org.raspimcp.Error.PermissionDenied`.
fn name_of(code: ErrorCode) -> String {
    let mut name = "org.raspimcp.Error.".to_owned();
    for word in code.symbol().split('_') {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_that_d_bus_accepts_and_no_other_has() {
        let mut names: Vec<String> = ErrorCode::ALL.iter().map(|code| name_of(*code)).collect();
        assert!(names.contains(&"org.raspimcp.Error.PermissionDenied".into()));
        assert!(names.contains(&"org.raspimcp.Error.Timeout".into()));
        for name in &names {
            zbus::names::ErrorName::try_from(name.as_str()).unwrap();
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
