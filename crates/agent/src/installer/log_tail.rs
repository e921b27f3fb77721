//! What the server half said last, for `last_attempt.log_tail`: read before the restart that ends a trial, which does not wait for it long.

use super::Installer;
use base::{
    os::{
        Root,
        journal::{Query, Reading},
    },
    redact::redact_text,
};
use std::{io, time::Duration};
use update::slots::LONGEST_LOG;

/// The server half, and what systemd says of it.
const UNIT: &str = "raspi-mcp.service";
/// What a sick system may take to tell.
const PATIENCE: Duration = Duration::from_secs(3);

impl Installer {
    /// The newest lines of this boot that fit, oldest first, with secrets masked; `None` where nobody keeps them or none came in time.
    pub(crate) async fn log_tail(&self) -> Option<String> {
        let root = &self.settings.root;
        // A simulated machine has no journal; the one that is there is somebody's PC's.
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

/// Lines, newest first, as many as are recorded of a log.
async fn read(root: &Root, lines: &mut Vec<String>) -> io::Result<()> {
    let query = Query { unit: Some(UNIT.into()), newest_first: true, this_boot: true, ..Query::default() };
    let Some(mut reading) = Reading::start(root, query)? else { return Ok(()) };
    let mut room = LONGEST_LOG;
    while let Some(line) = reading.next().await? {
        let said = format!("{}: {}", line.identifier.as_deref().unwrap_or("-"), redact_text(&line.message));
        let fits = said.len() < room;
        // Of a line that is too long by itself, its end is worth more than nothing.
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
