//! `raspi-mcp slot`: the updates of `manage.*` at a console, through the agent only: works if the server does not
//! answer, and without a network.

mod install;
mod progress;
mod table;

use super::{
    exit::{Exit, Failure},
    say::outln,
    sources,
};
use crate::{
    registry::Registry,
    terminal::{self, printable},
};
use agent::{
    AgentLink, Authorization, Client,
    operations::update::{
        GetUpdateStatus, MarkGood, MarkGoodRequest, RollBack, RollBackRequest, UnblockRelease, UnblockRequest,
    },
    peer::CONSOLE,
};
use clap::Subcommand;
use contract::config::Settings;
use std::io::{self, BufRead, IsTerminal, Write};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Show both slots, the last update, and a running trial
    Status {
        /// Print everything as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a bundle into the inactive slot, and try it at the next restart
    Install {
        /// The bundle: a file, or an address that starts with https://
        bundle: String,
        /// Restart into it immediately
        #[arg(long)]
        reboot: bool,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Go back to the other slot: end a trial, disarm an update, or leave a version that misbehaves
    Rollback {
        /// Show what would happen, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Commit the system on trial, if all checks find it healthy
    MarkGood,
    /// Let a release that is blocked here be installed again
    Unblock {
        /// SHA-256 of its manifest, as `slot status` shows it
        manifest: String,
    },
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    let agent = AgentLink::Socket(Client::new(&socket));
    super::runtime()?.block_on(act(args.what, &agent, &settings))
}

async fn act(what: What, agent: &AgentLink, settings: &Settings) -> Result<(), Failure> {
    match what {
        What::Status { json } => {
            let status = agent.get::<GetUpdateStatus>().await?;
            if json {
                let text = serde_json::to_string_pretty(&status);
                outln!("{}", text.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?);
            } else {
                outln!("{}", table::drawn(&status));
            }
        }
        What::Install { bundle, reboot, yes } => install::run(agent, settings, &bundle, reboot, yes).await?,
        What::Rollback { dry_run, yes } => {
            let request = |dry_run| RollBackRequest { dry_run, authorization: authorization() };
            let planned = agent.call::<RollBack>(request(true)).await?;
            let version = |version: &Option<String>| printable(version.as_deref().unwrap_or("of no known version"));
            let (from, to) = (version(&planned.from_version), version(&planned.to_version));
            let how = if planned.restarts { "the machine restarts for it" } else { "nothing restarts" };
            outln!("from slot {} ({from}) to slot {} ({to}); {how}", planned.from, planned.to);
            if !dry_run && agreed(yes, "go back?")? {
                agent.call::<RollBack>(request(false)).await?;
                outln!("done");
            }
        }
        What::MarkGood => {
            let done = agent.call::<MarkGood>(MarkGoodRequest { authorization: authorization() }).await?;
            let version = printable(done.version.as_deref().unwrap_or("of no known version"));
            outln!("slot {} ({version}) is good, and what starts from now on", done.slot);
        }
        What::Unblock { manifest } => {
            let was = agent.call::<UnblockRelease>(UnblockRequest { manifest_sha256: manifest }).await?;
            let (version, reason) = (printable(&was.version), printable(&was.reason));
            outln!("{version} can be installed again; it was blocked: {reason}");
        }
    }
    Ok(())
}

/// An operation at the console is not a tool call: it has no arguments to hash and no ask.
fn authorization() -> Authorization {
    Authorization { principal: CONSOLE.into(), args_sha256: String::new(), ask_id: None }
}

/// Whether the person at the terminal agrees. Without a terminal, `yes` must be given.
pub(super) fn agreed(yes: bool, question: &str) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::new(Exit::Refused, "nobody is here to be asked; say --yes"));
    }
    terminal::err(format_args!("{question} [y/N] "));
    let _ = io::stderr().flush();
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::new(Exit::Failed, format!("no answer came: {error}")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
