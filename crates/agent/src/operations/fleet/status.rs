//! Signs the device's status for the fleet.

use crate::{
    context::Context,
    operations::{CARD, Operation},
};
use base::{error::ToolError, os::blocking};
use contract::config::sections::FleetSettings;
use fleet_protocol::{
    order::OrderKind,
    status::{Status, StatusAttempt},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use update::status::{Attempt, Phase};

/// What the server contributes; the agent knows the rest itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusParts {
    /// What is wrong with the server, a sentence each. The agent adds its own.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// The signed message, ready to be published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedMessage {
    pub message: String,
    /// With a status: how often the fleet's owner ordered to report; absent without such an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_minutes: Option<u32>,
}

/// Answers `failed_precondition` on a device that belongs to no fleet.
pub struct SignStatus;

impl Operation for SignStatus {
    const TAG: &'static str = "sign_status";
    const ANSWER: &'static str = "signed_status";
    const WAITS: bool = true;
    type Request = StatusParts;
    type Answer = SignedMessage;

    fn patience(_request: &StatusParts) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: StatusParts) -> Result<SignedMessage, ToolError> {
        let settings = member(cx)?;
        let mut problems = request.problems;
        problems.extend(cx.faults.iter().cloned().chain(cx.policy.fault()));
        let mut status = Status {
            fleet: settings.name.clone(),
            name: settings.device.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            server: env!("CARGO_PKG_VERSION").into(),
            generation: cx.fleet.generation,
            halted: cx.halt.halted().is_some(),
            halt_order: Some(cx.fleet.last_order(OrderKind::Halt)),
            healthy: Some(problems.is_empty()),
            problems,
            asks: cx.asks.pending().len(),
            ring: Some(cx.settings.update.ring.clone()).filter(|ring| !ring.is_empty()),
            tags: settings.tags.clone(),
            simulated: cx.simulated,
            ..Status::default()
        };
        if let Ok(system) = cx.installer.system() {
            status = blocking::run("status", move |_| {
                system.describe(&mut status);
                Ok(status)
            })
            .await?;
        }
        status.time_ms = (cx.clock)();
        status.sequence = cx.fleet.next_sequence(status.time_ms)?;
        let message = cx.approvers.sign_as_device(|device, boot, key| {
            (status.device, status.boot) = (device, boot);
            status.sign(key)
        })?;
        Ok(SignedMessage { message, report_minutes: cx.fleet.report_minutes() })
    }
}

impl crate::installer::System {
    /// Writes the running release and the last attempt into a status. Reads the card: call it where blocking is allowed.
    fn describe(&self, status: &mut Status) {
        let ledger = self.record.ledger();
        let (state, seen) = (ledger.state(), ledger.evidence());
        if let Some(slot) = seen.running() {
            let record = state.slots.of(slot);
            status.version = record.version.clone().unwrap_or_else(|| status.version.clone());
            status.manifest = record.manifest.map(|manifest| manifest.to_string());
            status.counter = record.counter;
            status.slot = word(slot);
            status.state = word(record.state);
        }
        status.attempt = state.last_attempt.as_ref().map(summary);
    }

    /// The last attempt, if it has ended. Reads the card: call it where blocking is allowed.
    pub(super) fn ended(&self) -> Option<StatusAttempt> {
        let ledger = self.record.ledger();
        let attempt = ledger.state().last_attempt.as_ref()?;
        let ended = matches!(attempt.phase, Phase::Committed | Phase::RolledBack | Phase::Failed);
        ended.then(|| summary(attempt))
    }
}

fn summary(attempt: &Attempt) -> StatusAttempt {
    StatusAttempt {
        version: attempt.version.clone(),
        manifest: attempt.manifest_sha256.clone(),
        phase: word(attempt.phase).unwrap_or_default(),
        reason: attempt.reason.clone(),
        time_ms: attempt.finished_ms.unwrap_or(attempt.started_ms),
    }
}

/// The settings of a device that belongs to a fleet.
///
/// # Errors
/// `failed_precondition` on any other.
pub(super) fn member<'a>(cx: &Context<'a>) -> Result<&'a FleetSettings, ToolError> {
    let settings = &cx.agent.settings.fleet;
    if settings.is_on() {
        return Ok(settings);
    }
    Err(ToolError::precondition("this device belongs to no fleet")
        .hint("`raspi-mcp fleet join` enrols it; then restart agent and server"))
}

/// The word that a value is in JSON.
fn word(value: impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}
