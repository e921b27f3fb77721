//! Confirms the pending network change, or reverts it.

use super::ACTIVATION;
use crate::{
    authorization::Authorization,
    connections::{NetworkChange, PendingChange},
    context::Context,
    operations::Operation,
};
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

const TOOL: &str = "network.confirm_connection";

/// The decision about the pending change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmRequest {
    /// `false`: revert it at once.
    pub keep: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmed {
    /// The change in question; `None` when none was pending and `keep` was false.
    pub change: Option<NetworkChange>,
    pub simulated: bool,
}

/// Confirms what was activated, or reverts it at once.
pub struct ConfirmConnection;

impl Operation for ConfirmConnection {
    const TAG: &'static str = "confirm_connection";
    const ANSWER: &'static str = "confirmed";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = ConfirmRequest;
    type Answer = Confirmed;

    fn patience(_request: &ConfirmRequest) -> Duration {
        ACTIVATION * 2
    }

    fn was_shown(request: &ConfirmRequest, args: &Value) -> bool {
        args.get("keep").map_or(Some(true), Value::as_bool) == Some(request.keep)
    }

    async fn run(cx: &Context<'_>, request: ConfirmRequest) -> Result<Confirmed, ToolError> {
        let result = confirm(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn confirm(cx: &Context<'_>, request: &ConfirmRequest) -> Result<Confirmed, ToolError> {
    cx.policy().check(TOOL)?;
    let (connections, network) = (&cx.connections, &cx.connections.network);
    // Waits for an activation that is under way.
    let _turn = connections.turn.lock().await;
    let Some(pending) = connections.kept() else {
        return match request.keep {
            true => Err(ToolError::precondition("no change of the network waits to be confirmed")
                .hint("network.get_status shows what is active")),
            false => Ok(Confirmed { change: None, simulated: cx.simulated }),
        };
    };
    if !network.stands(&pending.checkpoint).await? {
        connections.keep(None)?;
        return Err(too_late(&pending));
    }
    cx.admit(TOOL, &request.authorization, |args| ConfirmConnection::was_shown(request, args))?;
    if request.keep && pending.unsaved {
        // Before the way back is given up: a profile that cannot be saved would be lost at the next start.
        network.save(&pending.profile.uuid).await?;
    }
    match network.end(&pending.checkpoint, request.keep).await {
        Ok(()) => connections.keep(None).map_err(|error| error.with("changed", true))?,
        Err(error) if error.code == ErrorCode::NotFound => {
            connections.keep(None)?;
            return Err(too_late(&pending));
        }
        Err(error) => return Err(error.maybe_changed()),
    }
    Ok(Confirmed { change: Some(pending.into()), simulated: cx.simulated })
}

fn too_late(pending: &PendingChange) -> ToolError {
    ToolError::precondition(format!("{} was not confirmed in time, and was taken back", pending.profile.name))
        .with("connection", pending.profile.uuid.clone())
        .with("confirm_by_ms", pending.confirm_by_ms)
        .hint("network.get_status shows what is active; activate it again, with a longer confirm_seconds")
}
