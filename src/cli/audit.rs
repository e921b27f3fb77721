//! `raspi-mcp audit`: verifies and lists the recorded calls.

use super::say::{out, outln};
use super::{
    accept_gap,
    exit::{Exit, Failure},
    sources,
};
use crate::{
    audit::{self, AuditFilter, AuditReport, Unfinished},
    registry::Registry,
    terminal::printable,
};
use agent::{AgentLink, Client, heads, operations::audit::ListHeads};
use base::error::ErrorCode;
use contract::audit::rfc3339;
use contract::{audit::KnownHeads, config::Settings};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Verify every record against the hash chain, and the chain against the agent's copy of its head
    Verify {
        /// Read this store instead of this machine's
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Accept that records are missing, after `verify` has listed them. For root and approvers
    AcceptGap {
        /// Read this store instead of this machine's
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Print the newest records
    Show {
        /// The number of records
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Only calls of this tool
        #[arg(long)]
        tool: Option<String>,
        /// Only calls by this caller
        #[arg(long)]
        principal: Option<String>,
        /// Only calls with this outcome: ok, an error code, or unknown
        #[arg(long)]
        outcome: Option<String>,
        /// Read this store instead of this machine's
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// Print JSON, one record per line
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let store = settings.places.state_dir.join("store.db");
    match args.command {
        Command::Verify { file, json } => verify(&settings, file.unwrap_or(store), json),
        Command::AcceptGap { file, yes } => accept_gap::run(&settings, &file.unwrap_or(store), yes),
        Command::Show { limit, tool, principal, outcome, file, json } => {
            let filter = AuditFilter { tool, principal, outcome, ..AuditFilter::default() };
            show(file.unwrap_or(store), &filter, limit, json)
        }
    }
}

fn verify(settings: &Settings, file: PathBuf, json: bool) -> Result<(), Failure> {
    let (report, with_heads) = verdict(settings, &file)?;
    // An unreadable file was already reported as broken.
    let open = audit::unfinished(&file).unwrap_or_default();
    if json {
        let mut value = serde_json::to_value(&report).unwrap_or_default();
        value["agent_heads_known"] = with_heads.into();
        value["writes_without_outcome"] = serde_json::json!({ "count": open.1, "newest": open.0 });
        outln!("{value:#}");
    } else {
        out!("{}", told(&report, with_heads));
        out!("{}", told_open(&open));
    }
    match report.ok {
        true => Ok(()),
        // Already reported.
        false => Err(Failure::new(Exit::Failed, "")),
    }
}

/// The result of verification, and whether the agent's heads were available. If the store is missing, the report says
/// so.
pub(super) fn verdict(settings: &Settings, file: &Path) -> Result<(AuditReport, bool), Failure> {
    let heads = known_heads(settings)?;
    let report = match audit::verify_file(file, heads.as_ref()) {
        Ok(report) => report,
        Err(error) if !matches!(file.try_exists(), Ok(false)) => return Err(unreadable(file, &error)),
        Err(error) => match audit::missing(file, heads.as_ref()) {
            Some(report) => report,
            // A machine on which nothing was recorded yet: neither here nor by the agent.
            None if heads.is_some() || nothing_kept(settings) => AuditReport { ok: true, ..AuditReport::default() },
            None => return Err(unreadable(file, &error)),
        },
    };
    Ok((report, heads.is_some()))
}

/// Whether no agent ever kept anything here; false if this user may not look.
fn nothing_kept(settings: &Settings) -> bool {
    heads::read(&settings.places.agent_state_dir).is_err_and(|error| error.code == ErrorCode::NotFound)
}

/// From the agent; if it does not answer, from its file, if this user may read it.
fn known_heads(settings: &Settings) -> Result<Option<KnownHeads>, Failure> {
    let link = AgentLink::Socket(Client::new(&settings.places.agent_socket));
    match super::runtime()?.block_on(link.get::<ListHeads>()) {
        Ok(heads) => return Ok(Some(heads)),
        Err(error) if matches!(error.code, ErrorCode::Unavailable | ErrorCode::PermissionDenied) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(heads::read(&settings.places.agent_state_dir).ok())
}

/// The report as text.
pub fn told(report: &AuditReport, with_heads: bool) -> String {
    let mut text = match &report.reason {
        None if report.records == 0 => "the audit is whole: no record was written yet\n".to_owned(),
        None if report.records == 1 => format!("the audit is whole: 1 record, number {}\n", report.first_seq),
        None => {
            format!("the audit is whole: {} records, {} to {}\n", report.records, report.first_seq, report.last_seq)
        }
        Some(reason) => format!("THE AUDIT IS NOT WHOLE: {reason}\n  {} records fit before that\n", report.records),
    };
    if with_heads {
        let compared = report.heads_checked;
        let word = if compared == 1 { "record" } else { "records" };
        text.push_str(&format!("{compared} {word} compared with what the agent saw\n"));
    } else {
        text.push_str("the agent's heads are not at hand: records cut off at the end would not show\n  run this as root, or start the agent\n");
    }
    for gap in &report.gaps {
        let (chain, last) = (&gap.chain, gap.last_seq);
        let when = if gap.last_ms > 0 { format!(" of {}", rfc3339(gap.last_ms)) } else { String::new() };
        let which =
            if chain.is_empty() { String::new() } else { format!(" (chain {chain}, last record {last}{when})") };
        text.push_str(&format!("MISSING{which}: {}\n", gap.what));
    }
    if !report.gaps.is_empty() {
        text.push_str("  an owner who knows why accepts it with: raspi-mcp audit accept-gap\n");
    }
    for head in &report.other_chains {
        text.push_str(&format!(
            "the agent also knows chain {}, up to record {}, of another store\n",
            head.chain, head.seq
        ));
    }
    text
}

/// Writes without an outcome, as text; empty if there are none.
fn told_open((newest, count): &(Vec<Unfinished>, u64)) -> String {
    if *count == 0 {
        return String::new();
    }
    let mut text = format!(
        "{count} writes have no recorded outcome: the server ended while they ran, or they run now; whether they were done is not known\n"
    );
    for write in newest {
        let (principal, tool) = (printable(&write.principal), printable(&write.tool));
        text.push_str(&format!("  record {}, {}: {tool} by {principal}\n", write.seq, write.at));
    }
    text
}

fn show(file: PathBuf, filter: &AuditFilter, limit: u32, json: bool) -> Result<(), Failure> {
    let mut shown = 0;
    let total = audit::each_recent(&file, filter, limit, |record| {
        shown += 1;
        if json {
            outln!("{record}");
        } else {
            print(&serde_json::from_str(&record).unwrap_or_default());
        }
    })
    .map_err(|error| unreadable(&file, &error))?;
    if !json {
        outln!("{shown} of {total} records");
    }
    Ok(())
}

/// Prints one record for people.
fn print(record: &Value) {
    let text = |field: &str| printable(record[field].as_str().unwrap_or("-"));
    let by = record["approval"]["by"].as_str().map(|by| format!("  approved by {}", printable(by)));
    let count = record["count"].as_u64().map(|count| format!("  {count} times"));
    outln!(
        "{}  {:<16} {:<32} {}{}{}",
        text("ts"),
        text("principal"),
        text("tool"),
        text("outcome"),
        count.unwrap_or_default(),
        by.unwrap_or_default()
    );
    if let Some(args) = record["args"].as_object().filter(|args| !args.is_empty()) {
        outln!("    {}", printable(&Value::Object(args.clone()).to_string()));
    }
}

fn unreadable(file: &std::path::Path, error: &rusqlite::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("cannot read the audit in {}: {error}\n  run this as root or as the server's user", file.display()),
    )
}
