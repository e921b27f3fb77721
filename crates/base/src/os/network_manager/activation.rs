//! Activates a profile with a checkpoint: NetworkManager itself reverts to the previous state on timeout, whether the
//! caller still exists or not.

use super::{ACTIVE, CHECKPOINT, DEVICE, Objects, SERVICE, is_gone, manage, property, said, unknown};
use crate::{
    error::{ErrorCode, ToolError},
    os::bus::DBus,
};
use futures::StreamExt;
use std::time::Duration;
use zbus::{MatchRule, MessageStream, ObjectPath, OwnedObjectPath, message};

/// NM_CHECKPOINT_CREATE_FLAG_DISCONNECT_NEW_DEVICES: a bridge or VLAN that the profile creates is removed on a revert,
/// too.
const DISCONNECT_NEW_DEVICES: u32 = 4;
/// NM_CHECKPOINT_CREATE_FLAG_DELETE_NEW_CONNECTIONS: a profile that was added since is removed on a revert.
const DELETE_NEW_CONNECTIONS: u32 = 2;
const ACTIVATED: u32 = 2;
const DEACTIVATED: u32 = 4;

/// A state that NetworkManager can restore.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(expecting = "struct Checkpoint")]
pub struct NetworkCheckpoint {
    /// Its D-Bus object path. A restarted NetworkManager reuses paths:
    pub path: String,
    /// so the creation time, in milliseconds of CLOCK_BOOTTIME, tells whether it is the same checkpoint.
    pub created: i64,
}

