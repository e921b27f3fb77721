//! Signs a message of the device's log for the fleet: the result of an update, the head of the audit, an ask.

use super::status::{SignedMessage, member};
use crate::{
    context::Context,
    operations::{CARD, Operation},
};
use base::{error::ToolError, os::blocking};
use fleet_protocol::{
    log::{LogKind, LogMessage, PURPOSE},
    status::{MAX_REASON, cut},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// What the message shall be about. The agent knows what to say of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRequest {
    pub kind: LogKind,
    /// The id of a pending ask, for that kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// How many messages the server ever had to drop.
    #[serde(default)]
    pub dropped: u64,
}

/// The agent writes the body from what it knows itself: the last attempt of its own record, its own asks, the head of the
/// chain that it recomputed. Answers `not_found` when there is nothing to tell, and `failed_precondition` on a device that
/// belongs to no fleet.
pub struct SignLog;

impl Operation for SignLog {
    const TAG: &'static str = "sign_log";
    const ANSWER: &'static str = "signed_log";
    const WAITS: bool = true;
    type Request = LogRequest;
    type Answer = SignedMessage;

    fn patience(_request: &LogRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: LogRequest) -> Result<SignedMessage, ToolError> {
        let settings = member(cx)?;
        let body = match request.kind {
            LogKind::Update => ended(cx).await?,
            LogKind::Audit => cx.heads.last().map(|head| json!(head)),
            LogKind::Ask => {
                let asks = cx.asks.pending();
                let ask = asks.iter().find(|ask| request.ask.as_ref() == Some(&ask.id));
                ask.map(|ask| json!({ "id": ask.id, "tool": ask.request.tool, "expires_ms": ask.expires_ms }))
            }
        };
        let body = body.ok_or_else(|| ToolError::not_found("there is nothing of this kind to tell"))?;
        let time_ms = (cx.clock)();
        let mut message = LogMessage {
            purpose: PURPOSE.into(),
            fleet: settings.name.clone(),
            name: settings.device.clone(),
            device: String::new(),
            sequence: cx.fleet.next_sequence(time_ms)?,
            time_ms,
            kind: request.kind,
            dropped: request.dropped,
            body,
        };
        let message = cx.approvers.sign_as_device(|device, _, key| {
            message.device = device;
            message.sign(key)
        })?;
        Ok(SignedMessage { message, report_minutes: None })
    }
}

/// The last attempt, if it has ended.
async fn ended(cx: &Context<'_>) -> Result<Option<Value>, ToolError> {
    let Ok(system) = cx.installer.system() else { return Ok(None) };
    let attempt = blocking::run("log", move |_| Ok(system.ended())).await?;
    Ok(attempt.map(|mut attempt| {
        cut(&mut attempt.reason, MAX_REASON);
        json!(attempt)
    }))
}
