//! The agents of `[[agents]]`: which of their tools the owner has accepted, and which of their accounts are in use.

mod described;
mod files;
mod known;
mod seat;

pub(crate) use files::ProgramFiles;
pub use known::{AgentFailure, AgentState, AgentsNow, OfferedTool, ToolState};
pub(crate) use seat::AccountSeat;

use crate::{
    exec::Commands,
    files::{read_state, replace},
};
use base::{
    canonical,
    error::ToolError,
    os::{Root, groups},
};
use contract::config::{
    AgentType,
    sections::agents::{AgentKind, DESCRIPTOR_BYTES, account_of, is_command},
};
use described::Descriptors;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// The hash of each accepted tool, by type and tool.
type Accepted = BTreeMap<String, BTreeMap<String, String>>;

/// The agents of this machine.
pub(crate) struct Agents {
    pub(crate) declared: Vec<AgentType>,
    /// Calls and servers that run.
    pub(crate) running: Commands,
    path: PathBuf,
    /// Where the descriptors of accepted tools are.
    described: PathBuf,
    state: Mutex<State>,
    /// Counts changes of what is accepted, offered or wanted.
    revision: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    accepted: Accepted,
    /// What agents say about their tools, now or when they ran last.
    offered: Descriptors,
    /// The accepted ones of them, as they are in the file.
    described: Descriptors,
    /// Types that a person wants to look at.
    wanted: BTreeSet<String>,
    /// Why types could not be started.
    failures: HashMap<String, AgentFailure>,
    files: HashMap<String, ProgramFiles>,
    /// Numbers of the accounts in use.
    accounts: BTreeSet<usize>,
    /// Connections that become the standard input and output of an agent, by its id.
    streams: HashMap<String, OwnedFd>,
}

impl Agents {
    /// What was accepted before counts again; a damaged file counts as empty, and is reported.
    pub(crate) fn load(folder: &Path, declared: Vec<AgentType>, faults: &mut Vec<String>) -> Self {
        let path = folder.join("agents.json");
        // Without agents nothing is read.
        let accepted = match declared.is_empty() {
            true => Ok(None),
            false => read_state(&path, "accept the agents again: raspi-mcp agents accept", faults),
        };
        let accepted = accepted.unwrap_or_else(|error| {
            faults.push(error.into_message());
            None
        });
        let accepted = accepted.unwrap_or_default();
        let path_of_descriptors = described::file(folder);
        let described = match declared.is_empty() {
            true => None,
            // Without them each agent describes itself once more, when it is started.
            false => {
                read_state(&path_of_descriptors, "nothing: the agents are started and describe their tools", faults)
                    .unwrap_or_else(|error| {
                        faults.push(error.into_message());
                        None
                    })
            }
        };
        let described = described::declared(described.unwrap_or_default(), &declared);
        let state = Mutex::new(State { accepted, offered: described.clone(), described, ..State::default() });
        let revision = watch::Sender::new(1);
        Self { declared, running: Commands::default(), path, described: path_of_descriptors, state, revision }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call of `tool` becomes an operation of this half, which redeems its approval.
    pub(crate) fn runs(&self, tool: &str) -> bool {
        is_command(&self.declared, tool)
    }

    /// # Errors
    /// `not_found`.
    pub(crate) fn find(&self, name: &str) -> Result<&AgentType, ToolError> {
        self.declared.iter().find(|agent| agent.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.declared.iter().map(|agent| agent.name.as_str()).collect();
            ToolError::not_found("no [[agents]] of the configuration has this type").with("type", name).hint(
                match known.as_slice() {
                    [] => "the owner declares agents in /etc/raspi-mcp and restarts both halves".to_owned(),
                    known => format!("there are {}", known.join(", ")),
                },
            )
        })
    }

    /// What a tool says about itself: the owner's words for a command, its own for other kinds.
    fn descriptor(&self, state: &State, agent: &AgentType, tool: &str) -> Option<Value> {
        let declared = agent.tools.get(tool)?;
        match agent.kind {
            AgentKind::Command => Some(json!({
                "name": tool, "title": declared.title, "description": declared.description,
                "inputSchema": declared.input, "outputSchema": declared.output,
            })),
            AgentKind::Mcp | AgentKind::Dbus => state.offered.get(&agent.name)?.get(tool).cloned(),
        }
    }

    /// The hash that is accepted: descriptor, program with its arguments and variables, and files.
    fn hash(&self, agent: &AgentType, descriptor: &Value, files: &str) -> String {
        let mut accepted = json!({
            "type": agent.name, "program": agent.program, "args": agent.args, "files": files, "tool": descriptor,
        });
        // Left out where there is none, as before there were any: what was accepted stays so.
        if !agent.env.is_empty() {
            accepted["env"] = json!(agent.env);
        }
        canonical::sha256_hex(&accepted)
    }

