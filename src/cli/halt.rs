//! `raspi-mcp halt`: halts the machine, lifts the halt, or says whether it is halted (docs/halt.md).

use super::{
    exit::{Exit, Failure},
    order::{self, Device},
    sources,
};
use crate::{registry::Registry, terminal::printable};
use agent::{
    AgentLink, Client,
    operations::halt::{FollowHalt, HaltRequest, LiftHalt, SetHalt},
};
use base::error::{ErrorCode, ToolError};
use contract::{audit::rfc3339, halt::check_reason};
use serde_json::json;
use std::io::{self, Write};

#[derive(clap::Args, Default)]
pub struct Args {
    /// Why, in one line of at most 200 characters; everybody whose call is refused is told
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Lift the halt
    #[arg(long, conflicts_with = "reason")]
    pub lift: bool,
    /// Say whether the machine is halted, by whom and why, and change nothing
    #[arg(long, conflicts_with_all = ["reason", "lift"])]
    pub status: bool,
    #[command(flatten)]
    pub device: Device,
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    if args.device.url.is_some() {
        if !args.lift {
            let why = "with --url it only lifts a halt: raspi-mcp halt --lift --url ...\n  an admin halts with the tool manage.halt";
            return Err(Failure::new(Exit::Usage, why));
        }
        return order::send(&args.device, "lift_halt", &json!({}));
    }
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    let agent = AgentLink::Socket(Client::new(&socket));
    let mut output = io::stdout().lock();
    super::runtime()?.block_on(perform(&agent, args, &mut output))
}

/// Does what `args` say.
///
/// # Errors
/// If the agent does not answer or refuses, with what to do.
pub async fn perform(agent: &AgentLink, args: Args, output: &mut dyn Write) -> Result<(), Failure> {
    let text = if args.status {
        status(agent).await
    } else if args.lift {
        lift(agent).await
    } else {
        set(agent, args.reason).await
    };
    let text = text.map_err(advised)?;
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write to the terminal: {error}")))
}

async fn set(agent: &AgentLink, reason: Option<String>) -> Result<String, ToolError> {
    reason.as_deref().map_or(Ok(()), check_reason)?;
    let done = agent.call::<SetHalt>(HaltRequest { reason, authorization: None }).await?;
    let story = printable(&done.halted.story());
    let denied = match done.denied {
        0 => String::new(),
        1 => "1 request for an approval was denied\n".to_owned(),
        many => format!("{many} requests for an approval were denied\n"),
    };
    let halted = if done.already {
        format!("already halted {story}; that halt stands as it is\n")
    } else {
        format!("halted {story}\nevery change is refused until: raspi-mcp halt --lift\n")
    };
    Ok(halted + &denied)
}

async fn lift(agent: &AgentLink) -> Result<String, ToolError> {
    let done = agent.get::<LiftHalt>().await?;
    Ok(format!("{}\n", done.text()))
}

async fn status(agent: &AgentLink) -> Result<String, ToolError> {
    let state = agent.get::<FollowHalt>().await?;
    let last = state.lifted.map(|lifted| {
        let by = printable(&lifted.by);
        format!("the last halt was lifted by {by} at {} ({})\n", rfc3339(lifted.at_ms), printable(&lifted.how))
    });
    let now = match &state.halted {
        Some(halted) => format!("halted {}\n", printable(&halted.story())),
        None => "not halted\n".to_owned(),
    };
    Ok(now + &last.unwrap_or_default())
}

/// What else somebody without the right can do.
fn advised(error: ToolError) -> Failure {
    if error.code != ErrorCode::PermissionDenied {
        return error.into();
    }
    let hint = "run it as root (sudo raspi-mcp halt) or as a member of the approver group. An admin can halt with the tool \
                manage.halt, anybody at the machine by holding the approval button for ten seconds; only root and approvers \
                lift it";
    error.hint(hint).into()
}
