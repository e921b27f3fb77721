//! `raspi-mcp approve`: a person looks at what a caller wants to do, and says yes or no.
//!
//! Only on a terminal: a program that pipes "y" into it is not a person.

use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::{
    access::audit::rfc3339,
    agent::{AgentLink, Ask, AskState, Client, system_clock},
    error::{ErrorCode, ToolError},
    registry::Registry,
};
use std::{
    io::{self, BufRead, IsTerminal, Write},
    time::Duration,
};

#[derive(clap::Args, Default)]
pub struct Args {
    /// The ask to answer, as the server named it; without it, each that waits is shown in turn
    pub id: Option<String>,
    /// Say no, without a question
    #[arg(long, requires = "id")]
    pub deny: bool,
    /// Only show what waits
    #[arg(long, conflicts_with_all = ["id", "deny"])]
    pub list: bool,
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
    let settings = sources.settings(&Registry::standard(), Vec::new())?;
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    let agent = AgentLink::Socket(Client::new(&socket));
    let runtime = super::runtime()?;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    runtime.block_on(converse(&agent, args, &mut input, &mut output))
}

/// Shows asks and takes answers.
///
/// # Errors
/// When no agent answers, or one refuses.
pub async fn converse(
    agent: &AgentLink,
    args: &Args,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let waiting = agent.list_asks().await?;
    let chosen = match &args.id {
        None => waiting,
        Some(id) => vec![find(agent, waiting, id).await?],
    };
    if chosen.is_empty() {
        return say(output, "nothing waits for an approval\n");
    }
    for ask in chosen {
        show(output, &ask)?;
        if args.list {
            continue;
        }
        let Some(approve) = (if args.deny { Some(false) } else { question(input, output)? }) else {
            say(output, "left as it is\n\n")?;
            continue;
        };
        let ask = agent.answer(&ask.id, approve).await?;
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
    let wanted = crate::agent::asks::normal_id(id);
    if let Some(found) = waiting.into_iter().find(|ask| ask.id == wanted) {
        return Ok(found);
    }
    // Not waiting any more: say what became of it.
    let ask = match agent.ask_state(&wanted, Duration::ZERO).await {
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

/// Everything a person needs to decide, and nothing that could move their cursor.
fn show(output: &mut dyn Write, ask: &Ask) -> Result<(), Failure> {
    let request = &ask.request;
    let left = (ask.expires_ms - system_clock()()).max(0) / 1000;
    let mut text = format!(
        "ask {}\n  tool      {}\n  caller    {}\n  what      {}\n",
        ask.id,
        printable(&request.tool),
        printable(&request.principal),
        printable(&request.summary),
    );
    match request.args.as_object().filter(|args| !args.is_empty()) {
        None => text.push_str("  arguments none\n"),
        Some(args) => {
            text.push_str("  arguments\n");
            for (name, value) in args {
                text.push_str(&format!("    {} = {}\n", printable(name), printable(&value.to_string())));
            }
        }
    }
    text.push_str(&format!("  expires   in {left} s\n"));
    say(output, &text)
}

/// Yes, no, or neither.
fn question(input: &mut dyn BufRead, output: &mut dyn Write) -> Result<Option<bool>, Failure> {
    say(output, "approve this call, once? [y = yes, n = no, Enter = decide later] ")?;
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| Failure::new(Exit::Failed, format!("no answer came: {error}")))?;
    Ok(match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    })
}

/// `text` with everything that a terminal would obey, or a reader not see, spelled out. Callers choose these texts.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            // Marks that reorder or hide what stands around them (Unicode, bidirectional and zero-width controls).
            '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{061C}' => {
                c.escape_unicode().to_string()
            }
            c if c.is_control() => c.escape_unicode().to_string(),
            c => c.to_string(),
        })
        .collect()
}

fn say(output: &mut dyn Write, text: &str) -> Result<(), Failure> {
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the terminal: {error}")))
}