    /// Hashes the files again if one of them has another stamp, and remembers it.
    ///
    /// # Errors
    /// Those of [`ProgramFiles::of`].
    pub(crate) fn files(&self, agent: &AgentType, paths: &[PathBuf]) -> Result<String, ToolError> {
        let known = self.state().files.get(&agent.name).cloned();
        let files = ProgramFiles::of(paths, known.as_ref())?;
        let hash = files.hash.clone();
        if known.as_ref() != Some(&files) {
            self.state().files.insert(agent.name.clone(), files);
            // The first look is none that anybody has to hear of.
            if known.is_some_and(|known| known.hash != hash) {
                self.told();
            }
        }
        Ok(hash)
    }

    /// Whether the owner has accepted this tool as it is. `files` is the hash of the program's files.
    ///
    /// # Errors
    /// `not_found` for a tool that is not declared, `failed_precondition` for one that is not accepted.
    pub(crate) fn check(&self, agent: &AgentType, tool: &str, files: &str) -> Result<(), ToolError> {
        if !agent.tools.contains_key(tool) {
            return Err(ToolError::not_found(format!("the agent {} has no tool {tool}", agent.name)));
        }
        match self.judge(&self.state(), agent, tool, Some(files)) {
            (ToolState::Accepted, _) => Ok(()),
            (state, _) => Err(not_accepted(agent, tool, state)),
        }
    }

    fn judge(&self, state: &State, agent: &AgentType, tool: &str, files: Option<&str>) -> (ToolState, Option<String>) {
        let Some(descriptor) = self.descriptor(state, agent, tool) else { return (ToolState::Unknown, None) };
        let Some(files) = files else { return (ToolState::Unusable, None) };
        let hash = self.hash(agent, &descriptor, files);
        let accepted = state.accepted.get(&agent.name).and_then(|tools| tools.get(tool));
        let judged = match accepted {
            None => ToolState::New,
            Some(accepted) if *accepted == hash => ToolState::Accepted,
            Some(_) => ToolState::Changed,
        };
        (judged, Some(hash))
    }

    /// All agents. `files` gives the hash of a program's files, or what is wrong with them.
    /// `root` has the accounts.
    pub(crate) fn now(&self, root: &Root, files: impl Fn(&AgentType) -> Result<String, ToolError>) -> AgentsNow {
        let hashes: Vec<_> = self.declared.iter().map(files).collect();
        let state = self.state();
        let revision = *self.revision.borrow();
        let agents = self.declared.iter().zip(hashes).map(|(agent, files)| {
            let tools = agent.tools.keys().map(|tool| {
                let (judged, hash) = self.judge(&state, agent, tool, files.as_deref().ok());
                let descriptor = self.descriptor(&state, agent, tool);
                OfferedTool { name: tool.clone(), state: judged, sha256: hash, descriptor }
            });
            let account = (agent.kind == AgentKind::Dbus).then(|| account_of(&self.declared, &agent.name));
            AgentState {
                uid: account.and_then(|account| groups::user_id(root, &account)),
                name: agent.name.clone(),
                tools: tools.collect(),
                wanted: state.wanted.contains(&agent.name) || undescribed(&state, agent),
                problem: files.as_ref().err().map(ToolError::advice),
                files_sha256: files.ok(),
                declared: Box::new(agent.clone()),
                failure: state.failures.get(&agent.name).cloned(),
            }
        });
        AgentsNow { revision, agents: agents.collect() }
    }

    /// The tools that are not accepted, as far as the files of their programs were looked at.
    pub(crate) fn off(&self) -> Vec<(String, ToolState)> {
        let state = self.state();
        let tools = self.declared.iter().flat_map(|agent| agent.tools.keys().map(move |tool| (agent, tool)));
        let judged = tools.filter_map(|(agent, tool)| {
            let files = &state.files.get(&agent.name)?.hash;
            let (judged, _) = self.judge(&state, agent, tool, Some(files));
            Some((format!("{}.{tool}", agent.name), judged))
        });
        judged.filter(|(_, judged)| *judged != ToolState::Accepted).collect()
    }

