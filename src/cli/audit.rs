//! `raspi-mcp audit`: is the record of calls whole, and what is in it.

use super::say::{out, outln};
use super::{
    approve::printable,
    exit::{Exit, Failure},
    sources,
};
use crate::{
    access::audit::{self, Filter, KnownHeads, Report},
    agent::{AgentLink, Client, heads},
    config::Settings,
    error::ErrorCode,
    registry::Registry,
};
use serde_json::Value;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Check every record against the chain of hashes, and the chain against what the agent saw
    Verify {
        /// A store other than this machine's
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// For programs: the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the newest records
    Show {
        /// How many
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Only calls of this tool
        #[arg(long)]
        tool: Option<String>,
        /// Only calls by this caller
        #[arg(long)]
        principal: Option<String>,
        /// Only calls that ended so: ok, or an error code
        #[arg(long)]
        outcome: Option<String>,
        /// A store other than this machine's
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// For programs: one record a line
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let settings = sources.settings(&Registry::standard(), Vec::new())?;
    let store = settings.places.state_dir.join("store.db");
    match args.command {
        Command::Verify { file, json } => verify(&settings, file.unwrap_or(store), json),
        Command::Show { limit, tool, principal, outcome, file, json } => {
            let filter = Filter { tool, principal, outcome, ..Filter::default() };
            show(file.unwrap_or(store), &filter, limit, json)
        }
    }
}

fn verify(settings: &Settings, file: PathBuf, json: bool) -> Result<(), Failure> {
    let heads = known_heads(settings)?;
    let report = audit::verify_file(&file, heads.as_ref()).map_err(|error| unreadable(&file, &error))?;
    if json {
        let mut value = serde_json::to_value(&report).unwrap_or_default();
        value["agent_heads_known"] = heads.is_some().into();
        outln!("{value:#}");
    } else {
        out!("{}", told(&report, heads.is_some()));
    }
    match report.ok {
        true => Ok(()),
        // Said already.
        false => Err(Failure::new(Exit::Failed, "")),
    }
}

/// From the agent; from its file where it does not answer and this user may read it.
fn known_heads(settings: &Settings) -> Result<Option<KnownHeads>, Failure> {
    let link = AgentLink::Socket(Client::new(&settings.places.agent_socket));
    match super::runtime()?.block_on(link.heads()) {
        Ok(heads) => return Ok(Some(heads)),
        Err(error) if matches!(error.code, ErrorCode::Unavailable | ErrorCode::PermissionDenied) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(heads::read(&settings.places.agent_state_dir).ok())
}

/// The report in words.
pub fn told(report: &Report, with_heads: bool) -> String {
    let mut text = match &report.reason {
        None => {
            format!("the audit is whole: {} records, {} to {}\n", report.records, report.first_seq, report.last_seq)
        }
        Some(reason) => format!("THE AUDIT IS NOT WHOLE: {reason}\n  {} records fit before that\n", report.records),
    };
    if with_heads {
        text.push_str(&format!("{} records compared with what the agent saw\n", report.heads_checked));
    } else {
        text.push_str("the agent's heads are not at hand: records cut off at the end would not show\n  run this as root, or start the agent\n");
    }
    for head in &report.other_chains {
        text.push_str(&format!(
            "the agent also knows chain {}, up to record {}: a file that was replaced or set aside\n",
            head.chain, head.seq
        ));
    }
    text
}

fn show(file: PathBuf, filter: &Filter, limit: u32, json: bool) -> Result<(), Failure> {
    let (records, total) = audit::recent_file(&file, filter, limit).map_err(|error| unreadable(&file, &error))?;
    for record in &records {
        if json {
            outln!("{record}");
            continue;
        }
        let text = |field: &str| printable(record[field].as_str().unwrap_or("-"));
        let by = record["approval"]["by"].as_str().map(|by| format!("  approved by {}", printable(by)));
        outln!(
            "{}  {:<16} {:<32} {}{}",
            text("ts"),
            text("principal"),
            text("tool"),
            text("outcome"),
            by.unwrap_or_default()
        );
        if let Some(args) = record["args"].as_object().filter(|args| !args.is_empty()) {
            outln!("    {}", printable(&Value::Object(args.clone()).to_string()));
        }
    }
    if !json {
        outln!("{} of {total} records", records.len());
    }
    Ok(())
}

fn unreadable(file: &std::path::Path, error: &rusqlite::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("cannot read the audit in {}: {error}\n  run this as root or as the server's user", file.display()),
    )
}
