//! Whether a call changed something, for its record and for the details of its error.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// Whether a call changed something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Changed {
    #[default]
    No,
    Yes,
    /// The call was interrupted, or its answer was lost.
    Unknown,
}

impl Changed {
    /// From error details; `None` if they do not have it.
    pub fn of(details: &serde_json::Map<String, Value>) -> Option<Self> {
        match details.get("changed")? {
            Value::Bool(true) => Some(Self::Yes),
            Value::Bool(false) => Some(Self::No),
            Value::String(word) if word == "unknown" => Some(Self::Unknown),
            _ => None,
        }
    }
}

impl From<bool> for Changed {
    fn from(changed: bool) -> Self {
        if changed { Self::Yes } else { Self::No }
    }
}

impl Serialize for Changed {
    /// `true`, `false` or `"unknown"`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::No => serializer.serialize_bool(false),
            Self::Yes => serializer.serialize_bool(true),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}