    /// A running agent describes a tool.
    ///
    /// # Errors
    /// `invalid_argument` for a descriptor that is too large or of a tool that is not declared.
    pub(crate) fn offer(&self, agent: &AgentType, descriptor: Value) -> Result<(), ToolError> {
        let name = descriptor["name"].as_str().unwrap_or_default().to_owned();
        if !agent.tools.contains_key(&name) || agent.kind == AgentKind::Command {
            return Err(ToolError::invalid(format!("{} has no tool of that name to describe", agent.name)));
        }
        if descriptor.to_string().len() > DESCRIPTOR_BYTES {
            return Err(ToolError::invalid(format!("{}.{name} describes itself in more than 8 KiB", agent.name)));
        }
        let mut state = self.state();
        let offered = state.offered.entry(agent.name.clone()).or_default();
        let is_other = offered.get(&name) != Some(&descriptor);
        if is_other {
            offered.insert(name.clone(), descriptor);
        }
        state.failures.remove(&agent.name);
        // One that was accepted by a release which kept none, or on the card of a backup.
        let kept = state.described.get(&agent.name).is_some_and(|tools| tools.contains_key(&name));
        let files = state.files.get(&agent.name).map(|files| files.hash.clone());
        if !kept && self.judge(&state, agent, &name, files.as_deref()).0 == ToolState::Accepted {
            self.describe(&mut state, agent)?;
        }
        drop(state);
        if is_other {
            self.told();
        }
        Ok(())
    }

    /// Keeps what the accepted tools of this agent say about themselves.
    fn describe(&self, state: &mut State, agent: &AgentType) -> Result<(), ToolError> {
        let mut described = state.described.clone();
        described.remove(&agent.name);
        if let (Some(accepted), Some(offered)) = (state.accepted.get(&agent.name), state.offered.get(&agent.name)) {
            let files = state.files.get(&agent.name).map(|files| files.hash.as_str());
            let is_accepted = |tool: &&String| self.judge(state, agent, tool, files).0 == ToolState::Accepted;
            let tools =
                accepted.keys().filter(is_accepted).filter_map(|tool| Some((tool.clone(), offered.get(tool)?.clone())));
            let tools: BTreeMap<_, _> = tools.collect();
            if !tools.is_empty() {
                described.insert(agent.name.clone(), tools);
            }
        }
        if described != state.described {
            described::write(&self.described, &described)?;
            state.described = described;
        }
        Ok(())
    }

    /// A person wants to see what this agent says of its tools, so it has to be started.
    pub(crate) fn want(&self, agent: &AgentType) {
        if agent.kind == AgentKind::Command {
            return;
        }
        let mut state = self.state();
        state.failures.remove(&agent.name);
        state.wanted.insert(agent.name.clone());
        drop(state);
        self.told();
    }

    /// It could not be started: whoever wants to see its tools is told why, and it is not started for that again.
    pub(crate) fn failed(&self, agent: &AgentType, failure: AgentFailure) {
        let mut state = self.state();
        state.wanted.remove(&agent.name);
        state.failures.insert(agent.name.clone(), failure.cut());
        drop(state);
        self.told();
    }

    /// Keeps the hashes as accepted: those that were shown, and no longer what was accepted before. None revokes all.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written: then nothing has changed.
    pub(crate) fn accept(&self, agent: &AgentType, hashes: BTreeMap<String, String>) -> Result<(), ToolError> {
        let mut state = self.state();
        let mut accepted = state.accepted.clone();
        state.wanted.remove(&agent.name);
        if hashes.is_empty() {
            accepted.remove(&agent.name)
        } else {
            accepted.insert(agent.name.clone(), hashes)
        };
        let text = serde_json::to_vec_pretty(&accepted).map_err(|error| ToolError::internal(error.to_string()))?;
        replace(&self.path, &text)?;
        state.accepted = accepted;
        // Accepted it is; without the file the agent describes itself again after a restart.
        let kept = match agent.kind {
            AgentKind::Command => Ok(()),
            AgentKind::Mcp | AgentKind::Dbus => self.describe(&mut state, agent),
        };
        if let Err(error) = kept {
            tracing::warn!(target: "agent", agent = agent.name, %error, "what its tools say is not kept");
        }
        drop(state);
        self.told();
        Ok(())
    }

    fn told(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}

/// Whether one of its accepted tools has not described itself, so that it has to be started once.
fn undescribed(state: &State, agent: &AgentType) -> bool {
    let Some(accepted) = state.accepted.get(&agent.name).filter(|_| agent.kind != AgentKind::Command) else {
        return false;
    };
    if state.failures.contains_key(&agent.name) {
        return false;
    }
    let offered = state.offered.get(&agent.name);
    let declared = accepted.keys().filter(|tool| agent.tools.contains_key(*tool));
    declared.into_iter().any(|tool| offered.is_none_or(|offered| !offered.contains_key(tool)))
}

fn not_accepted(agent: &AgentType, tool: &str, state: ToolState) -> ToolError {
    let (name, why) = (
        &agent.name,
        match state {
            ToolState::Changed => "has changed since it was accepted",
            ToolState::Unknown => "has not described itself yet",
            _ => "is not accepted yet",
        },
    );
    ToolError::precondition(format!("{name}.{tool} {why}, so it is off"))
        .with("agent", name.as_str())
        .with("state", state.word())
        .hint(format!("look at it and accept it, as root on the device: raspi-mcp agents accept {name}"))
}
