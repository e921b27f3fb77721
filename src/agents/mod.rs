//! The agents of `[[agents]]` in the server half: which there are and run, who spawned them, and what happens to them
//! (docs/agents.md). Programs are started by the privileged half; this one names a type and a tool, never a program.

mod client;
mod death;
mod supervisor;

pub use client::AgentCall;
pub use death::{AgentEvent, DeathReason};

use agent::{
    AgentFailure, AgentLink, AgentState, AgentsNow, OfferedTool, ToolState,
    operations::agents::{AgentFailed, FailedRequest, FollowAgents, FollowRequest},
};
use base::{
    error::{ErrorCode, ToolError},
    os::bus::DBus,
};
use contract::{
    access::caller::Caller,
    config::{
        AgentType,
        sections::agents::{AgentKind, AgentStart, MOST, VIEWS},
    },
    meta::Role,
};
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use supervisor::Supervisor;
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// Maximum number of ids at once: views too, since each takes memory.
const MOST_IDS: usize = 64;
/// Events that a slow listener may be behind.
const EVENTS: usize = 16;

/// Codes of dbus-mcp, in `details.dbus_mcp_code`.
pub const SPAWN_FAILED: i32 = -32100;
pub const NOT_FOUND: i32 = -32101;
pub const BUSY: i32 = -32102;
pub const TIMEOUT: i32 = -32103;
pub const CRASHED: i32 = -32104;
const CODE: &str = "dbus_mcp_code";

/// The agents of a server.
pub struct Agents {
    declared: Vec<AgentType>,
    link: AgentLink,
    state: Mutex<State>,
    events: broadcast::Sender<AgentEvent>,
    calls: OnceLock<Arc<dyn TaskCaller>>,
    /// Where agents of kind `dbus` are.
    bus: OnceLock<DBus>,
    /// Ended with the server: no agent is started again then.
    stop: CancellationToken,
}

#[derive(Default)]
struct State {
    spawned: BTreeMap<String, SpawnedAgent>,
    count: u64,
    /// What the privileged half said last, by type.
    known: BTreeMap<String, AgentState>,
    /// Why tools of a type are not offered, which only this half knows.
    refused: BTreeMap<String, String>,
    /// Of each type that runs as a process of its own.
    supervisors: BTreeMap<String, Arc<Supervisor>>,
}

/// A task: a call of a tool, with everything that holds for one.
pub struct TaskCall {
    pub caller: Arc<Caller>,
    /// In any spelling: the first that there is.
    pub names: Vec<String>,
    /// A JSON object.
    pub args: Value,
    pub request_id: String,
    pub cancel: CancellationToken,
}

/// Calls a tool through the pipeline, which is made later than the agents.
pub trait TaskCaller: Send + Sync {
    fn call(&self, task: TaskCall) -> BoxFuture<'_, Result<Value, ToolError>>;
}

/// An agent that somebody spawned: an id bound to them.
#[derive(Clone, Debug, Serialize)]
pub struct SpawnedAgent {
    pub agent_id: String,
    #[serde(rename = "type")]
    pub agent_type: String,
    /// The principal that spawned it.
    pub spawned_by: String,
    /// UTC.
    pub spawned: String,
}

