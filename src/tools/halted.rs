//! A halt that stands, in answers.

use contract::{audit::rfc3339, halt::Halted};
use schemars::JsonSchema;
use serde::Serialize;

/// Who halted the machine, when and why (docs/halt.md).
#[derive(Serialize, JsonSchema)]
pub struct HaltedBy {
    /// A principal, a user of the machine, or its button.
    by: String,
    /// By what means.
    how: String,
    #[schemars(extend("format" = "date-time"))]
    since: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
}

impl From<Halted> for HaltedBy {
    fn from(Halted { by, how, since_ms, reason }: Halted) -> Self {
        Self { by, how, since: rfc3339(since_ms), reason }
    }
}
