//! The door on the system bus: real callers on a real dbus-daemon, with the rules that this product ships.

mod calls;
mod errors;
mod events;
mod introspection;
mod life;
mod orchestrator;
mod stuck;
mod tools;
mod users;

use crate::support::{
    bus_users::{connect_as, is_root},
    private_bus::PrivateBus,
    served::{Pi, soon},
};
use base::error::ToolError;
use contract::config::Settings;
use raspi_mcp::{rpc::router::Server, transport::bus::BusDoor};
use serde_json::Value;
use std::collections::HashMap;
use zbus::{Connection, DynamicType, Message, MessageStream, ObjectPath, Variant, message::Type};

const NAME: &str = "org.raspimcp";
const OBJECT: &str = "/org/raspimcp";
const TOOLS: &str = "org.raspimcp.Tools1";
const EVENTS: &str = "org.raspimcp.Events1";
const CALL: &str = "org.raspimcp.Call1";
/// The user without rights; each Debian has it.
const NOBODY: u32 = 65534;

type Options<'a> = HashMap<&'a str, Variant<'a>>;

/// A server with a door on a bus of its own.
struct BusPi {
    pi: Pi,
    bus: PrivateBus,
}

impl BusPi {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::on(PrivateBus::shipped(), change).await
    }

    async fn on(bus: PrivateBus, change: impl FnOnce(&mut Settings)) -> Self {
        let pi = Pi::with(change).await;
        let door = open(&bus, &pi.server()).await.unwrap();
        let server = pi.server();
        server.tasks.spawn(door.run(pi.server()));
        Self { pi, bus }
    }

    /// A caller who is this test's user.
    async fn caller(&self) -> BusCaller {
        BusCaller { connection: self.bus.connect().await }
    }

    /// A caller who is another user, without groups. Needs root.
    async fn caller_as(&self, uid: u32) -> BusCaller {
        BusCaller { connection: connect_as(&self.bus, uid).await }
    }
}

async fn open(bus: &PrivateBus, server: &Server) -> Result<BusDoor, ToolError> {
    BusDoor::open(bus.bus(), server.pipeline.services.settings.has_dbus_mcp()).await
}

struct BusCaller {
    connection: Connection,
}

impl BusCaller {
    async fn raw(
        &self,
        path: &str,
        interface: &str,
        member: &str,
        body: &(impl serde::Serialize + DynamicType),
    ) -> zbus::Result<Message> {
        soon(self.connection.call_method(Some(NAME), path, Some(interface), member, body)).await
    }

    async fn tools(&self, member: &str, body: &(impl serde::Serialize + DynamicType)) -> zbus::Result<Message> {
        self.raw(OBJECT, TOOLS, member, body).await
    }

    async fn call_with(&self, tool: &str, args: &str, options: Options<'_>) -> Result<Value, Failed> {
        let answer = self.tools("Call", &(tool, args, options)).await.map_err(Failed::of)?;
        Ok(serde_json::from_str(answer.body().deserialize().unwrap()).unwrap())
    }

    async fn call(&self, tool: &str, args: &str) -> Result<Value, Failed> {
        self.call_with(tool, args, Options::new()).await
    }

    /// The object of a call that has begun.
    async fn begin(&self, tool: &str, args: &str) -> Result<String, Failed> {
        let answer = self.tools("Start", &(tool, args, Options::new())).await.map_err(Failed::of)?;
        let body = answer.body();
        let path: ObjectPath<'_> = body.deserialize().unwrap();
        Ok(path.to_string())
    }

    /// What arrives from now on.
    fn hears(&self) -> MessageStream {
        MessageStream::from(&self.connection)
    }
}

/// The next signal with this name.
async fn signal(stream: &mut MessageStream, member: &str) -> Message {
    use futures::StreamExt;
    loop {
        let message = soon(stream.next()).await.expect("the bus is there").unwrap();
        let header = message.header();
        if message.message_type() == Type::Signal && header.member().is_some_and(|name| name == member) {
            return message;
        }
    }
}

/// A D-Bus error: its name, its sentence, and the details of an error of a call.
#[derive(Debug)]
struct Failed {
    name: String,
    message: String,
    details: Value,
}

impl Failed {
    fn of(error: zbus::Error) -> Self {
        let (name, message) = match error {
            zbus::Error::MethodError(name, _, message) => (name.to_string(), message),
            zbus::Error::FDO(error) => {
                use zbus::DBusError;
                let message = error.description().unwrap_or_default().to_owned();
                return Self { name: error.name().to_string(), message, details: Value::Null };
            }
            other => panic!("no error of D-Bus: {other}"),
        };
        let body = message.body();
        match body.deserialize::<(String, String)>() {
            Ok((message, details)) => Self { name, message, details: serde_json::from_str(&details).unwrap() },
            Err(_) => Self { name, message: body.deserialize().unwrap(), details: Value::Null },
        }
    }

    /// Has this name below `org.raspimcp.Error`.
    #[track_caller]
    fn is(self, name: &str) -> Self {
        assert_eq!(self.name, format!("org.raspimcp.Error.{name}"), "{self:?}");
        assert!(!self.message.is_empty() && self.details.is_object(), "{self:?}");
        self
    }

    /// Is an error that D-Bus itself knows.
    #[track_caller]
    fn of_bus(self, name: &str) -> Self {
        assert_eq!(self.name, format!("org.freedesktop.DBus.Error.{name}"), "{self:?}");
        self
    }
}
