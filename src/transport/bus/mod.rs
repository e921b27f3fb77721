//! The system bus: `org.raspimcp`, for programs and scripts of this machine (docs/bus.md).
//!
//! Its connection is its own: a flood of callers does not stop the server's reading of systemd and others. Calls are answered
//! message by message: objects of calls come and go, and zbus' object server would start a task for each call without a limit.
//! It knows rpc, registry and resources, and no other transport but what it shares with the unix socket (`local`).

mod calls;
mod client;
mod door;
mod events;
mod fault;
mod methods;
mod orchestrator;
mod tools;
mod values;

use crate::rpc::{connection::PARTING, router::Server};
use base::{
    error::{ErrorCode, ToolError},
    os::bus::{ANSWER, BUS, BUS_OBJECT, DBus, refusal},
};
use door::Door;
use futures::StreamExt;
use methods::{NAME, ORCHESTRATOR};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use zbus::{
    Connection, Message, MessageStream,
    message::{Flags, Type},
};

/// Messages that wait to be looked at. The bus keeps the others: one may have 32 MiB.
const QUEUE: NonZeroUsize = NonZeroUsize::new(4).expect("4 is not zero");
/// The waits before a lost connection is made again.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Who has left is said to us only while somebody is there.
const LEAVING: &str =
    "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''";

/// A connection that owns the name.
pub struct BusDoor {
    bus: DBus,
    names: Vec<&'static str>,
    messages: MessageStream,
}

impl BusDoor {
    /// Connects and takes the name, and that of dbus-mcp too if its clients are served.
    ///
    /// # Errors
    /// `capability_missing` without a bus, `permission_denied` if the bus does not let this user have the name, `conflict`
    /// if somebody else has it, `unavailable` if the bus does not answer.
    pub async fn open(bus: DBus, dbus_mcp: bool) -> Result<Self, ToolError> {
        let names: Vec<_> = [NAME].into_iter().chain(dbus_mcp.then_some(ORCHESTRATOR)).collect();
        let messages = connect(&bus, &names).await?;
        Ok(Self { bus, names, messages })
    }

    /// Serves until the server stops. A lost connection is made again.
    pub async fn run(mut self, server: Arc<Server>) {
        loop {
            serve(&server, self.messages).await;
            let mut wait = FIRST_WAIT;
            self.messages = loop {
                if server.stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                    return;
                }
                match connect(&self.bus, &self.names).await {
                    Ok(messages) => break messages,
                    Err(error) if error.code == ErrorCode::PermissionDenied => {
                        return tracing::error!("{}; calls over the bus are not served any more", error.advice());
                    }
                    // Or the bus still holds the connection before: it lets go of it when it next looks.
                    Err(error) => tracing::debug!(%error, "the bus is not back yet"),
                }
                wait = LONGEST_WAIT.min(wait * 2);
            };
            tracing::info!("the system bus is back; serving {NAME} again");
        }
    }
}

async fn connect(bus: &DBus, names: &[&str]) -> Result<MessageStream, ToolError> {
    let connection = bus.fresh(QUEUE, ANSWER).await?;
    // Before the name: no call is lost.
    let messages = MessageStream::from(&connection);
    for name in names {
        take(&connection, name).await?;
    }
    Ok(messages)
}

/// Takes a well-known name, without waiting for it.
async fn take(connection: &Connection, name: &str) -> Result<(), ToolError> {
    const DO_NOT_QUEUE: u32 = 4;
    let method = "RequestName";
    let answer = connection.call_method(Some(BUS), BUS_OBJECT, Some(BUS), method, &(name, DO_NOT_QUEUE)).await;
    let answer = answer.map_err(|error| {
        refusal(BUS, method, &error).hint(format!(
            "/usr/share/dbus-1/system.d/raspi-mcp.conf lets the user raspi-mcp own {name}; the bus reads it at its next start or reload"
        ))
    })?;
    // Primary owner, or owner already.
    match answer.body().deserialize::<u32>() {
        Ok(1 | 4) => Ok(()),
        _ => Err(ToolError::new(ErrorCode::Conflict, format!("another program has the name {name} on the system bus"))
            .hint(format!("busctl status {name} says which one"))),
    }
}

/// Serves one connection until it is lost or the server stops.
async fn serve(server: &Arc<Server>, mut messages: MessageStream) {
    let connection = Connection::from(&messages);
    let door = Door::new(Arc::clone(server), connection);
    let mut changes = server.listeners.tools();
    let services = &server.pipeline.services;
    let (mut agents, dbus_mcp) = (services.agents.events(), services.settings.has_dbus_mcp());
    let stopped = loop {
        let message = tokio::select! {
            biased;
            () = server.stop.cancelled() => break true,
            () = door.stuck.cancelled() => {
                tracing::warn!("the system bus takes no more messages from us: somebody does not read theirs; connecting again");
                break false;
            }
            // Its sender lives as long as the server.
            _ = changes.changed() => {
                door.tools_changed().await;
                continue;
            }
            event = agents.recv(), if dbus_mcp => {
                // Else it has missed some: a door that is too slow.
                if let Ok(event) = event {
                    door.tell(event).await;
                }
                continue;
            }
            message = messages.next() => message,
        };
        match message {
            Some(Ok(message)) => take_in(&door, message).await,
            Some(Err(error)) => tracing::debug!(%error, "a message of the bus cannot be read"),
            None => break false,
        }
    };
    if stopped {
        // Running calls get their time, as at the other doors.
        door.tasks.close();
        let _ = tokio::time::timeout(server.options.grace, door.tasks.wait()).await;
    }
    door.all_left();
    let _ = tokio::time::timeout(PARTING, door.tasks.wait()).await;
}

async fn take_in(door: &Arc<Door>, message: Message) {
    let header = message.header();
    let sender = header.sender().map(|name| name.as_str().to_owned()).unwrap_or_default();
    match message.message_type() {
        Type::MethodCall => {
            let (client, first) = door.client(&sender);
            if first {
                // Before it is asked who the sender is: whoever leaves after that is told.
                follow(door, "AddMatch").await;
            }
            drop(header);
            door.accept(client, message).await;
        }
        Type::Signal if sender == BUS && header.member().is_some_and(|name| name == "NameOwnerChanged") => {
            let body = message.body();
            if let Ok((name, _, "")) = body.deserialize::<(&str, &str, &str)>()
                && door.left(name)
            {
                follow(door, "RemoveMatch").await;
            }
        }
        _ => {}
    }
}

/// Asks the bus to say, or to say no more, who leaves. Nobody waits for the answer: it comes before those of later calls.
async fn follow(door: &Door, method: &'static str) {
    let message = Message::method_call(BUS_OBJECT, method).destination(BUS).interface(BUS);
    door.send(message.with_flags(Flags::NO_REPLY_EXPECTED).build(&LEAVING)).await;
}
