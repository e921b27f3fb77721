//! What a tool gets: the call that it serves, and the services of the machine.

use super::Registry;
use crate::{registry::progress::Progress, services::Services};
use base::error::ToolError;
use contract::access::{caller::Caller, reach::Reach};
use contract::audit::changed::Changed;
use futures::future::BoxFuture;
use serde_json::Value;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The context of one call, passed to its tool.
pub struct Context {
    pub services: Arc<Services>,
    /// Every tool of this server.
    pub registry: Arc<Registry>,
    pub caller: Arc<Caller>,
    /// Cancelled when the caller cancels the request or its time is up. A write that can stop does so, and reports in its error
    /// (`details.changed`, `details.stopped`) or its notes what it did; one that cannot stop continues ([`super::deed`]).
    pub cancel: CancellationToken,
    pub progress: Progress,
    /// The approval that lets this call through the agent, when policy asked for one.
    pub approval: Option<String>,
    /// SHA-256 of the canonical JSON of the arguments as they came, without optional ones that are null: what approvals and
    /// audit records bind to.
    pub args_sha256: Arc<str>,
    /// The client, for tools that ask it something.
    pub peer: Option<Arc<dyn ClientPeer>>,
    pub notes: Arc<Notes>,
}

impl Context {
    /// What this caller may reach with `tool`; nothing with a tool that there is not.
    pub fn reach(&self, tool: &str) -> Reach {
        let policy = self.services.policy.held();
        self.registry
            .resolve(tool)
            .map_or_else(|_| Reach::default(), |(entry, _)| policy.reach(&entry.meta(), &self.caller))
    }

    /// Whether the answer of `tool` has the part that `action` reads ([`contract::actions::SHOWS`]).
    pub fn shows(&self, tool: &str, action: &'static str) -> bool {
        self.services.policy.held().shows(tool, action)
    }
}

/// What can be asked of the client during a call. Only conversations that rmcp carries have one.
pub trait ClientPeer: Send + Sync {
    /// The `clientInfo.name` it gave, if any.
    fn client_name(&self) -> Option<String>;
    /// What the client can do, as it declared.
    fn capabilities(&self) -> &Value;
    /// Its answers to what an earlier `input_required` result asked for (2026-07-28).
    fn input_responses(&self) -> Option<&Value>;
    /// The state that such a result carried.
    fn request_state(&self) -> Option<&str>;
    /// Whether the client is asked by a result (`input_required`, 2026-07-28) and answers with the same call made again. There
    /// [`ClientPeer::ask`] reaches nobody.
    fn is_asked_in_results(&self) -> bool;
    /// The lowest severity of log messages that the client wants: of this request (2026-07-28), or of its session.
    fn log_level(&self) -> Option<&str>;
    /// Sends a server-to-client request (`elicitation/create`, `sampling/createMessage`) and waits for its result.
    ///
    /// # Errors
    /// `capability_missing` when the client cannot be asked, `unavailable` when it went away.
    fn ask<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, ToolError>>;
    /// Sends a log message (`notifications/message`) if the client wants any of this severity (RFC 5424: `debug` to
    /// `emergency`).
    fn log<'a>(&'a self, severity: &'a str, logger: &'a str, data: Value) -> BoxFuture<'a, ()>;
    /// Tells every client that listens for it that a list has changed.
    fn announce(&self, change: ListChange) -> BoxFuture<'_, ()>;
    /// Whether this request may be answered with a task ([`ClientPeer::start_task`]).
    fn takes_tasks(&self) -> bool;
    /// Begins work that goes on after the answer (2026-07-28, tasks extension). Returns the whole result that names the
    /// task, for [`super::tool::Tool::whole`].
    ///
    /// # Errors
    /// `capability_missing` when the client or the server has no tasks.
    fn start_task(&self, work: Work) -> Result<Value, ToolError>;
}

/// What a task does: ends with a whole result of `tools/call`.
pub type Work = Box<dyn FnOnce(Arc<dyn Task>) -> BoxFuture<'static, Result<Value, TaskEnd>> + Send>;

/// A running task, as its work sees it.
pub trait Task: Send + Sync {
    /// Asks the client for something, under a key this task has not used before, and waits until it responds.
    ///
    /// # Errors
    /// [`TaskEnd`], to be passed on.
    fn ask(&self, key: &str, request: Value) -> BoxFuture<'_, Result<Value, TaskEnd>>;
    /// Resolves when the client wants the task to end.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

/// Why a task has no result.
#[derive(Debug)]
pub enum TaskEnd {
    Cancelled,
    Failed(ToolError),
}

/// A list that has changed and that clients may have kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListChange {
    Tools,
    Prompts,
}

/// What a tool reports about its answer, beside the answer. It becomes `_meta`.
#[derive(Default)]
pub struct Notes {
    simulated: AtomicBool,
    /// A [`Changed`] as its number.
    changed: AtomicU8,
    /// Age of a cached answer in milliseconds, plus one; 0 is a fresh answer.
    cached: AtomicU64,
    resource: OnceLock<String>,
}

impl Notes {
    /// The answer comes from a simulated part, not from this machine.
    pub fn simulated(&self) {
        self.simulated.store(true, Ordering::Relaxed);
    }
    /// The call changed something.
    pub fn changed(&self) {
        self.changed.store(Changed::Yes as u8, Ordering::Relaxed);
    }
    /// The call may have changed something: its end is not known.
    pub fn unknown(&self) {
        // What is known to have changed stays known.
        let (no, unknown) = (Changed::No as u8, Changed::Unknown as u8);
        let _ = self.changed.compare_exchange(no, unknown, Ordering::Relaxed, Ordering::Relaxed);
    }
    /// The answer comes from the cache and is that old.
    pub fn cached(&self, age: Duration) {
        let ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX - 1);
        self.cached.store(ms + 1, Ordering::Relaxed);
    }
    pub fn cached_ms(&self) -> Option<u64> {
        self.cached.load(Ordering::Relaxed).checked_sub(1)
    }
    /// The resource that holds this very answer, where the tool's holds one for each of many things.
    pub fn resource(&self, uri: String) {
        // A call answers once.
        let _ = self.resource.set(uri);
    }
    pub fn resource_uri(&self) -> Option<&str> {
        self.resource.get().map(String::as_str)
    }
    pub fn is_simulated(&self) -> bool {
        self.simulated.load(Ordering::Relaxed)
    }
    /// What is known of changes by now.
    pub fn changed_so_far(&self) -> Changed {
        match self.changed.load(Ordering::Relaxed) {
            0 => Changed::No,
            1 => Changed::Yes,
            _ => Changed::Unknown,
        }
    }
}
