//! The system bus: one connection, made on demand and again after it was lost.
//!
//! Methods and properties are called by name. zbus' proxies would keep a cache of every property and a match rule each,
//! which single queries do not need.

use crate::error::ToolError;
use serde::Serialize;
use std::{num::NonZeroUsize, time::Duration};
use tokio::sync::Mutex;
use zbus::{Connection, DynamicType, Message, connection::Builder, fdo};

/// Longest wait for one answer. Longer work in systemd is a job, whose end is awaited by its signal.
pub const ANSWER: Duration = Duration::from_secs(10);

/// The bus itself, which answers about names and connections.
pub const BUS: &str = "org.freedesktop.DBus";
pub const BUS_OBJECT: &str = "/org/freedesktop/DBus";

/// Messages that may wait in the shared connection: zbus' own default.
const QUEUE: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not zero");

/// A bus and the connection to it.
pub struct DBus {
    /// `None` is the system's own ($DBUS_SYSTEM_BUS_ADDRESS or /run/dbus/system_bus_socket).
    address: Option<String>,
    connection: Mutex<Option<Connection>>,
}

/// The addressee: bus name, object and interface.
#[derive(Clone, Copy, Debug)]
pub struct DBusObject<'a> {
    pub service: &'a str,
    pub path: &'a str,
    pub interface: &'a str,
}

impl DBus {
    /// The system bus. Connects on first use.
    pub fn system() -> Self {
        Self { address: None, connection: Mutex::new(None) }
    }

    /// The bus at a D-Bus address like `unix:path=/run/dbus/system_bus_socket`.
    pub fn at(address: &str) -> Self {
        Self { address: Some(address.into()), connection: Mutex::new(None) }
    }

    /// The connection, for signals.
    ///
    /// # Errors
    /// `capability_missing` when this machine has no bus, `unavailable` when it does not answer.
    pub async fn connection(&self) -> Result<Connection, ToolError> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        let connection = self.fresh(QUEUE, ANSWER).await?;
        *slot = Some(connection.clone());
        Ok(connection)
    }

    /// A connection of its own, which is nobody else's. `queue` messages may wait in it to be taken, and a call on it
    /// waits for its answer for `answer` at most.
    ///
    /// # Errors
    /// As [`DBus::connection`].
    pub async fn fresh(&self, queue: NonZeroUsize, answer: Duration) -> Result<Connection, ToolError> {
        let builder = match &self.address {
            Some(address) => Builder::address(address.as_str()),
            None => Builder::system(),
        };
        let made = tokio::time::timeout(ANSWER, builder.method_timeout(answer).max_queued(queue).build()).await;
        made.map_err(|_| ToolError::unavailable("the system bus does not answer").hint("systemctl status dbus"))?
            .map_err(|error| no_bus(&error))
    }

    /// Calls `method` of `object`.
    ///
    /// # Errors
    /// As [`DBus::connection`], and what the service answered: see [`refusal`].
    pub async fn call<B: Serialize + DynamicType>(
        &self,
        object: DBusObject<'_>,
        method: &str,
        body: &B,
    ) -> Result<Message, ToolError> {
        let connection = self.connection().await?;
        let answer =
            connection.call_method(Some(object.service), object.path, Some(object.interface), method, body).await;
        answer.map_err(|error| refusal(object.service, method, &error))
    }
}

fn no_bus(error: &zbus::Error) -> ToolError {
    let absent = match error {
        zbus::Error::InputOutput(fault) | zbus::Error::Connection(fault, _) => {
            fault.kind() == std::io::ErrorKind::NotFound
        }
        _ => false,
    };
    let message = format!("the system bus cannot be reached: {error}");
    let error = if absent { ToolError::missing(message) } else { ToolError::unavailable(message) };
    error.with("resource", "system bus").hint("it needs dbus-daemon or dbus-broker; see `systemctl status dbus`")
}

/// Who has the connection `name`, as the bus says; `None` if it says something else.
///
/// # Errors
/// See [`refusal`].
pub async fn credentials(connection: &Connection, name: &str) -> Result<Option<fdo::ConnectionCredentials>, ToolError> {
    let method = "GetConnectionCredentials";
    let answer = connection.call_method(Some(BUS), BUS_OBJECT, Some(BUS), method, &name).await;
    Ok(answer.map_err(|error| refusal(BUS, method, &error))?.body().deserialize().ok())
}

/// Converts the error of `service` for `method`: `capability_missing` when the name is not on the bus,
/// `permission_denied`, `not_found`, `invalid_argument`, otherwise `unavailable` with its message. `details.dbus_error`
/// has the error's D-Bus name, like `org.freedesktop.systemd1.NoSuchUnit`.
pub fn refusal(service: &str, method: &str, error: &zbus::Error) -> ToolError {
    let said = format!("{service} did not do {method}: {error}");
    let (tool_error, name) = match error {
        zbus::Error::FDO(fault) => match fault.as_ref() {
            fdo::Error::ServiceUnknown(_) | fdo::Error::NameHasNoOwner(_) => (
                ToolError::missing(format!("{service} does not run on this machine"))
                    .hint("nobody has this name on the system bus"),
                "org.freedesktop.DBus.Error.ServiceUnknown",
            ),
            fdo::Error::AccessDenied(_)
            | fdo::Error::AuthFailed(_)
            | fdo::Error::InteractiveAuthorizationRequired(_) => (
                ToolError::denied(said).hint("the bus or polkit lets this user not do that"),
                "org.freedesktop.DBus.Error.AccessDenied",
            ),
            fdo::Error::NoReply(_) | fdo::Error::Timeout(_) | fdo::Error::TimedOut(_) => (
                ToolError::unavailable(said).hint("it is busy or hangs; try again"),
                "org.freedesktop.DBus.Error.NoReply",
            ),
            fdo::Error::UnknownMethod(_) | fdo::Error::UnknownInterface(_) => {
                (ToolError::unavailable(said), "org.freedesktop.DBus.Error.UnknownMethod")
            }
            fdo::Error::UnknownObject(_) => (ToolError::not_found(said), "org.freedesktop.DBus.Error.UnknownObject"),
            fdo::Error::InvalidArgs(_) => (ToolError::invalid(said), "org.freedesktop.DBus.Error.InvalidArgs"),
            _ => (ToolError::unavailable(said), "org.freedesktop.DBus.Error"),
        },
        zbus::Error::MethodError(name, _, _) => {
            return ToolError::unavailable(said).with("resource", service).with("dbus_error", name.as_str());
        }
        _ => return ToolError::unavailable(said).with("resource", service).hint("try again"),
    };
    tool_error.with("resource", service).with("dbus_error", name)
}
