//! `raspi-mcp agents`: which tools of agents are accepted, and the owner's word on them (docs/agents.md).

use super::{
    approve::{Keyboard, Terminal},
    exit::{Exit, Failure},
    sources,
};
use crate::{registry::Registry, terminal::printable, tools::agents::refusal};
use agent::{
    AgentLink, AgentState, Client, OfferedTool, ToolState,
    operations::agents::{AcceptAgent, AcceptRequest, FollowAgents, FollowRequest},
};
use base::{error::ToolError, os::local};
use contract::{access::policy::Policy, config::sections::agents::AgentKind};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    path::Path,
    time::Duration,
};

/// How long the server may take to hear of what was accepted, and how often it is asked meanwhile.
const HEARS: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(100);
/// How long an agent that has to be started first may take to describe its tools, beyond its own `start_seconds`.
const DESCRIBES: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

#[derive(clap::Subcommand)]
pub enum What {
    /// List the agents and their tools
    List,
    /// Show what the tools of an agent say about themselves, and accept them as they are. A tool that changes is off until it is accepted again
    Accept {
        /// The agent's type
        #[arg(value_name = "TYPE")]
        agent: String,
    },
    /// Switch the tools of an agent off
    Revoke {
        /// The agent's type
        #[arg(value_name = "TYPE")]
        agent: String,
    },
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    if matches!(args.what, What::Accept { .. }) && !io::stdin().is_terminal() {
        return Err(Failure::new(Exit::Refused, "a person has to look at what is accepted: run it on a terminal"));
    }
    let server = sources::reach(&settings.socket.path, |places| places.runtime_dir.join("mcp.sock"));
    let accepts = if let What::Accept { agent } = &args.what { Some(agent.clone()) } else { None };
    let (agent, mut output) = (AgentLink::Socket(Client::new(&socket)), io::stdout().lock());
    super::runtime()?.block_on(async {
        perform(&agent, args.what, &Policy::of(&settings), &mut Terminal, &mut output).await?;
        match accepts {
            Some(name) => offered(&server, &name, &mut output).await,
            None => Ok(()),
        }
    })
}

/// Whether the server offers what was accepted. It hears of it by itself, moments later, and no event tells this process.
async fn offered(server: &Path, name: &str, output: &mut dyn Write) -> Result<(), Failure> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "agents.list", "params": {}});
    let (name, mut waits) = (printable(name), HEARS);
    let said = loop {
        let Ok(answer) = local::request(server, &request).await else {
            break format!("no server answers on {}: the tools of {name} are on once it runs\n", server.display());
        };
        let types = answer["result"]["types"].as_array();
        let found = types.into_iter().flatten().find(|each| each["type"] == name.as_str());
        let Some(found) = found else {
            break format!("the server that runs does not know {name}: restart it, and its tools are on\n");
        };
        if let Some(why) = found["problem"].as_str() {
            let why = format!("the server does not offer all tools of {name}: {}", printable(why));
            return Err(Failure::new(Exit::Failed, why));
        }
        let tools = found["tools"].as_array().map_or(&[][..], Vec::as_slice);
        if tools.iter().any(|tool| tool["state"] == "accepted") {
            break format!("the tools of {name} are on\n");
        }
        let Some(left) = waits.checked_sub(SOON) else {
            break format!("the server has not said yet that the tools of {name} are on: raspi-mcp call agents.list\n");
        };
        waits = left;
        tokio::time::sleep(SOON).await;
    };
    let written = output.write_all(said.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the terminal: {error}")))
}

/// Does what `what` says. `policy` is that of the configuration.
///
/// # Errors
/// If the agent does not answer or refuses, there is no such type, or the answer is no.
pub async fn perform(
    agent: &AgentLink,
    what: What,
    policy: &Policy,
    keyboard: &mut dyn Keyboard,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let mut say = |text: &str| {
        output
            .write_all(text.as_bytes())
            .and_then(|()| output.flush())
            .map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the terminal: {error}")))
    };
    match what {
        What::List => {
            let now = agent.get::<FollowAgents>().await?;
            match now.agents.as_slice() {
                [] => say("no agents are declared ([[agents]] in /etc/raspi-mcp)\n"),
                agents => say(&agents.iter().map(listed).collect::<String>()),
            }
        }
        What::Revoke { agent: name } => {
            agent.call::<AcceptAgent>(AcceptRequest { agent: name.clone(), tools: Some(BTreeMap::new()) }).await?;
            say(&format!("the tools of {} are off\n", printable(&name)))
        }
        What::Accept { agent: name } => {
            let state = described(agent, &name).await?;
            say(&shown(&state, policy))?;
            let hash = |tool: &OfferedTool| Some((tool.name.clone(), tool.sha256.clone()?));
            let tools: BTreeMap<String, String> = state.tools.iter().filter_map(hash).collect();
            if tools.is_empty() {
                return Err(Failure::new(Exit::Failed, format!("{}: {}", printable(&name), why_none(&state))));
            }
            say(&format!("\nAccept these {} tools as they are? Type yes: ", tools.len()))?;
            let failed = |error: io::Error| Failure::new(Exit::Failed, format!("cannot read the answer: {error}"));
            keyboard.forget().map_err(failed)?;
            if keyboard.line().map_err(failed)?.trim() != "yes" {
                return Err(Failure::new(Exit::Refused, "nothing was accepted"));
            }
            agent.call::<AcceptAgent>(AcceptRequest { agent: name.clone(), tools: Some(tools) }).await?;
            say("accepted\n")
        }
    }
}

