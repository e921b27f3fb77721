//! Activating a profile of the network, so that it goes back by itself; and confirming it, or taking it back.

use crate::{
    agent::{Agent, Authorization, Peer, connections::Pending, network::Profile},
    error::{ErrorCode, ToolError},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

const ACTIVATE: &str = "network.activate_connection";
const CONFIRM: &str = "network.confirm_connection";

/// How long an activation may take: Wi-Fi with a slow DHCP server needs half a minute.
pub const ACTIVATION: Duration = Duration::from_secs(60);
/// What a caller may ask for as the time to confirm, in seconds.
pub const CONFIRM_SECONDS: std::ops::RangeInclusive<u32> = 10..=600;
/// That time when the caller does not say.
pub const DEFAULT_CONFIRM_SECONDS: u32 = 60;
/// Longest name of a connection, in characters.
pub const LONGEST_NAME: usize = 255;
/// Longest name of an interface: IFNAMSIZ without its NUL (linux/if.h).
pub const LONGEST_DEVICE: usize = 15;

/// A profile to be activated.
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

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connected {
    pub profile: Profile,
    /// What was active before.
    pub before: Vec<Profile>,
    /// When it goes back, milliseconds since 1970; `None` after a dry run.
    pub confirm_by_ms: Option<i64>,
    pub simulated: bool,
}

/// A word about the change that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmRequest {
    /// Otherwise it goes back at once.
    pub keep: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// What became of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmed {
    /// The change it was about; `None` when nothing waited and nothing was to be kept.
    pub change: Option<Change>,
    pub simulated: bool,
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

impl Agent {
    pub(in crate::agent) async fn activate_connection(
        &self,
        peer: &Peer,
        request: &ConnectionRequest,
    ) -> Result<Connected, ToolError> {
        self.policy().check(ACTIVATE)?;
        check(request)?;
        let (connections, network) = (&self.connections, &self.connections.network);
        let _turn = connections.turn.try_lock().map_err(|_| {
            ToolError::new(ErrorCode::Conflict, "another change of the network is under way")
                .hint("wait a minute; network.get_status shows what waits to be confirmed")
        })?;
        connections.must_be_free().await?;
        let plan = network.plan(&request.connection, request.device.as_deref()).await?;
        let before = plan.before.clone();
        if request.dry_run {
            return Ok(Connected { profile: plan.profile, before, confirm_by_ms: None, simulated: self.simulated });
        }
        self.admit(peer, ACTIVATE, &request.authorization, |ask| shows(&ask.request.args, request))?;
        // Written before it is done: where it fails the connection is taken back, and was away all the same.
        self.note("activate_connection begins", peer, json!(request), None)?;

        let confirm = Duration::from_secs(request.confirm_seconds.into());
        let longest = ACTIVATION + confirm;
        let checkpoint = network.checkpoint(longest).await?;
        let mut pending = Pending {
            checkpoint,
            profile: plan.profile.clone(),
            before: before.clone(),
            confirm_by_ms: self.in_ms(longest),
            principal: request.authorization.principal.clone(),
        };
        // On the card before the act: what cannot be confirmed later must not be begun.
        if let Err(error) = connections.keep(Some(pending.clone())) {
            network.end(&pending.checkpoint, false).await?;
            return Err(error);
        }
        let done = tokio::time::timeout(ACTIVATION, network.activate(&plan)).await;
        let interfaces = match done.unwrap_or_else(|_| Err(slow())) {
            Ok(interfaces) => interfaces,
            Err(error) => {
                // Back at once rather than in a while; where that fails, in a while.
                let reverted = network.end(&pending.checkpoint, false).await;
                if reverted.is_ok() {
                    connections.keep(None).map_err(ToolError::maybe_changed)?;
                }
                let error = error.with("reverted", reverted.is_ok());
                // It was away for a moment, and is not back for sure.
                return Err(if reverted.is_ok() { error } else { error.with("changed", "unknown") });
            }
        };
        pending.profile.interfaces = interfaces;
        // The time to confirm begins now, not with the attempt. Where that cannot be said, the later date holds.
        if network.revert_in(&pending.checkpoint, confirm).await.is_ok() {
            pending.confirm_by_ms = self.in_ms(confirm);
        }
        connections.keep(Some(pending.clone())).map_err(|error| error.with("changed", true))?;
        let (profile, confirm_by_ms) = (pending.profile, Some(pending.confirm_by_ms));
        Ok(Connected { profile, before, confirm_by_ms, simulated: self.simulated })
    }

    pub(in crate::agent) async fn confirm_connection(
        &self,
        peer: &Peer,
        request: &ConfirmRequest,
    ) -> Result<Confirmed, ToolError> {
        self.policy().check(CONFIRM)?;
        let (connections, network) = (&self.connections, &self.connections.network);
        // Behind an activation that is under way.
        let _turn = connections.turn.lock().await;
        let Some(pending) = connections.kept() else {
            return match request.keep {
                true => Err(ToolError::precondition("no change of the network waits to be confirmed")
                    .hint("network.get_status shows what is active")),
                false => Ok(Confirmed { change: None, simulated: self.simulated }),
            };
        };
        if !network.stands(&pending.checkpoint).await? {
            connections.keep(None)?;
            return Err(too_late(&pending));
        }
        self.admit(peer, CONFIRM, &request.authorization, |ask| {
            ask.request.args.get("keep").map_or(Some(true), Value::as_bool) == Some(request.keep)
        })?;
        match network.end(&pending.checkpoint, request.keep).await {
            Ok(()) => connections.keep(None).map_err(|error| error.with("changed", true))?,
            Err(error) if error.code == ErrorCode::NotFound => {
                connections.keep(None)?;
                return Err(too_late(&pending));
            }
            Err(error) => return Err(error.maybe_changed()),
        }
        Ok(Confirmed { change: Some(pending.into()), simulated: self.simulated })
    }

    fn in_ms(&self, time: Duration) -> i64 {
        (self.clock)().saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The bounds of every field, again: the server's word counts for nothing here.
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

/// Whether a profile could have that name or UUID.
pub fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

/// Whether an interface could have that name: what the kernel allows (`dev_valid_name`), in ASCII.
pub fn is_device(name: &str) -> bool {
    (1..=LONGEST_DEVICE).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':'))
}

/// The person approved what they were shown; the agent does exactly that.
fn shows(args: &Value, request: &ConnectionRequest) -> bool {
    let seconds = args.get("confirm_seconds").map_or(Some(DEFAULT_CONFIRM_SECONDS.into()), Value::as_u64);
    let device = args.get("device").filter(|device| !device.is_null());
    args.get("connection") == Some(&json!(request.connection))
        && device == request.device.as_ref().map(|device| json!(device)).as_ref()
        && seconds == Some(request.confirm_seconds.into())
}

fn slow() -> ToolError {
    ToolError::precondition(format!("the connection was not active within {} s", ACTIVATION.as_secs()))
        .hint("no answer from the other side: look at cable, password or DHCP server")
}

fn too_late(pending: &Pending) -> ToolError {
    ToolError::precondition(format!("{} was not confirmed in time, and was taken back", pending.profile.name))
        .with("connection", pending.profile.uuid.clone())
        .with("confirm_by_ms", pending.confirm_by_ms)
        .hint("network.get_status shows what is active; activate it again, with a longer confirm_seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interfaces() {
        let longest = "a".repeat(LONGEST_DEVICE);
        for good in ["eth0", "wlan0", "br-1a2b3c", "eth0.100", longest.as_str()] {
            assert!(is_device(good), "{good}");
        }
        let too_long = "a".repeat(LONGEST_DEVICE + 1);
        for bad in ["", "a/b", "eth0:1", "a b", "eth0\n", "eth0\0", "eth\u{e9}", too_long.as_str()] {
            assert!(!is_device(bad), "{bad:?}");
        }
    }
}
