//! `raspi-mcp agents`: which tools of agents are accepted, and the owner's word on them (docs/agents.md).

use super::{
    approve::{Keyboard, Terminal},
    exit::{Exit, Failure},
    sources,
};
use crate::{registry::Registry, terminal::printable};
use agent::{
    AgentLink, AgentState, Client, ToolState,
    operations::agents::{AcceptAgent, AcceptRequest, FollowAgents, FollowRequest},
};
use base::error::ToolError;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    time::Duration,
};

/// How long an agent that has to be started first may take to describe its tools.
const DESCRIBES: Duration = Duration::from_secs(20);

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
    let (agent, mut output) = (AgentLink::Socket(Client::new(&socket)), io::stdout().lock());
    super::runtime()?.block_on(perform(&agent, args.what, &mut Terminal, &mut output))
}

/// Does what `what` says.
///
/// # Errors
/// If the agent does not answer or refuses, there is no such type, or the answer is no.
pub async fn perform(
    agent: &AgentLink,
    what: What,
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
            say(&shown(&state))?;
            let hash = |tool: &agent::OfferedTool| Some((tool.name.clone(), tool.sha256.clone()?));
            let tools: BTreeMap<String, String> = state.tools.iter().filter_map(hash).collect();
            if tools.is_empty() {
                let why = state.problem.unwrap_or_else(|| "it has not described any of its tools".into());
                return Err(Failure::new(Exit::Failed, format!("{name}: {why}")));
            }
            say(&format!("\nAccept these {} tools as they are? Type yes: ", tools.len()))?;
            let failed = |error: io::Error| Failure::new(Exit::Failed, format!("cannot read the answer: {error}"));
            keyboard.forget().map_err(failed)?;
            if keyboard.line().map_err(failed)?.trim() != "yes" {
                return Err(Failure::new(Exit::Refused, "nothing was accepted"));
            }
            agent.call::<AcceptAgent>(AcceptRequest { agent: name.clone(), tools: Some(tools) }).await?;
            say(&format!("accepted; the tools of {} are on\n", printable(&name)))
        }
    }
}

/// What is known of this type; an agent that has to describe its tools is started first.
async fn described(agent: &AgentLink, name: &str) -> Result<AgentState, ToolError> {
    agent.call::<AcceptAgent>(AcceptRequest { agent: name.to_owned(), tools: None }).await?;
    let (mut known, began) = (0, std::time::Instant::now());
    loop {
        let left = DESCRIBES.saturating_sub(began.elapsed());
        let wait_ms = if known == 0 { 0 } else { u64::try_from(left.as_millis()).unwrap_or_default() };
        let now = agent.call::<FollowAgents>(FollowRequest { known, wait_ms }).await?;
        known = now.revision;
        let found = now.agents.into_iter().find(|state| state.name == name);
        let state = found.ok_or_else(|| ToolError::not_found(format!("there is no agent {name}")))?;
        let is_known = |tool: &agent::OfferedTool| tool.state != ToolState::Unknown;
        if state.tools.iter().all(is_known) || state.problem.is_some() || left.is_zero() {
            return Ok(state);
        }
    }
}

fn listed(state: &AgentState) -> String {
    let mut text = format!("{}\n", state.name);
    for tool in &state.tools {
        let _ = writeln!(text, "  {}.{}  {}", state.name, tool.name, tool.state.word());
    }
    if let Some(problem) = &state.problem {
        let _ = writeln!(text, "  {}", printable(problem));
    }
    text
}

/// Everything that is accepted, with control characters escaped.
fn shown(state: &AgentState) -> String {
    let mut text = String::new();
    for tool in &state.tools {
        let _ = writeln!(text, "{}.{}  {}", state.name, tool.name, tool.state.word());
        let Some(descriptor) = &tool.descriptor else { continue };
        for field in ["title", "description", "inputSchema", "outputSchema", "annotations"] {
            match &descriptor[field] {
                serde_json::Value::Null => {}
                serde_json::Value::String(words) => drop(writeln!(text, "  {field}: {}", printable(words))),
                other => drop(writeln!(text, "  {field}: {}", printable(&other.to_string()))),
            }
        }
    }
    text
}