/// Creates a checkpoint of the current state, to which NetworkManager reverts after `timeout`. With `adds`, a profile
/// that is added after it is removed then.
///
/// # Errors
/// `conflict` when another checkpoint exists, `capability_missing` before NetworkManager 1.4.
pub async fn checkpoint(bus: &DBus, timeout: Duration, adds: bool) -> Result<NetworkCheckpoint, ToolError> {
    let all_devices: &[ObjectPath<'_>] = &[];
    let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
    let flags = DISCONNECT_NEW_DEVICES | if adds { DELETE_NEW_CONNECTIONS } else { 0 };
    let made = manage(bus, "CheckpointCreate", &(all_devices, seconds, flags)).await;
    let answer = made.map_err(|error| match said(&error) {
        Some("UnknownMethod") => error
            .with_code(ErrorCode::CapabilityMissing)
            .hint("checkpoints came with NetworkManager 1.4; without them nothing here would revert by itself"),
        // Overlapping ones would revert each other.
        Some("InvalidArguments") | Some("Failed") => error
            .with_code(ErrorCode::Conflict)
            .hint("another program tries a change of the network; wait until it is done"),
        _ => error,
    })?;
    let path: OwnedObjectPath = answer.body().deserialize().map_err(|fault| unknown("CheckpointCreate", &fault))?;
    let created = created(bus, path.as_str()).await?;
    let created = created.ok_or_else(|| ToolError::unavailable("NetworkManager's checkpoint is gone again"))?;
    Ok(NetworkCheckpoint { path: path.as_str().to_owned(), created })
}

/// Whether it still exists: neither confirmed nor reverted, and not lost in a restart of NetworkManager.
///
/// # Errors
/// `unavailable` when NetworkManager does not answer.
pub async fn stands(bus: &DBus, checkpoint: &NetworkCheckpoint) -> Result<bool, ToolError> {
    Ok(created(bus, &checkpoint.path).await? == Some(checkpoint.created))
}

async fn created(bus: &DBus, path: &str) -> Result<Option<i64>, ToolError> {
    match property(bus, path, CHECKPOINT, "Created").await {
        Ok(value) => Ok(i64::try_from(&value).ok()),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sets the revert to `timeout` from now.
///
/// # Errors
/// `capability_missing` before NetworkManager 1.12, `unavailable` when it does not answer.
pub async fn revert_in(bus: &DBus, checkpoint: &NetworkCheckpoint, timeout: Duration) -> Result<(), ToolError> {
    let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
    manage(bus, "CheckpointAdjustRollbackTimeout", &(object(&checkpoint.path)?, seconds)).await.map(drop)
}

/// Keeps the current state.
///
/// # Errors
/// `not_found` when it no longer exists.
pub async fn keep(bus: &DBus, checkpoint: &NetworkCheckpoint) -> Result<(), ToolError> {
    end(bus, checkpoint, "CheckpointDestroy").await
}

/// Reverts at once.
///
/// # Errors
/// As [`keep`]; `unavailable` when a device could not be restored.
pub async fn revert(bus: &DBus, checkpoint: &NetworkCheckpoint) -> Result<(), ToolError> {
    end(bus, checkpoint, "CheckpointRollback").await
}

async fn end(bus: &DBus, checkpoint: &NetworkCheckpoint, method: &str) -> Result<(), ToolError> {
    // Its path may belong to another one by now.
    let gone = || ToolError::not_found("the change has been taken back or confirmed already");
    if !stands(bus, checkpoint).await? {
        return Err(gone());
    }
    let done = manage(bus, method, &object(&checkpoint.path)?).await;
    done.map(drop).map_err(|error| if is_gone(&error) { gone() } else { error })
}

/// Activates the profile at `profile`, on the device of `interface` or one that NetworkManager chooses, and waits until
/// it is active.
///
/// # Errors
/// `not_found` for an interface that NetworkManager does not manage, `failed_precondition` when the profile does not
/// fit or cannot be activated (no cable, no such Wi-Fi, no address), and NetworkManager's own. The caller bounds the
/// time.
pub async fn activate(
    bus: &DBus,
    objects: &Objects,
    profile: &str,
    interface: Option<&str>,
) -> Result<Vec<String>, ToolError> {
    let device = match interface {
        Some(interface) => self::device(objects, interface)?,
        None => "/",
    };
    let rule = MatchRule::builder()
        .msg_type(message::Type::Signal)
        .sender(SERVICE)
        .interface(ACTIVE)
        .member("StateChanged")
        .build();
    let rule = rule.map_err(|fault| ToolError::internal(format!("a match rule: {fault}")))?;
    let connection = bus.connection().await?;
    let lost = |fault: zbus::Error| ToolError::unavailable(format!("the system bus: {fault}")).hint("try again");
    // Subscribed before the call: the signal may come before the answer.
    let mut signals = MessageStream::for_match_rule(rule, &connection, None).await.map_err(lost)?;
    let body = (object(profile)?, object(device)?, object("/")?);
    let answer = manage(bus, "ActivateConnection", &body).await?;
    let path: OwnedObjectPath = answer.body().deserialize().map_err(|fault| unknown("ActivateConnection", &fault))?;
    loop {
        match state(bus, path.as_str()).await? {
            Some(ACTIVATED) => break,
            None | Some(DEACTIVATED) => return Err(refused(reason(&mut signals, path.as_str()).await)),
            Some(_) => {}
        }
        match signals.next().await {
            Some(Ok(_)) => {}
            Some(Err(fault)) => return Err(lost(fault)),
            None => return Err(ToolError::unavailable("the system bus was closed").hint("try again")),
        }
    }
    let now = Objects::read(bus).await?;
    let devices = now.of(path.as_str(), ACTIVE).map(|active| active.objects("Devices")).unwrap_or_default();
    Ok(devices.iter().filter_map(|device| now.interface_of(device).map(str::to_owned)).collect())
}

/// The device of an interface.
///
/// # Errors
/// `not_found` when NetworkManager has none of that name.
pub fn device<'a>(objects: &'a Objects, interface: &str) -> Result<&'a str, ToolError> {
    let mut devices = objects.all(DEVICE).filter(|(_, device)| device.text("Interface") == Some(interface));
    devices.next().map(|(path, _)| path).ok_or_else(|| {
        ToolError::not_found(format!("NetworkManager has no device {interface}"))
            .with("parameter", "device")
            .with("provided_value", interface)
            .hint("system.get_network_info lists the interfaces; NetworkManager may be told to leave this one alone")
    })
}

/// `None` when the object is gone, which is how a failed activation ends.
async fn state(bus: &DBus, path: &str) -> Result<Option<u32>, ToolError> {
    match property(bus, path, ACTIVE, "State").await {
        Ok(value) => Ok(u32::try_from(&value).ok()),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why the activation at `path` failed, from the signals received.
async fn reason(signals: &mut MessageStream, path: &str) -> u32 {
    let mut why = 0;
    while let Some(Some(Ok(signal))) = futures::FutureExt::now_or_never(signals.next()) {
        let of_ours = signal.header().path().is_some_and(|each| each.as_str() == path);
        if let Ok((_, reason)) = signal.body().deserialize::<(u32, u32)>()
            && of_ours
        {
            why = reason;
        }
    }
    why
}

/// NMActiveConnectionStateReason as text.
fn refused(reason: u32) -> ToolError {
    let why = match reason {
        2 => "somebody disconnected it",
        3 => "the device was disconnected",
        5 => "the addresses it got cannot be used",
        6 => "connecting took too long",
        9 => "there are no secrets for it",
        10 => "logging in failed",
        12 => "the profile was deleted",
        13 => "what it depends on is not active",
        _ => "the device could not be connected: no cable or network, or no address from it",
    };
    ToolError::precondition(format!("NetworkManager could not activate the connection: {why}"))
        .with("reason", reason)
        .hint("`journalctl -u NetworkManager` on the device says more")
}

fn object(path: &str) -> Result<ObjectPath<'_>, ToolError> {
    ObjectPath::try_from(path).map_err(|fault| ToolError::internal(format!("{path} is no object: {fault}")))
}
