//! The network change that waits to be confirmed. There is at most one. It is on the card before it is made, so that a
//! restarted agent can still confirm it. NetworkManager itself reverts what is not confirmed.

use super::{
    clock::Clock,
    files,
    network::{ConnectionProfile, Network, NetworkCheckpoint},
};
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// An activated profile that is deactivated again unless it is confirmed. The release in the other slot may have written it: unknown fields are
/// ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Pending")]
pub struct PendingChange {
    pub(super) checkpoint: NetworkCheckpoint,
    pub profile: ConnectionProfile,
    /// What was active before, and is restored on a revert.
    pub before: Vec<ConnectionProfile>,
    /// Milliseconds since 1970, by this machine's clock.
    pub confirm_by_ms: i64,
    pub principal: String,
    /// It has a profile that is in memory only until it is confirmed.
    #[serde(default)]
    pub(super) unsaved: bool,
}

/// A network change that waits to be confirmed, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Change")]
pub struct NetworkChange {
    pub profile: ConnectionProfile,
    pub before: Vec<ConnectionProfile>,
    pub confirm_by_ms: i64,
    pub principal: String,
}

impl From<PendingChange> for NetworkChange {
    fn from(pending: PendingChange) -> Self {
        let PendingChange { profile, before, confirm_by_ms, principal, .. } = pending;
        Self { profile, before, confirm_by_ms, principal }
    }
}

/// See the module.
pub(super) struct NetworkChanges {
    path: PathBuf,
    clock: Clock,
    pub(super) network: Arc<dyn Network>,
    /// Held while one change is made or ended, so that changes are sequential.
    pub(super) turn: tokio::sync::Mutex<()>,
    pending: Mutex<Option<PendingChange>>,
}

impl NetworkChanges {
    /// Loads the state of the previous agent.
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
        let follows = "a change of the network can no longer be confirmed, and goes back by itself";
        let pending: Option<Option<PendingChange>> = files::read_state(&path, follows, faults)?;
        Ok(Self { path, clock, network, turn: tokio::sync::Mutex::new(()), pending: Mutex::new(pending.flatten()) })
    }

    /// The change that waits, by our clock. NetworkManager decides whether it still stands.
    pub(super) fn shown(&self) -> Option<PendingChange> {
        self.kept().filter(|pending| (self.clock)() < pending.confirm_by_ms)
    }

    /// The change recorded last that we have not ended.
    pub(super) fn kept(&self) -> Option<PendingChange> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the change, or that there is none.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written; the state is unchanged.
    pub(super) fn keep(&self, pending: Option<PendingChange>) -> Result<(), ToolError> {
        let json = serde_json::to_vec(&pending).map_err(|error| ToolError::internal(format!("connection: {error}")))?;
        files::replace(&self.path, &json)?;
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = pending;
        Ok(())
    }

    /// The turn to make a change, once nothing waits to be confirmed.
    ///
    /// # Errors
    /// `conflict` while another change is made, or waits to be confirmed.
    pub(super) async fn take_turn(&self) -> Result<tokio::sync::MutexGuard<'_, ()>, ToolError> {
        let turn = self.turn.try_lock().map_err(|_| {
            ToolError::new(ErrorCode::Conflict, "another change of the network is under way")
                .hint("wait a minute; network.get_status shows what waits to be confirmed")
        })?;
        let Some(pending) = self.kept() else { return Ok(turn) };
        if !self.network.stands(&pending.checkpoint).await? {
            self.keep(None)?;
            return Ok(turn);
        }
        Err(ToolError::new(ErrorCode::Conflict, format!("{} waits to be confirmed", pending.profile.name))
            .with("connection", pending.profile.uuid)
            .with("confirm_by_ms", pending.confirm_by_ms)
            .hint("network.confirm_connection keeps it, or takes it back with keep=false"))
    }
}
