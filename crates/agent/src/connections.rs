//! The change of the network that waits to be confirmed: one at a time, on the card before it is made, so that the agent that
//! runs next can still confirm it. That it goes back otherwise is NetworkManager's part.

use super::{
    clock::Clock,
    files,
    network::{Checkpoint, Network, Profile},
};
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// A profile that was activated, and goes again unless somebody confirms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    pub(super) checkpoint: Checkpoint,
    pub profile: Profile,
    /// What was active before, and will be again.
    pub before: Vec<Profile>,
    /// Milliseconds since 1970, by this machine's clock.
    pub confirm_by_ms: i64,
    pub principal: String,
}

/// A change of the network that waits, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub profile: Profile,
    pub before: Vec<Profile>,
    pub confirm_by_ms: i64,
    pub principal: String,
}

impl From<Pending> for Change {
    fn from(pending: Pending) -> Self {
        let Pending { profile, before, confirm_by_ms, principal, .. } = pending;
        Self { profile, before, confirm_by_ms, principal }
    }
}

/// See the module.
pub(super) struct Connections {
    path: PathBuf,
    clock: Clock,
    pub(super) network: Arc<dyn Network>,
    /// Held while one change is made or ended: they come one after the other.
    pub(super) turn: tokio::sync::Mutex<()>,
    pending: Mutex<Option<Pending>>,
}

impl Connections {
    /// Takes up what the agent before left.
    ///
    /// # Errors
    /// `unavailable` when its file cannot be read.
    pub(super) fn load(
        folder: &Path,
        clock: Clock,
        network: Arc<dyn Network>,
        faults: &mut Vec<String>,
    ) -> Result<Self, ToolError> {
        let path = folder.join("connection.json");
        let pending = files::read(&path)?.and_then(|bytes| {
            serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                faults.push(format!(
                    "{} is unreadable ({error}); a change of the network can no longer be confirmed, and goes back by itself",
                    path.display()
                ));
                None
            })
        });
        Ok(Self { path, clock, network, turn: tokio::sync::Mutex::new(()), pending: Mutex::new(pending) })
    }

    /// What waits to be confirmed, by the clock; NetworkManager has the last word.
    pub(super) fn shown(&self) -> Option<Pending> {
        self.kept().filter(|pending| (self.clock)() < pending.confirm_by_ms)
    }

    /// What was written down last and not yet ended by us.
    pub(super) fn kept(&self) -> Option<Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes it down, or that there is nothing any more.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written; what is known stays as it was.
    pub(super) fn keep(&self, pending: Option<Pending>) -> Result<(), ToolError> {
        let json = serde_json::to_vec(&pending).map_err(|error| ToolError::internal(format!("connection: {error}")))?;
        files::replace(&self.path, &json)?;
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = pending;
        Ok(())
    }

    /// # Errors
    /// `conflict` while a change waits to be confirmed.
    pub(super) async fn must_be_free(&self) -> Result<(), ToolError> {
        let Some(pending) = self.kept() else { return Ok(()) };
        if !self.network.stands(&pending.checkpoint).await? {
            return self.keep(None);
        }
        Err(ToolError::new(ErrorCode::Conflict, format!("{} waits to be confirmed", pending.profile.name))
            .with("connection", pending.profile.uuid)
            .with("confirm_by_ms", pending.confirm_by_ms)
            .hint("network.confirm_connection keeps it, or takes it back with keep=false"))
    }
}