impl Agents {
    /// The agents that the configuration declares. Nothing is started.
    pub fn of(declared: &[AgentType], link: AgentLink) -> Arc<Self> {
        Arc::new(Self {
            declared: declared.to_vec(),
            link,
            state: Mutex::default(),
            events: broadcast::Sender::new(EVENTS),
            calls: OnceLock::new(),
            bus: OnceLock::new(),
            stop: CancellationToken::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn declared(&self) -> &[AgentType] {
        &self.declared
    }

    pub fn find(&self, name: &str) -> Option<&AgentType> {
        self.declared.iter().find(|agent| agent.name == name)
    }

    /// How tasks are done; set once, when the server is put together.
    pub fn calls_through(&self, calls: Arc<dyn TaskCaller>) {
        let _ = self.calls.set(calls);
    }

    /// Agents are on this bus, and not on the system's; set once, before they are followed.
    pub fn on_bus(&self, bus: DBus) {
        let _ = self.bus.set(bus);
    }

    fn bus(&self) -> &DBus {
        self.bus.get_or_init(DBus::system)
    }

    /// Does a task as a call of a tool.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn perform(&self, task: TaskCall) -> Result<Value, ToolError> {
        match self.calls.get() {
            Some(calls) => calls.call(task).await,
            None => Err(ToolError::unavailable("this server does no tasks")),
        }
    }

    pub fn link(&self) -> &AgentLink {
        &self.link
    }

    /// Whether the privileged half does not answer.
    async fn is_alone(&self) -> bool {
        self.link.call::<FollowAgents>(FollowRequest::default()).await.is_err()
    }

    /// Every agent that is spawned or dies from now on. A listener that is too slow misses some.
    pub fn events(&self) -> broadcast::Receiver<AgentEvent> {
        self.events.subscribe()
    }

    fn tell(&self, event: AgentEvent) {
        // Nobody may be listening.
        let _ = self.events.send(event);
    }

    /// Takes over what the privileged half says. Returns each type, and whether its accepted tools are others than before.
    pub fn hear(&self, now: AgentsNow) -> Vec<(AgentState, bool)> {
        let mut state = self.state();
        let hear = |agent: AgentState| {
            let before = state.known.insert(agent.name.clone(), agent.clone());
            let is_other = accepted(&agent) != before.as_ref().map(accepted).unwrap_or_default();
            (agent, is_other)
        };
        now.agents.into_iter().map(hear).collect()
    }

    /// Why some of its tools cannot be offered, or none; `None`: all are.
    pub fn refused(&self, name: &str, why: Option<String>) {
        let mut state = self.state();
        match why {
            Some(why) => state.refused.insert(name.to_owned(), why),
            None => state.refused.remove(name),
        };
    }

    /// What is known of this type's tools; `None`: nothing yet. Its `problem` is also why this half does not offer some, or why the
    /// program does not run.
    pub fn known(&self, name: &str) -> Option<AgentState> {
        let state = self.state();
        let known = state.known.get(name)?.clone();
        let failed = || state.supervisors.get(name)?.failure().map(|error| error.advice());
        let problem = known.problem.clone().or_else(|| state.refused.get(name).cloned()).or_else(failed);
        Some(AgentState { problem, ..known })
    }

    /// Starts the process because somebody wants to see its tools: at once, also when it has failed before. Why it could not be
    /// started is told to the privileged half, where that person looks.
    ///
    /// # Errors
    /// Why it could not be started.
    pub async fn show(self: &Arc<Self>, declared: &AgentType) -> Result<(), ToolError> {
        if declared.start != AgentStart::Never && matches!(self.standing(&declared.name), "restarting" | "held") {
            let failed = self.state().supervisors.remove(&declared.name);
            failed.iter().for_each(|supervisor| supervisor.end());
        }
        let Err(error) = self.started(declared).await else { return Ok(()) };
        let failure = AgentFailure::of(&error);
        let told = self.link.call::<AgentFailed>(FailedRequest { agent: declared.name.clone(), failure }).await;
        if let Err(unheard) = told {
            tracing::debug!(target: "raspi_mcp::agents", agent = declared.name, %unheard, "nobody hears why it could not be started");
        }
        Err(error)
    }

    /// Whether there can be agents of this type.
    ///
    /// # Errors
    /// `not_found` with `details.dbus_mcp_code`.
    pub fn check_type(&self, agent_type: &str) -> Result<(), ToolError> {
        if self.find(agent_type).is_some() || VIEWS.contains(&agent_type) {
            return Ok(());
        }
        Err(ToolError::not_found("there are no agents of this type")
            .with("parameter", "type")
            .with(CODE, SPAWN_FAILED)
            .hint("agents.list names the types; the owner declares others in [[agents]]"))
    }

    /// Gives `caller` an id of its own for an agent of this type. A program that stays is started, unless it runs.
    ///
    /// # Errors
    /// `not_found`, `resource_exhausted`, and why it could not be started, all with `details.dbus_mcp_code`.
    pub async fn spawn(self: &Arc<Self>, caller: &Caller, agent_type: &str) -> Result<SpawnedAgent, ToolError> {
        self.check_type(agent_type)?;
        let declared = self.find(agent_type);
        let full = |state: &State| {
            let own = |agent: &&SpawnedAgent| agent.spawned_by == caller.principal;
            let most = if declared.is_some() { MOST } else { MOST_IDS };
            state.spawned.len() >= MOST_IDS || state.spawned.values().filter(own).count() >= most
        };
        if full(&self.state()) {
            return Err(ToolError::exhausted(format!("at most {MOST} agents are spawned at once"))
                .with("limit", MOST)
                .with(CODE, SPAWN_FAILED)
                .hint("end one with agents.shutdown"));
        }
        if let Some(declared) = declared.filter(|declared| declared.kind != AgentKind::Command) {
            if self.standing(agent_type) == "held" {
                self.state().supervisors.remove(agent_type);
            }
            self.started(declared).await.map_err(|error| coded(error, SPAWN_FAILED))?;
        }
        let now = OffsetDateTime::now_utc();
        let mut state = self.state();
        state.count += 1;
        let agent = SpawnedAgent {
            agent_id: format!("{agent_type}_{}", state.count),
            agent_type: agent_type.to_owned(),
            spawned_by: caller.principal.clone(),
            spawned: contract::audit::rfc3339((now.unix_timestamp_nanos() / 1_000_000).try_into().unwrap_or_default()),
        };
        state.spawned.insert(agent.agent_id.clone(), agent.clone());
        drop(state);
        let (id, agent_type) = (agent.agent_id.clone(), agent_type.to_owned());
        self.tell(AgentEvent::Spawned { id, agent_type, timestamp: now.unix_timestamp() });
        Ok(agent)
    }

    /// An agent of this caller; for an administrator, of anybody.
    ///
    /// # Errors
    /// `not_found` with -32101.
    pub fn get(&self, caller: &Caller, id: &str) -> Result<SpawnedAgent, ToolError> {
        self.state().spawned.get(id).filter(|agent| may_see(caller, agent)).cloned().ok_or_else(|| {
            ToolError::not_found("you have no agent of this id")
                .with("parameter", "agent_id")
                .with(CODE, NOT_FOUND)
                .hint("agents.list has yours; agents.spawn gives a new one")
        })
    }

    /// The agents of this caller; for an administrator, all.
    pub fn list(&self, caller: &Caller) -> Vec<SpawnedAgent> {
        self.state().spawned.values().filter(|agent| may_see(caller, agent)).cloned().collect()
    }

    /// Takes the id back. The process of its type ends with the last one. Returns whether there was one.
    pub fn shutdown(&self, caller: &Caller, id: &str) -> bool {
        let Ok(agent) = self.get(caller, id) else { return false };
        let ended = {
            let mut state = self.state();
            state.spawned.remove(id);
            let others = state.spawned.values().any(|other| other.agent_type == agent.agent_type);
            // One that comes by itself goes by itself.
            let comes = self.find(&agent.agent_type).is_some_and(|declared| declared.start == AgentStart::Never);
            if others || comes { None } else { state.supervisors.remove(&agent.agent_type) }
        };
        if let Some(supervisor) = ended {
            supervisor.end();
        }
        self.tell(AgentEvent::Died { id: id.to_owned(), exit_code: 0, reason: DeathReason::Shutdown });
        true
    }

    /// The process of this type has died: each of its ids is told, and stays, since it is started again.
    fn died(&self, agent_type: &str, exit_code: i32, reason: DeathReason) {
        let ids: Vec<String> = self
            .state()
            .spawned
            .values()
            .filter(|agent| agent.agent_type == agent_type)
            .map(|agent| agent.agent_id.clone())
            .collect();
        for id in ids {
            self.tell(AgentEvent::Died { id, exit_code, reason });
        }
    }

    /// The supervisor of this type, with its process running.
    ///
    /// # Errors
    /// Why it does not run.
    pub async fn started(self: &Arc<Self>, declared: &AgentType) -> Result<Arc<Supervisor>, ToolError> {
        if declared.kind == AgentKind::Command {
            return Err(ToolError::missing(format!("{} runs for each call", declared.name)));
        }
        let supervisor = {
            let mut state = self.state();
            let found = state.supervisors.entry(declared.name.clone());
            Arc::clone(found.or_insert_with(|| Supervisor::begin(self, declared)))
        };
        supervisor.ready().await?;
        Ok(supervisor)
    }

    /// "running", "starting", "restarting", "held" or "stopped".
    pub fn standing(&self, name: &str) -> &'static str {
        let standing = self.state().supervisors.get(name).map_or("stopped", |supervisor| supervisor.standing());
        match self.find(name) {
            Some(declared) if declared.start == AgentStart::Never && standing != "running" => "stopped",
            _ => standing,
        }
    }

    /// Calls a tool of an agent that stays.
    ///
    /// # Errors
    /// `unavailable` when it does not run or dies; `failed_precondition` when it describes the tool in other words than were
    /// accepted; those that its tool reports.
    pub async fn call(self: &Arc<Self>, declared: &AgentType, call: AgentCall<'_>) -> Result<Value, ToolError> {
        let supervisor = self.started(declared).await?;
        let accepted = self.state().known.get(&declared.name).and_then(|known| {
            let mut tools = accepted(known).into_iter();
            tools.find(|tool| tool.name == call.tool).and_then(|tool| tool.descriptor.clone())
        });
        // Its start may have shown that the tool is another by now, which is heard of in a moment.
        supervisor.call(call, &accepted.unwrap_or_default()).await
    }

    /// Ends every process.
    pub fn end(&self) {
        self.stop.cancel();
        let supervisors = std::mem::take(&mut self.state().supervisors);
        supervisors.values().for_each(|supervisor| supervisor.end());
    }
}

/// The accepted tools, and what they say about themselves.
fn accepted(agent: &AgentState) -> Vec<&OfferedTool> {
    agent.tools.iter().filter(|tool| tool.state == ToolState::Accepted).collect()
}

fn may_see(caller: &Caller, agent: &SpawnedAgent) -> bool {
    caller.role == Role::Admin || agent.spawned_by == caller.principal
}

/// Adds dbus-mcp's code of a failed task or spawn, unless there is one.
pub fn coded(mut error: ToolError, otherwise: i32) -> ToolError {
    let code = match error.code {
        ErrorCode::Timeout => TIMEOUT,
        _ => otherwise,
    };
    error.details.entry(CODE).or_insert(code.into());
    error
}
