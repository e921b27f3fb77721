//! Signals from systemd, subscribed to on demand.

use super::{MANAGER, SERVICE, name};
use crate::{
    error::ToolError,
    os::bus::{BUS, DBus, refusal},
};
use zbus::{Connection, MatchRule, MessageStream, message};

/// Signals `member` of the manager, from now on. Keep polling the stream: a full queue blocks the whole connection.
///
/// # Errors
/// As [`DBus::call`].
pub async fn manager(bus: &DBus, member: &'static str) -> Result<MessageStream, ToolError> {
    stream(&bus.connection().await?, MANAGER.path, MANAGER.interface, member).await
}

/// One signal per change of the unit `unit`, from now on; otherwise as [`manager`].
///
/// # Errors
/// As [`DBus::call`].
pub async fn unit(bus: &DBus, unit: &str) -> Result<MessageStream, ToolError> {
    let connection = bus.connection().await?;
    let interface = "org.freedesktop.DBus.Properties";
    let stream = stream(&connection, &name::object_path(unit), interface, "PropertiesChanged").await?;
    subscribe(bus).await?;
    Ok(stream)
}

async fn stream(
    connection: &Connection,
    path: &str,
    interface: &str,
    member: &str,
) -> Result<MessageStream, ToolError> {
    let rule = rule(path, interface, member)
        .map_err(|error| ToolError::internal(format!("no match rule for {member}: {error}")))?;
    MessageStream::for_match_rule(rule, connection, None).await.map_err(|error| refusal(BUS, "AddMatch", &error))
}

fn rule<'a>(path: &'a str, interface: &'a str, member: &'a str) -> zbus::Result<MatchRule<'a>> {
    let rule = MatchRule::builder().msg_type(message::Type::Signal).sender(SERVICE);
    rule.path(path).interface(interface).member(member).build()
}

/// systemd sends signals only while there is a subscriber. Idempotent.
///
/// # Errors
/// As [`DBus::call`].
pub async fn subscribe(bus: &DBus) -> Result<(), ToolError> {
    match bus.call(MANAGER, "Subscribe", &()).await {
        Err(error) if error.details.get("dbus_error").is_none_or(|name| name != ALREADY) => Err(error),
        _ => Ok(()),
    }
}

const ALREADY: &str = "org.freedesktop.systemd1.AlreadySubscribed";
