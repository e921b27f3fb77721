//! The halt, as the server half knows it: the agent's latch, followed by event (docs/halt.md).
//!
//! A server that starts without an agent goes by its own copy of what the agent said last. Both halves refuse: this one
//! every call of a tool that changes something, the agent its own operations.

use crate::audit::Audit;
use agent::{
    AgentLink,
    operations::halt::{FollowHalt, FollowRequest, MAX_WAIT_MS},
};
use base::{
    clock::Wall,
    error::ToolError,
    os::{blocking, folders::Folders, whole},
};
use contract::{
    config::Settings,
    halt::{HaltState, Halted, stops},
    meta::Declaration,
};
use hw::gpio::GpioLines;
use serde_json::json;
use std::{fs, io, io::Write, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::{Mutex, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long a start waits for the agent's first word: it answers from memory, or is not there.
const FIRST: Duration = Duration::from_secs(2);
/// After how long an agent that has a socket and does not answer is asked again. One without is awaited by its socket.
const AGAIN: Duration = Duration::from_secs(60);

/// What the agent said last, and what goes with a change of it.
pub struct Halt {
    state: watch::Sender<HaltState>,
    /// This server's copy.
    copy: PathBuf,
    /// Held while the copy is written.
    turn: Mutex<()>,
    safe_outputs: bool,
    agent: AgentLink,
    audit: Audit,
    gpio: Arc<GpioLines>,
}

impl Halt {
    /// As it was when the last server with this state folder heard of it.
    pub fn of(settings: &Settings, agent: AgentLink, audit: Audit, gpio: Arc<GpioLines>) -> Self {
        let copy = settings.places.state_dir.join("halt.json");
        let state = match fs::read(&copy) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HaltState::default()),
            Err(error) => Err(error.to_string()),
        };
        // The agent's next word replaces it.
        let state = state.unwrap_or_else(|why| {
            let halted = Halted::unreadable("the server's copy of the halt", &why, Wall::system().now_ms());
            HaltState { halted: Some(halted), lifted: None }
        });
        let safe_outputs = settings.halt.safe_outputs;
        if state.halted.is_some() {
            gpio.halted(safe_outputs);
        }
        let state = watch::Sender::new(state);
        Self { state, copy, turn: Mutex::default(), safe_outputs, agent, audit, gpio }
    }

    /// The halt that stands.
    pub fn standing(&self) -> Option<Halted> {
        self.state.borrow().halted.clone()
    }

    /// Changes of the state.
    pub fn changes(&self) -> watch::Receiver<HaltState> {
        self.state.subscribe()
    }

    /// Refuses a call of this tool during a halt, if the tool is one that it stops.
    ///
    /// # Errors
    /// `failed_precondition` with who halted the machine, when, and how it ends.
    pub fn check(&self, meta: &Declaration<'_>) -> Result<(), ToolError> {
        match &self.state.borrow().halted {
            Some(halted) if stops(meta) => Err(halted.refusal(meta.name)),
            _ => Ok(()),
        }
    }

    /// Replaces the state. Returns the one before, if that was another.
    fn replace(&self, now: HaltState) -> Option<HaltState> {
        let mut before = None;
        self.state.send_if_modified(|state| {
            let another = *state != now;
            if another {
                before = Some(std::mem::replace(state, now));
            }
            another
        });
        before
    }

    /// Asks the agent once, before the first call is served. Without an answer the server's copy counts.
    pub async fn learn(&self) {
        let known = self.state.borrow().clone();
        let request = FollowRequest { known, wait_ms: 0 };
        if let Ok(Ok(state)) = timeout(FIRST, self.agent.call::<FollowHalt>(request)).await {
            self.hear(state).await;
        }
    }

    /// A call of `manage.halt` has set this halt.
    pub async fn set(&self, halted: Halted) {
        let lifted = self.state.borrow().lifted.clone();
        self.hear(HaltState { halted: Some(halted), lifted }).await;
    }

    /// Follows the agent until the server stops.
    pub async fn follow(&self, stop: &CancellationToken) {
        if matches!(self.agent, AgentLink::Offline(_)) {
            return;
        }
        stop.run_until_cancelled(self.follow_agent()).await;
    }

    async fn follow_agent(&self) {
        let folders = match &self.agent {
            AgentLink::Socket(client) => client.path().parent().and_then(|folder| watch_folder(folder.to_owned())),
            AgentLink::InProcess(_) | AgentLink::Offline(_) => None,
        };
        loop {
            // Before it is asked: whatever changes later is noticed.
            if let Some(folders) = &folders {
                folders.changed();
            }
            let known = self.state.borrow().clone();
            let request = FollowRequest { known, wait_ms: MAX_WAIT_MS };
            match self.agent.call::<FollowHalt>(request).await {
                Ok(state) => self.hear(state).await,
                Err(error) => {
                    tracing::debug!(target: "raspi_mcp::halt", %error, "the agent does not say whether the machine is halted");
                    self.back(folders.as_ref()).await;
                }
            }
        }
    }

    /// Returns when the agent may be back.
    async fn back(&self, folders: Option<&Folders>) {
        let event = async {
            match folders {
                Some(folders) if folders.ready().await.is_ok() => {}
                _ => std::future::pending().await,
            }
        };
        let awaited = matches!(&self.agent, AgentLink::Socket(client) if !client.path().exists());
        if awaited && folders.is_some() {
            event.await;
        } else {
            // Whether it timed out or not, the agent is asked again.
            let _ = timeout(AGAIN, event).await;
        }
    }

    /// Takes over what the agent said, and does what goes with a change.
    async fn hear(&self, now: HaltState) {
        // First of all: from here on changes are refused, or no longer.
        let Some(before) = self.replace(now.clone()) else { return };
        let set = now.halted.as_ref().filter(|_| now.halted != before.halted);
        let lifted = now.lifted.as_ref().filter(|_| now.lifted != before.lifted);
        if let Some(halted) = set {
            tracing::warn!(target: "raspi_mcp::halt", "this machine is halted {}: every change is refused", halted.story());
            self.gpio.halted(self.safe_outputs);
        }
        if now.halted.is_none() {
            self.gpio.lifted();
        }
        if let Some(lifted) = lifted {
            tracing::warn!(target: "raspi_mcp::halt", "the halt was lifted by {} ({})", lifted.by, lifted.how);
        }
        if let Err(error) = self.keep().await {
            tracing::error!(target: "raspi_mcp::halt", %error, "without the agent, the next server goes by an older state");
        }
        // The call has a record of its own.
        let set = set.filter(|halted| halted.how != "manage.halt");
        let records = [
            lifted.map(|lifted| ("halt.lift", &lifted.by, json!({ "how": lifted.how, "at_ms": lifted.at_ms }))),
            set.map(|halted| {
                let about = json!({ "how": halted.how, "since_ms": halted.since_ms, "reason": halted.reason });
                ("halt.set", &halted.by, about)
            }),
        ];
        for (what, by, about) in records.into_iter().flatten() {
            if let Err(error) = self.audit.note_halt(what, by, about).await {
                tracing::error!(target: "raspi_mcp::halt", %error, what, "is not in the audit; the agent's log has it");
            }
        }
    }

    /// Writes the copy: the state of this moment, whatever brought it.
    async fn keep(&self) -> Result<(), ToolError> {
        let _turn = self.turn.lock().await;
        let (path, state) = (self.copy.clone(), self.state.borrow().clone());
        let json = serde_json::to_vec(&state).map_err(|error| ToolError::internal(format!("halt: {error}")))?;
        blocking::run("halt", move |_| {
            whole::replace(&path, 0o600, |file| file.write_all(&json)).map_err(|error| {
                ToolError::unavailable(format!("{} cannot be written: {error}", path.display()))
                    .hint("check the space and the permissions of the state directory")
            })
        })
        .await
    }
}

fn watch_folder(folder: PathBuf) -> Option<Folders> {
    Folders::watch(vec![folder])
        .inspect_err(
            |error| tracing::warn!(target: "raspi_mcp::halt", %error, "an agent that restarts is noticed late"),
        )
        .ok()
}
