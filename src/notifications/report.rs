//! What became of the messages: for `manage.get_server_status` and `raspi-mcp doctor`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One receiver, since the server started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct WebhookReport {
    /// As in `[[notifications.webhooks]]`.
    pub name: String,
    pub sent: u64,
    /// Given up: refused, not taken in time, or no news any more.
    pub failed: u64,
    /// Lost because too many waited or came at once.
    pub dropped: u64,
    pub waiting: usize,
    /// Since when it takes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub failing_since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub last_error: Option<String>,
}
