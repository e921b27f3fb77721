//! `raspi-mcp approve`: shows a person what a caller wants to do and asks for approval.
//!
//! Only on a terminal: a program that pipes "y" into it is not a person.

mod keyboard;
mod remote;

pub use keyboard::{Keyboard, Terminal};

use super::{
    exit::{Exit, Failure},
    order::Device,
    sources,
};
use crate::{registry::Registry, terminal::printable};
use agent::{AgentLink, Ask, AskState, Client, operations::asks, system_clock};
use base::error::{ErrorCode, ToolError};
use contract::{access::question, audit::rfc3339};
use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

#[derive(clap::Args, Default)]
pub struct Args {
    /// The ID of the approval request; without it, all pending requests are shown in turn
    pub id: Option<String>,
    /// Deny the request without asking
    #[arg(long, requires = "id")]
    pub deny: bool,
    /// List the pending requests and exit
    #[arg(long, conflicts_with_all = ["id", "deny"])]
    pub list: bool,
    #[command(flatten)]
    pub remote: Device,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !args.list && !terminal {
        return Err(Failure::new(
            Exit::Refused,
            "approvals are given by a person, on a terminal\n  run `raspi-mcp approve` in one; `raspi-mcp approve --list` \
             works anywhere",
        ));
    }
    if let Some(device) = args.remote.reached()? {
        let mut output = io::stdout().lock();
        return super::runtime()?.block_on(remote::converse(&device, args, &mut keyboard::Terminal, &mut output));
    }
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    let agent = AgentLink::Socket(Client::new(&socket));
    let runtime = super::runtime()?;
    let mut output = io::stdout().lock();
    runtime.block_on(converse(&agent, args, &mut keyboard::Terminal, &mut output))
}

/// Shows asks and reads the answers.
///
/// # Errors
/// If the agent does not answer or refuses.
pub async fn converse(
    agent: &AgentLink,
    args: &Args,
    input: &mut dyn Keyboard,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let waiting = agent.get::<asks::ListAsks>().await?;
    let chosen = match &args.id {
        None => waiting,
        Some(id) => vec![find(agent, waiting, id).await?],
    };
    if chosen.is_empty() {
        return say(output, "nothing waits for an approval\n");
    }
    for ask in chosen {
        show(output, &ask, input.columns())?;
        if args.list {
            continue;
        }
        let Some(approve) =
            (if args.deny { Some(false) } else { question(&ask.id, &ask.request.tool, input, output)? })
        else {
            say(output, "left as it is\n\n")?;
            continue;
        };
        let ask = agent.call::<asks::AnswerAsk>(asks::AnswerRequest { id: ask.id, approve }).await?;
        let text = if approve {
            format!("approved: good for one such call until {}\n\n", rfc3339(ask.expires_ms))
        } else {
            "denied\n\n".to_owned()
        };
        say(output, &text)?;
    }
    Ok(())
}

async fn find(agent: &AgentLink, waiting: Vec<Ask>, id: &str) -> Result<Ask, Failure> {
    let wanted = agent::asks::normal_id(id);
    if let Some(found) = waiting.into_iter().find(|ask| ask.id == wanted) {
        return Ok(found);
    }
    // No longer waiting: fetch the result.
    let ask = match agent.call::<asks::AwaitAsk>(asks::AwaitRequest::new(&wanted, Duration::ZERO)).await {
        Ok(ask) => ask,
        Err(error) if error.code == ErrorCode::NotFound => {
            return Err(ToolError::not_found(format!("there is no ask {}", printable(id)))
                .hint("`raspi-mcp approve --list` shows those that wait")
                .into());
        }
        Err(error) => return Err(error.into()),
    };
    let state = match ask.state {
        AskState::Pending => "waits",
        AskState::Approved => "was approved already",
        AskState::Denied => "was denied already",
        AskState::Withdrawn => "was withdrawn by its caller",
        AskState::Expired => "has expired",
        AskState::Consumed => "was approved and used",
    };
    Err(Failure::new(Exit::Failed, format!("ask {wanted} {state}")))
}

/// Shows everything needed for a decision; terminal control characters are escaped.
fn show(output: &mut dyn Write, ask: &Ask, columns: usize) -> Result<(), Failure> {
    let left = (ask.expires_ms - system_clock()()).max(0) / 1000;
    let lines = question::lines(&ask.request, columns);
    say(output, &format!("ask {}\n{lines}  expires   in {left} s\n", ask.id))
}

/// Asks for yes, no, or neither. Repeats the ask's id: its arguments may fill many screens.
fn question(id: &str, tool: &str, input: &mut dyn Keyboard, output: &mut dyn Write) -> Result<Option<bool>, Failure> {
    let tool = question::quoted(tool);
    say(output, &format!("approve ask {id}, {tool}, once? [y = yes, n = no, Enter = decide later] "))?;
    let failed = |error: io::Error| Failure::new(Exit::Failed, format!("no answer came: {error}"));
    // Discard input typed before the question was shown.
    input.forget().map_err(failed)?;
    let line = input.line().map_err(failed)?;
    Ok(match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    })
}

fn say(output: &mut dyn Write, text: &str) -> Result<(), Failure> {
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the terminal: {error}")))
}
