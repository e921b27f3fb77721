//! `raspi-mcp fleet log`: what devices told once.

use super::{connected, status, table};
use crate::{
    cli::{
        exit::{Exit, Failure},
        runtime,
        say::outln,
    },
    terminal::printable,
};
use base::clock::Stamp;
use fleet_protocol::log::{LogKind, LogMessage};
use serde_json::{Value, json};
use std::{collections::HashMap, path::PathBuf};

/// A message that the broker received so much later than it was made, in ms, waited: one minute.
const WAITED_MS: u64 = 60_000;

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Only messages of this kind: update, audit or ask; may be repeated
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Vec<LogKind>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Only messages of these devices
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

fn kind(text: &str) -> Result<LogKind, String> {
    let known = LogKind::ALL.into_iter().find(|(word, _)| *word == text);
    known.map(|(_, kind)| kind).ok_or_else(|| "it is update, audit or ask".into())
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let mut messages = Vec::new();
    let mut dropped = HashMap::new();
    let hear = |message: &LogMessage, heard_ms| {
        let is_meant = (args.names.is_empty() || args.names.contains(&message.name))
            && (args.kind.is_empty() || args.kind.contains(&message.kind));
        if !is_meant {
            return;
        }
        if args.json {
            messages.push(as_json(message, heard_ms));
            return;
        }
        let before = dropped.insert(message.name.clone(), message.dropped).unwrap_or_default();
        outln!("{}{}", printable(&line(message, heard_ms)), lost(message.dropped.saturating_sub(before)));
    };
    let (fleet, book) = runtime()?.block_on(async {
        let console = connected(&args.dir).await?;
        for name in &args.names {
            console.folder.device(name)?;
        }
        let book = console.log(hear).await?;
        Ok::<_, Failure>((console.folder.name, book))
    })?;
    if args.json {
        outln!("{}", json!({ "fleet": fleet, "messages": messages, "refused": status::refused(&book) }));
    } else {
        for (name, refused) in book.refused() {
            outln!("{}", table::refusal(name, refused, ("log message", "log messages")));
        }
    }
    if book.refused().is_empty() {
        return Ok(());
    }
    // Already reported.
    Err(Failure::new(Exit::Refused, ""))
}

fn as_json(document: &LogMessage, heard_ms: i64) -> Value {
    json!({
        "name": document.name,
        "device": document.device,
        "kind": document.kind,
        "body": document.body,
        "dropped": document.dropped,
        "sequence": document.sequence,
        "made_at": Stamp(document.time_ms).to_string(),
        "heard_at": Stamp(heard_ms).to_string(),
    })
}

fn line(document: &LogMessage, heard_ms: i64) -> String {
    let body = &document.body;
    let text = |field: &str| body[field].as_str().unwrap_or("?");
    let at = |field: &str| Stamp(body[field].as_i64().unwrap_or_default());
    let told = match document.kind {
        LogKind::Update => {
            let reason = Some(text("reason")).filter(|reason| !reason.is_empty());
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("update {} {}{reason}", text("version"), text("phase").replace('_', " "))
        }
        LogKind::Audit => format!("audit {} {} {}", text("chain"), body["seq"], text("hash")),
        LogKind::Ask => format!("ask {} for {}, until {}", text("id"), text("tool"), at("expires_ms")),
    };
    let late = heard_ms.abs_diff(document.time_ms) > WAITED_MS;
    let waited = if late { format!("; heard {}", Stamp(heard_ms)) } else { String::new() };
    format!("{}  {}  {told}{waited}", Stamp(document.time_ms), document.name)
}

fn lost(count: u64) -> String {
    if count == 0 { String::new() } else { format!(" ({count} before it were dropped)") }
}
