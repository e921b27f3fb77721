//! What is said to an agent that stays: MCP on its standard input and output, or D-Bus.

mod bus;
mod message;
mod stdio;

use super::{Agents, CODE, CRASHED};
use base::error::ToolError;
use bus::BusService;
use contract::{
    access::caller::Caller,
    config::{
        AgentType,
        sections::agents::{AgentKind, AgentStart},
    },
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use stdio::McpServer;
use tokio::net::unix::OwnedReadHalf;
use tokio_util::sync::CancellationToken;
use zbus::MessageStream;

/// Maximum bytes of an answer of an agent.
const LONGEST: usize = 10 << 20;

/// The answer of a call, as an MCP server gives it.
pub type Answer = BoxFuture<'static, Result<Value, ToolError>>;

/// A call of a tool of an agent that stays.
pub struct AgentCall<'a> {
    pub tool: &'a str,
    /// They fit the schema that was accepted.
    pub args: Value,
    pub caller: &'a Caller,
    /// For the agent to know; the pipeline keeps to it.
    pub timeout_seconds: u32,
    pub cancel: &'a CancellationToken,
}

/// A conversation with an agent.
pub struct Conversation {
    line: Line,
    /// What the agent says about its tools, by our names.
    tools: Mutex<BTreeMap<String, Described>>,
}

/// A tool as the agent describes it now.
struct Described {
    /// The name that the agent gave it.
    theirs: String,
    descriptor: Value,
}

enum Line {
    Stdio(McpServer),
    Bus(BusService),
}

/// What is heard of an agent.
pub enum Heard {
    Stdio(OwnedReadHalf),
    Bus(Box<MessageStream>),
}

impl Conversation {
    /// With the process that is started under `id`, or is on the bus by itself.
    ///
    /// # Errors
    /// When the privileged half or the bus cannot be reached, or there is no account.
    pub async fn open(agents: &Agents, declared: &AgentType, id: &str) -> Result<(Self, Heard), ToolError> {
        let (line, heard) = if declared.kind == AgentKind::Dbus {
            let unit = (declared.start != AgentStart::Never).then(|| id.to_owned());
            let (service, messages) = BusService::open(agents, &declared.name, unit).await?;
            (Line::Bus(service), Heard::Bus(Box::new(messages)))
        } else {
            let (reader, writer) = agents.link().attach(id).await?.into_split();
            (Line::Stdio(McpServer::new(&declared.name, writer)), Heard::Stdio(reader))
        };
        Ok((Self { line, tools: Mutex::default() }, heard))
    }

    /// Greets it; on the bus, waits for it and looks who it is.
    pub async fn greet(&self) -> Result<(), ToolError> {
        match &self.line {
            Line::Stdio(server) => server.greet().await,
            Line::Bus(service) => service.greet().await,
        }
    }

    /// The descriptors of the tools that `wanted` accepts by our names: name, title, description, schemas, annotations. Of
    /// two that we would call the same, the first.
    pub async fn tools(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Value>, ToolError> {
        let tools = match &self.line {
            Line::Stdio(server) => server.list().await?,
            Line::Bus(service) => service.list().await?,
        };
        let (mut found, mut described) = (Vec::new(), BTreeMap::new());
        for tool in &tools {
            let theirs = tool["name"].as_str().unwrap_or_default();
            let ours = theirs.to_ascii_lowercase().replace(['-', '.'], "_");
            if wanted(&ours) && !described.contains_key(&ours) {
                let descriptor = json!({
                    "name": ours, "title": tool["title"], "description": tool["description"],
                    "inputSchema": tool["inputSchema"], "outputSchema": tool["outputSchema"],
                    "annotations": tool["annotations"],
                });
                found.push(descriptor.clone());
                described.insert(ours, Described { theirs: theirs.to_owned(), descriptor });
            }
        }
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = described;
        Ok(found)
    }

    /// Begins a call: its number, and its answer.
    ///
    /// # Errors
    /// `unavailable` when it has no such tool any more, or is gone; `failed_precondition` when it describes the tool in other
    /// words than `accepted`.
    pub async fn begin(&self, call: AgentCall<'_>, accepted: &Value) -> Result<(u64, Answer), ToolError> {
        let found = {
            let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
            tools.get(call.tool).map(|tool| (tool.theirs.clone(), tool.descriptor == *accepted))
        };
        let theirs = match found {
            Some((theirs, true)) => theirs,
            Some((_, false)) => {
                return Err(ToolError::precondition(format!(
                    "{} has changed since it was accepted, so nothing was called",
                    call.tool
                ))
                .with("state", "changed")
                .hint("look at it and accept it, as root on the device: raspi-mcp agents accept, with its type"));
            }
            None => {
                return Err(ToolError::unavailable(format!("the agent has no tool {} any more", call.tool)).hint(
                    "its program does not offer it now; a person removes it from [[agents]], or updates the program",
                ));
            }
        };
        match &self.line {
            Line::Stdio(server) => server.call(&theirs, call.args).await,
            Line::Bus(service) => service.call(&theirs, call),
        }
    }

    /// Tells it that nobody waits for the call any more. On the bus there is no word for that.
    ///
    /// # Errors
    /// When it does not read what it is told.
    pub async fn cancel(&self, id: u64) -> Result<(), ToolError> {
        match &self.line {
            Line::Stdio(server) => server.cancel(id).await,
            Line::Bus(_) => Ok(()),
        }
    }

    /// Expects no answer to that call any more.
    pub fn forget(&self, id: u64) {
        match &self.line {
            Line::Stdio(server) => server.forget(id),
            // There an answer is expected while somebody waits.
            Line::Bus(_) => {}
        }
    }

    /// What it wrote last that was no message.
    pub fn non_message_line(&self) -> Option<String> {
        match &self.line {
            Line::Stdio(server) => server.non_message_line(),
            Line::Bus(_) => None,
        }
    }

    /// Returns once it has shown that it lives, whatever it answers.
    pub async fn ping(&self) {
        match &self.line {
            Line::Stdio(server) => server.ping().await,
            Line::Bus(service) => service.ping().await,
        }
    }

    /// Tells it to end, if it can be told, with `force` at once. Returns whether it was.
    pub async fn shut_down(&self, force: bool) -> bool {
        match &self.line {
            Line::Stdio(_) => false,
            Line::Bus(service) => service.shut_down(force).await.is_ok(),
        }
    }

    /// Hears it until it closes, leaves the bus or breaks the protocol; `changed` is called when its list of tools has
    /// changed. Returns what was wrong, if anything.
    pub fn hear<'a>(&'a self, heard: Heard, changed: impl Fn() + Send + Sync + 'a) -> BoxFuture<'a, Option<String>> {
        match (&self.line, heard) {
            (Line::Stdio(server), Heard::Stdio(reader)) => Box::pin(server.hear(reader, changed)),
            (Line::Bus(service), Heard::Bus(messages)) => Box::pin(async {
                service.hear(*messages).await;
                None
            }),
            // They are made together.
            _ => Box::pin(async { None }),
        }
    }

    /// Ends the conversation: every call that waits fails.
    pub fn close(&self) {
        match &self.line {
            Line::Stdio(server) => server.close(),
            Line::Bus(service) => service.close(),
        }
    }
}

/// The error of a call whose agent has died.
fn gone(name: &str) -> ToolError {
    ToolError::unavailable(format!("the agent {name} died"))
        .with("agent", name)
        .with(CODE, CRASHED)
        .hint("it is started again; agents.get_status says how it is")
}
