//! The tools whose calls install an update.

use serde::{Deserialize, Serialize};

/// The tool whose call an update is; the agent's policy has a mode for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateTool {
    UpdateServer,
    ApplyOsUpdates,
}

impl UpdateTool {
    pub const fn name(self) -> &'static str {
        match self {
            Self::UpdateServer => "manage.update_server",
            Self::ApplyOsUpdates => "manage.apply_os_updates",
        }
    }
}
