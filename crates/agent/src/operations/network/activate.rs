//! Activates a network profile, with an automatic revert.

use super::{ACTIVATION, CONFIRM_SECONDS, DEFAULT_CONFIRM_SECONDS, LONGEST_NAME, ProfileChange, is_device, is_name};
use crate::{
    authorization::Authorization,
    connections::PendingChange,
    context::Context,
    network::{ActivationPlan, ConnectionProfile},
    operations::Operation,
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

const TOOL: &str = "network.activate_connection";

/// The profile to activate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionRequest {
    /// Its UUID or name.
    pub connection: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    pub confirm_seconds: u32,
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connected {
    pub profile: ConnectionProfile,
    /// What was active before.
    pub before: Vec<ConnectionProfile>,
    /// When it is reverted, in milliseconds since 1970; `None` after a dry run.
    pub confirm_by_ms: Option<i64>,
    pub simulated: bool,
}

/// Activates a profile, which is reverted unless it is confirmed.
pub struct ActivateConnection;

impl Operation for ActivateConnection {
    const TAG: &'static str = "activate_connection";
    const ANSWER: &'static str = "connected";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = ConnectionRequest;
    type Answer = Connected;

    fn patience(_request: &ConnectionRequest) -> Duration {
        ACTIVATION * 2
    }

    fn was_shown(request: &ConnectionRequest, args: &Value) -> bool {
        let seconds = args.get("confirm_seconds").map_or(Some(DEFAULT_CONFIRM_SECONDS.into()), Value::as_u64);
        let device = args.get("device").filter(|device| !device.is_null());
        args.get("connection") == Some(&json!(request.connection))
            && device == request.device.as_ref().map(|device| json!(device)).as_ref()
            && seconds == Some(request.confirm_seconds.into())
    }

    async fn run(cx: &Context<'_>, request: ConnectionRequest) -> Result<Connected, ToolError> {
        let result = activate(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn activate(cx: &Context<'_>, request: &ConnectionRequest) -> Result<Connected, ToolError> {
    cx.policy().check(TOOL)?;
    check(request)?;
    let (connections, network) = (&cx.connections, &cx.connections.network);
    let _turn = connections.take_turn().await?;
    let plan = network.plan(&request.connection, request.device.as_deref()).await?;
    if request.dry_run {
        return Ok(Connected {
            profile: plan.profile,
            before: plan.before,
            confirm_by_ms: None,
            simulated: cx.simulated,
        });
    }
    cx.admit(TOOL, &request.authorization, |args| ActivateConnection::was_shown(request, args))?;
    // Logged before it is done: a failed activation is reverted, but the connection was interrupted all the same.
    cx.log.note("activate_connection begins", cx.peer, json!(request), None)?;

    attempt(cx, plan, request.authorization.principal.clone(), request.confirm_seconds, None).await
}

/// Activates what was planned, behind a checkpoint that reverts it unless it is confirmed. `change` is made to the
/// profile first, in memory. The caller has the turn, and has asked the policy.
pub(super) async fn attempt(
    cx: &Context<'_>,
    mut plan: ActivationPlan,
    principal: String,
    confirm_seconds: u32,
    change: Option<&ProfileChange>,
) -> Result<Connected, ToolError> {
    let (connections, network) = (&cx.connections, &cx.connections.network);
    let before = plan.before.clone();
    let confirm = Duration::from_secs(confirm_seconds.into());
    let longest = ACTIVATION + confirm;
    let checkpoint = network.checkpoint(longest, plan.path.is_none()).await?;
    let mut pending = PendingChange {
        checkpoint,
        profile: plan.profile.clone(),
        before: before.clone(),
        confirm_by_ms: in_ms(cx, longest),
        principal,
        unsaved: change.is_some(),
    };
    // On the card before the act: a change that could not be confirmed later must not begin.
    if let Err(error) = connections.keep(Some(pending.clone())) {
        network.end(&pending.checkpoint, false).await?;
        return Err(error);
    }
    let done = tokio::time::timeout(ACTIVATION, async {
        if let Some(change) = change {
            plan.path = Some(network.edit(&plan, change, false).await?);
        }
        network.activate(&plan).await
    });
    let interfaces = match done.await.unwrap_or_else(|_| Err(slow())) {
        Ok(interfaces) => interfaces,
        Err(error) => {
            // Reverted at once; if that fails, the checkpoint's timeout reverts it.
            let reverted = network.end(&pending.checkpoint, false).await;
            if reverted.is_ok() {
                connections.keep(None).map_err(ToolError::maybe_changed)?;
            }
            let error = error.with("reverted", reverted.is_ok());
            // The connection was interrupted, and may not be restored yet.
            return Err(if reverted.is_ok() { error } else { error.with("changed", "unknown") });
        }
    };
    pending.profile.interfaces = interfaces;
    // The time to confirm begins now, not with the attempt. If that cannot be set, the later time remains.
    if network.revert_in(&pending.checkpoint, confirm).await.is_ok() {
        pending.confirm_by_ms = in_ms(cx, confirm);
    }
    connections.keep(Some(pending.clone())).map_err(|error| error.with("changed", true))?;
    let (profile, confirm_by_ms) = (pending.profile, Some(pending.confirm_by_ms));
    Ok(Connected { profile, before, confirm_by_ms, simulated: cx.simulated })
}

/// The wall-clock time after `time`, in milliseconds since 1970.
fn in_ms(cx: &Context<'_>, time: Duration) -> i64 {
    (cx.clock)().saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// Checks the bounds of every field again: the server is not trusted.
fn check(request: &ConnectionRequest) -> Result<(), ToolError> {
    if !is_name(&request.connection) {
        return Err(ToolError::invalid("this cannot be the name of a connection")
            .with("parameter", "connection")
            .hint(format!("1 to {LONGEST_NAME} characters, none of them a control character")));
    }
    if request.device.as_deref().is_some_and(|device| !is_device(device)) {
        return Err(ToolError::invalid("this cannot be the name of an interface").with("parameter", "device"));
    }
    if !CONFIRM_SECONDS.contains(&request.confirm_seconds) {
        return Err(ToolError::invalid(format!(
            "{} to {} s can be given to confirm",
            CONFIRM_SECONDS.start(),
            CONFIRM_SECONDS.end()
        ))
        .with("parameter", "confirm_seconds")
        .with("provided_value", request.confirm_seconds));
    }
    Ok(())
}

fn slow() -> ToolError {
    ToolError::precondition(format!("the connection was not active within {} s", ACTIVATION.as_secs()))
        .hint("no answer from the other side: look at cable, password or DHCP server")
}
