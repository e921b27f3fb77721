//! An agent on the system bus: `org.dbusmcp.Agent` at `/org/dbusmcp/Agent/TYPE/0`, by the name `org.dbusmcp.Agent.TYPE`.
//!
//! Its connection is its own: an agent that floods it, or whose answers are long, is in nobody else's way. Everything is sent
//! to the connection that was looked at, not to the name, which somebody else may have by then.

use super::{AgentCall, Agents, Answer, CODE, LONGEST, gone};
use crate::agents::SPAWN_FAILED;
use base::{
    error::{ErrorCode, ToolError},
    os::bus::{BUS, BUS_OBJECT, credentials, refusal},
    speech::quoted,
};
use contract::config::sections::agents::{MOST_TOOLS, account_of};
use futures::StreamExt;
use serde_json::{Value, json};
use std::{
    num::NonZeroUsize,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use zbus::{Connection, Message, MessageStream, fdo, message::Flags};

const INTERFACE: &str = "org.dbusmcp.Agent";
/// Messages that may wait to be heard: what the bus says of the name, and answers that are read elsewhere.
const QUEUE: NonZeroUsize = NonZeroUsize::new(16).expect("16 is not zero");
/// Longest wait for an answer: the longest call of a tool, and its end.
const LONGEST_CALL: Duration = Duration::from_secs(660);
/// From the bus saying that an agent is gone to its end being noticed.
const NOTICED: Duration = Duration::from_secs(2);

pub struct BusService {
    /// Its type.
    agent: String,
    name: String,
    place: Arc<Place>,
    /// The account that it has to be, and that account's user.
    account: String,
    uid: u32,
    /// The id of the unit that it has to be in; `None`: it comes by itself.
    unit: Option<String>,
    /// The connection that has the name; empty: none.
    owner: watch::Sender<String>,
    next: AtomicU64,
}

/// Where messages go.
struct Place {
    connection: Connection,
    path: String,
    /// The connection that was looked at.
    owner: OnceLock<String>,
    gone: CancellationToken,
}

impl BusService {
    /// Connects, and begins to hear who has the name.
    ///
    /// # Errors
    /// When the bus does not answer, or there is no account.
    pub async fn open(agents: &Agents, agent: &str, unit: Option<String>) -> Result<(Self, MessageStream), ToolError> {
        let account = account_of(agents.declared(), agent);
        let uid = agents.known(agent).and_then(|known| known.uid).ok_or_else(|| {
            ToolError::precondition(format!("there is no account {account} for {agent}"))
                .hint("systemd-sysusers makes it from dist/sysusers.d")
        })?;
        let connection = agents.bus().fresh(QUEUE, LONGEST_CALL).await?;
        let messages = MessageStream::from(&connection);
        let (path, name) = (format!("/org/dbusmcp/Agent/{agent}/0"), format!("{INTERFACE}.{agent}"));
        let place = Place { connection, path, owner: OnceLock::new(), gone: CancellationToken::new() };
        let this = Self {
            agent: agent.to_owned(),
            name,
            place: Arc::new(place),
            account,
            uid,
            unit,
            owner: watch::Sender::new(String::new()),
            next: AtomicU64::new(1),
        };
        let rule =
            format!("type='signal',sender='{BUS}',interface='{BUS}',member='NameOwnerChanged',arg0='{}'", this.name);
        this.ask("AddMatch", &rule).await.map_err(|error| refusal(BUS, "AddMatch", &error))?;
        // Without an owner this is an error.
        if let Ok(answer) = this.ask("GetNameOwner", &this.name).await {
            this.owner.send_replace(answer.body().deserialize::<&str>().unwrap_or_default().to_owned());
        }
        Ok((this, messages))
    }

    /// Asks the bus itself.
    async fn ask(&self, method: &str, argument: &str) -> zbus::Result<Message> {
        self.place.connection.call_method(Some(BUS), BUS_OBJECT, Some(BUS), method, &argument).await
    }

    /// Waits until somebody has the name, and looks who it is.
    ///
    /// # Errors
    /// `permission_denied` for another user, or a process outside of the unit.
    pub async fn greet(&self) -> Result<(), ToolError> {
        let mut owner = self.owner.subscribe();
        loop {
            let Ok(who) = owner.wait_for(|name| !name.is_empty()).await.map(|name| name.clone()) else {
                return Err(gone(&self.agent));
            };
            let found = credentials(&self.place.connection, &who).await;
            if *owner.borrow() != who {
                continue;
            }
            let (uid, pid) = found?.map_or((None, None), |found| (found.unix_user_id(), found.process_id()));
            self.check(uid, pid)?;
            let _ = self.place.owner.set(who);
            return Ok(());
        }
    }

    fn check(&self, uid: Option<u32>, pid: Option<u32>) -> Result<(), ToolError> {
        let refused =
            |why: String| Err(ToolError::denied(format!("{} belongs to {why}", self.name)).with(CODE, SPAWN_FAILED));
        if uid != Some(self.uid) {
            let found = uid.map_or("nobody".to_owned(), |uid| format!("user {uid}"));
            return refused(format!("{found} on the system bus, and not to {}", self.account));
        }
        // Without systemd, programs are in the group of this process. Where /proc does not show others, the user counts.
        let group = |pid: &str| std::fs::read(format!("/proc/{pid}/cgroup")).map(base::os::lossy).ok();
        let found = pid.and_then(|pid| group(&pid.to_string()));
        match (&self.unit, found) {
            (Some(unit), Some(found)) if !found.contains(unit) && group("self").is_some_and(|own| own != found) => {
                refused(format!("a process of {} outside of its unit", self.account))
            }
            _ => Ok(()),
        }
    }

    /// All tools, as it describes them.
    pub async fn list(&self) -> Result<Vec<Value>, ToolError> {
        let mut answer = self.place.call(&self.agent, "GetCapabilities", &()).await?;
        match answer.get_mut("tools").map(Value::take) {
            Some(Value::Array(tools)) if tools.len() <= MOST_TOOLS => Ok(tools),
            Some(Value::Array(tools)) => {
                Err(self.wrong(format!("it has {} tools; at most {MOST_TOOLS} are heard of", tools.len())))
            }
            _ => Err(self.wrong("its capabilities are no object with a list of tools".into())),
        }
    }

    fn wrong(&self, why: String) -> ToolError {
        ToolError::unavailable(format!("the agent {}: {why}", self.agent)).with("agent", self.agent.as_str())
    }

    /// Begins a call: its number, and its answer.
    pub fn call(&self, tool: &str, call: AgentCall<'_>) -> Result<(u64, Answer), ToolError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("task-{number}");
        let (caller, timeout) = (call.caller, call.timeout_seconds);
        let params = json!({
            "name": tool, "arguments": call.args, "principal": caller.principal, "role": caller.role.name(),
        });
        let task = json!({ "id": id, "type": "tool", "params": params, "timeout": timeout }).to_string();
        let (place, agent) = (Arc::clone(&self.place), self.agent.clone());
        let answer = async move {
            let answer = place.call(&agent, "ExecuteTask", &task.as_str()).await?;
            if answer["id"] != id {
                return Err(ToolError::unavailable(format!("the agent {agent} answered another task")));
            }
            Ok(result(answer))
        };
        Ok((number, Box::pin(answer)))
    }

    /// Returns once it has answered, or is gone. By `GetCapabilities`: the rules of the bus let the server call nothing else of an
    /// agent, and libraries answer `Ping` of a program that hangs.
    pub async fn ping(&self) {
        let _ = self.place.call(&self.agent, "GetCapabilities", &()).await;
    }

    /// Tells it to end, with `force` at once. Nobody waits for its answer: it may hang.
    pub async fn shut_down(&self, force: bool) -> Result<(), ToolError> {
        let lost = |_| gone(&self.agent);
        let owner = self.place.owner.get().ok_or_else(|| gone(&self.agent))?;
        let message = Message::method_call(self.place.path.as_str(), "Shutdown").destination(owner.as_str());
        let message = message.interface(INTERFACE).with_flags(Flags::NO_REPLY_EXPECTED).build(&force).map_err(lost)?;
        self.place.connection.send(&message).await.map_err(lost)
    }

    /// Hears who has the name, until the one that was looked at has lost it, or the bus is lost.
    pub async fn hear(&self, mut messages: MessageStream) {
        while let Some(Ok(message)) = messages.next().await {
            let header = message.header();
            let of_bus = header.sender().is_some_and(|sender| sender.as_str() == BUS);
            if !of_bus || header.member().is_none_or(|member| member != "NameOwnerChanged") {
                continue;
            }
            let body = message.body();
            let Ok((name, _, owner)) = body.deserialize::<(&str, &str, &str)>() else { continue };
            if name == self.name {
                self.owner.send_replace(owner.to_owned());
                if self.place.owner.get().is_some_and(|known| known != owner) {
                    return;
                }
            }
        }
    }

    pub fn close(&self) {
        self.place.gone.cancel();
    }
}

impl Place {
    /// Calls a method that answers with a text of JSON.
    async fn call<B>(&self, agent: &str, method: &str, body: &B) -> Result<Value, ToolError>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let owner = self.owner.get().ok_or_else(|| gone(agent))?.as_str();
        let call = self.connection.call_method(Some(owner), self.path.as_str(), Some(INTERFACE), method, body);
        let answer = tokio::select! {
            biased;
            answer = call => answer,
            () = self.gone.cancelled() => return Err(gone(agent)),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Err(self.failed(agent, method, &error).await),
        };
        let body = answer.body();
        if body.len() > LONGEST {
            return Err(ToolError::new(
                ErrorCode::ContentTooLarge,
                format!("{agent} answered more than {LONGEST} bytes"),
            )
            .with("limit_bytes", LONGEST)
            .hint("ask it for less"));
        }
        let text: Result<&str, _> = body.deserialize();
        let value = text.ok().and_then(|text| serde_json::from_str(text).ok());
        value.ok_or_else(|| ToolError::unavailable(format!("the agent {agent} answered {method} with no JSON")))
    }

    /// What an error of the bus means: the agent has refused, or is gone. Then its end is noticed first: nobody is to find it
    /// running any more.
    async fn failed(&self, agent: &str, method: &str, error: &zbus::Error) -> ToolError {
        let refused = match error {
            zbus::Error::MethodError(..) => true,
            zbus::Error::FDO(error) => !matches!(
                **error,
                fdo::Error::NoReply(_) | fdo::Error::ServiceUnknown(_) | fdo::Error::NameHasNoOwner(_)
            ),
            _ => false,
        };
        if !refused {
            let _ = timeout(NOTICED, self.gone.cancelled()).await;
            return gone(agent);
        }
        let said = quoted(&error.to_string());
        ToolError::unavailable(format!("the agent {agent} refuses {method}; it says: {said}")).with("agent", agent)
    }
}

/// What a task's result is in MCP's form. An output that is no text is the structured result.
fn result(mut answer: Value) -> Value {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if answer["status"] != "success" {
        return json!({ "isError": true, "content": [{ "type": "text", "text": text(&answer["error"]) }] });
    }
    let output = answer.get_mut("output").map(Value::take).unwrap_or_default();
    json!({ "content": [{ "type": "text", "text": text(&output) }], "structuredContent": output })
}
