//! `raspi-mcp fleet status --dir`: all devices in one table, or in groups.

use super::{connected, selection::Selection, table};
use crate::{
    cli::{
        exit::{Exit, Failure},
        runtime,
        say::outln,
    },
    fleet::console::{
        StatusBook,
        filter::{Counts, DeviceGrouping, groups},
        report::{DeviceHealth, DeviceRow},
    },
};
use base::clock;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct TableArgs {
    /// The folder of a fleet with a broker, as `raspi-mcp fleet init` made it
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Count devices instead: by version, health, tag, or update
    #[arg(long, value_name = "WHAT", requires = "dir", value_parser = grouping)]
    group_by: Option<DeviceGrouping>,
}

fn grouping(text: &str) -> Result<DeviceGrouping, String> {
    match text {
        "version" => Ok(DeviceGrouping::Version),
        "health" => Ok(DeviceGrouping::Health),
        "tag" => Ok(DeviceGrouping::Tag),
        "update" => Ok(DeviceGrouping::Update),
        _ => Err("it is version, health, tag or update".into()),
    }
}

pub fn status(args: &TableArgs, json: bool) -> Result<(), Failure> {
    let dir = args.dir.as_deref().unwrap_or_else(|| std::path::Path::new("."));
    let asked_at = clock::now();
    let (fleet, book) = runtime()?.block_on(async {
        let console = connected(dir).await?;
        let (book, _) = console.statuses().await?;
        Ok::<_, Failure>((console.folder.name, book))
    })?;
    let rows = args.selection.rows(&book);
    let summary = table::counted(&rows);
    if json {
        let mut answer = Map::new();
        answer.insert("asked_at".into(), asked_at.into());
        answer.insert("fleet".into(), fleet.into());
        if let Some(by) = args.group_by {
            let groups = groups(rows.iter().copied(), by);
            answer
                .insert("groups".into(), groups.iter().map(|(name, counts)| (name.clone(), named(*counts))).collect());
        } else {
            answer.insert("devices".into(), rows.iter().map(DeviceRow::json).collect());
        }
        answer.insert("summary".into(), named(summary));
        answer.insert("refused".into(), refused(&book));
        outln!("{}", Value::Object(answer));
    } else {
        match args.group_by {
            Some(by) => outln!("{}", table::grouped(&groups(rows.iter().copied(), by), by)),
            None => outln!("{}", table::drawn(&rows)),
        }
        for (name, refused) in book.refused() {
            outln!("{}", table::refusal(name, refused, table::STATUS));
        }
    }
    match exit(&book, summary) {
        Exit::Done => Ok(()),
        // Already reported.
        exit => Err(Failure::new(exit, "")),
    }
}

/// Counts by the word of a health.
fn named(counts: Counts) -> Value {
    DeviceHealth::ALL.iter().map(|health| (health.word().to_owned(), json!(counts[*health as usize]))).collect()
}

pub(super) fn refused(book: &StatusBook) -> Value {
    let one = |(name, refused): (&String, &crate::fleet::console::book::RefusedMessage)| json!({ "name": name, "signed_by": refused.by, "reason": refused.why, "count": refused.count });
    book.refused().iter().map(one).collect()
}

/// A lie first: it is about everything else that is shown.
fn exit(book: &StatusBook, counts: Counts) -> Exit {
    let any = |health: DeviceHealth| counts[health as usize] > 0;
    if !book.refused().is_empty() {
        Exit::Refused
    } else if any(DeviceHealth::Silent) {
        Exit::Unreachable
    } else if any(DeviceHealth::Wrong) {
        Exit::Failed
    } else {
        Exit::Done
    }
}