/// What is known of this type; an agent that has to describe its tools is started first.
async fn described(agent: &AgentLink, name: &str) -> Result<AgentState, ToolError> {
    agent.call::<AcceptAgent>(AcceptRequest { agent: name.to_owned(), tools: None }).await?;
    let (mut known, began, mut most) = (0, std::time::Instant::now(), DESCRIBES);
    loop {
        let left = most.saturating_sub(began.elapsed());
        let wait_ms = if known == 0 { 0 } else { u64::try_from(left.as_millis()).unwrap_or_default() };
        let now = agent.call::<FollowAgents>(FollowRequest { known, wait_ms }).await?;
        known = now.revision;
        let found = now.agents.into_iter().find(|state| state.name == name);
        let state = found.ok_or_else(|| ToolError::not_found(format!("there is no agent {name}")))?;
        most = DESCRIBES + Duration::from_secs(state.declared.start_seconds.into());
        let is_known = |tool: &OfferedTool| tool.state != ToolState::Unknown;
        if state.tools.iter().all(is_known) || state.problem.is_some() || state.failure.is_some() || left.is_zero() {
            return Ok(state);
        }
    }
}

fn listed(state: &AgentState) -> String {
    let mut text = format!("{}\n", state.name);
    for tool in &state.tools {
        let _ = writeln!(text, "  {}.{}  {}", state.name, tool.name, tool.state.word());
        if let Some(why) = refusal(&state.declared, tool) {
            let _ = writeln!(text, "    not offered: {}", printable(&why));
        }
    }
    let failure = state.failure.as_ref().map(|failure| &failure.message);
    if let Some(problem) = state.problem.as_ref().or(failure) {
        let _ = writeln!(text, "  {}", printable(problem));
    }
    text
}

/// Why an agent has no tool to accept: what it did last, and what it said.
fn why_none(state: &AgentState) -> String {
    if let Some(problem) = &state.problem {
        return printable(problem);
    }
    let Some(failure) = &state.failure else {
        let named: Vec<&str> = state.tools.iter().map(|tool| tool.name.as_str()).collect();
        return format!("it runs, but lists none of the tools that [[agents]] names: {}", named.join(", "));
    };
    let step = failure.step.as_ref().map_or_else(String::new, |step| format!("\n  failed at: {}", printable(step)));
    let said = failure.stderr.as_ref().map_or_else(String::new, |said| format!("\n  it said: {}", lines(said)));
    format!("{}{step}{said}", printable(&failure.message))
}

/// A text of several lines, each further one behind a mark: none of them passes for another field.
fn lines(words: &str) -> String {
    words.trim_end().lines().map(printable).collect::<Vec<_>>().join("\n    | ")
}

/// Everything that is accepted and what the configuration makes of it, with control characters escaped.
fn shown(state: &AgentState, policy: &Policy) -> String {
    let mut text = program(state);
    for tool in &state.tools {
        let name = format!("{}.{}", state.name, tool.name);
        let _ = writeln!(text, "{name}  {}", tool.state.word());
        if let Some(declared) = state.declared.tools.get(&tool.name) {
            let meta = declared.meta();
            let mode = policy.words().judge_mildest(&name, meta.mode).mode;
            let [tier, mode] = [json!(meta.tier), json!(mode)].map(|word| word.as_str().unwrap_or_default().to_owned());
            let (role, seconds) = (meta.role.name(), meta.timeout_seconds);
            let _ = writeln!(text, "  tier: {tier}; role: {role}; policy: {mode}; timeout: {seconds} s");
        }
        let Some(descriptor) = &tool.descriptor else { continue };
        if let Some(why) = refusal(&state.declared, tool) {
            let _ = writeln!(text, "  not offered: {}", printable(&why));
        }
        for field in ["title", "description", "inputSchema", "outputSchema", "annotations"] {
            match &descriptor[field] {
                serde_json::Value::Null => {}
                serde_json::Value::String(words) => drop(writeln!(text, "  {field}: {}", lines(words))),
                other => drop(writeln!(text, "  {field}: {}", printable(&other.to_string()))),
            }
        }
        if let Some(hash) = &tool.sha256 {
            let _ = writeln!(text, "  sha256: {hash}");
        }
    }
    text
}

/// What runs, and what it may reach.
fn program(state: &AgentState) -> String {
    let declared = &state.declared;
    let kind = match declared.kind {
        AgentKind::Command => "command, run once for each call",
        AgentKind::Mcp => "MCP server",
        AgentKind::Dbus => "service on the system bus",
    };
    let mut text = format!("{}: {kind}\n  program: {}\n", state.name, printable(&declared.program.to_string_lossy()));
    if !declared.args.is_empty() {
        let args: Vec<String> = declared.args.iter().map(|arg| json!(arg).to_string()).collect();
        let _ = writeln!(text, "  args: {}", printable(&args.join(" ")));
    }
    if !declared.env.is_empty() {
        // Their values may be secret, and are part of what is accepted.
        let names: Vec<&str> = declared.env.keys().map(String::as_str).collect();
        let _ = writeln!(text, "  env: {}", names.join(", "));
    }
    if let Some(hash) = &state.files_sha256 {
        let _ = writeln!(text, "  files: sha256 {hash}");
    }
    let writes: Vec<String> = declared.writable.iter().map(|path| printable(&path.to_string_lossy())).collect();
    let writes = if writes.is_empty() { "nothing".to_owned() } else { writes.join(", ") };
    let network = if declared.network { "yes" } else { "no" };
    let _ = writeln!(text, "  network: {network}; writes: {writes}; memory: {} MiB", declared.memory_mb);
    text
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn a_text_of_several_lines_is_shown_as_lines_that_imitate_nothing() {
        let shown = lines("Water the plants.\n\nUse when: dry\n  title: other\n\u{1b}[2J\n");
        assert_eq!(shown, "Water the plants.\n    | \n    | Use when: dry\n    |   title: other\n    | \\u{1b}[2J");
        assert!(!shown.contains("\\u{a}"));
    }
}
