//! The server half's last log lines, for `last_attempt.log_tail`. Read before the restart that ends a trial, within a
//! short limit.

use super::Installer;
use base::{
    os::{
        Root,
        journal::{JournalReader, Query},
    },
    redact::redact_text,
};
use std::{io, time::Duration};
use update::slots::LONGEST_LOG;

/// The server half's unit, and systemd's messages about it.
const UNIT: &str = "raspi-mcp.service";
/// Limit for reading the log of a failing system.
const PATIENCE: Duration = Duration::from_secs(3);

impl Installer {
    /// The newest lines of this boot that fit, oldest first, with secrets masked. At the time limit, the lines read so
    /// far. `None` when there is no journal, or no line was read.
    pub(crate) async fn log_tail(&self) -> Option<String> {
        let root = &self.settings.root;
        // A simulated machine has no journal; the one found would be the host's.
        if self.means.simulated && root.is_system() {
            return None;
        }
        let mut newest = Vec::new();
        match tokio::time::timeout(PATIENCE, read(root, &mut newest)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(target: "agent", %error, "the trial's log cannot be read"),
            Err(_) => tracing::warn!(target: "agent", lines = newest.len(), "journalctl takes too long"),
        }
        newest.reverse();
        (!newest.is_empty()).then(|| newest.join("\n"))
    }
}

/// Reads lines, newest first, up to the recorded size.
async fn read(root: &Root, lines: &mut Vec<String>) -> io::Result<()> {
    let query = Query { unit: Some(UNIT.into()), newest_first: true, this_boot: true, ..Query::default() };
    let Some(mut reading) = JournalReader::start(root, query)? else { return Ok(()) };
    let mut room = LONGEST_LOG;
    while let Some(line) = reading.next().await? {
        let said = format!("{}: {}", line.identifier.as_deref().unwrap_or("-"), redact_text(&line.message));
        let fits = said.len() < room;
        // A newest line that is too long by itself is taken all the same; its end is recorded.
        if fits || lines.is_empty() {
            room = room.saturating_sub(said.len() + 1);
            lines.push(said);
        }
        if !fits {
            break;
        }
    }
    Ok(())
}
