//! The log of decisions: a file that is only appended to, and synced after each line. Controllers on one machine may share it.
//!
//! Nobody waits for it: what cannot be written now is kept, and written first the next time.

use super::{failed, holder};
use base::{
    error::ToolError,
    os::{if_there, lock::Lock},
};
use fleet_protocol::rollout::{Decision, decision};
use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The log of one rollout.
pub struct DecisionLog {
    path: PathBuf,
    /// The number of the last decision that is known here.
    last: u64,
    /// Those that are not in the file yet, by number.
    unwritten: Vec<Decision>,
}

impl DecisionLog {
    /// The log at `path`, which need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, last: 0, unwritten: Vec::new() }
    }

    /// Takes a decision that has to be written; `true` for one that this controller did not know.
    pub fn add(&mut self, decision: &Decision) -> bool {
        let is_new = decision.number > self.last;
        if is_new {
            self.last = decision.number;
            self.unwritten.push(decision.clone());
        }
        is_new
    }

    /// Writes what was added, unless the log has it already. What another one began to write before it was killed is cut off.
    ///
    /// # Errors
    /// `conflict` while another process writes (`details.held_by`): usually for one line and its sync. `unavailable` when it
    /// cannot be read or written. What was added is kept.
    pub fn write(&mut self) -> Result<(), ToolError> {
        let Some(first) = self.unwritten.first() else { return Ok(()) };
        let failed = |error| failed(&self.path, &error);
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path).map_err(failed)?;
        let file = Lock::take(file).map_err(failed)?;
        let file = file.ok_or_else(|| holder::held(&self.path, &holder::of_lock(&self.path)))?;
        let (decisions, broken) = all(&self.path)?;
        if broken > 0 {
            let length = file.metadata().map_err(failed)?.len();
            file.set_len(length - broken as u64).map_err(failed)?;
        }
        let there = decisions.iter().filter(|other| other.plan == first.plan).map(|other| other.number).max();
        for decision in self.unwritten.iter().filter(|decision| there < Some(decision.number)) {
            (&*file).write_all(decision.line().as_bytes()).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        self.unwritten.clear();
        Ok(())
    }
}

/// All decisions of a log; none without the file.
///
/// # Errors
/// `unavailable` when it cannot be read, or has a line that is no decision.
pub fn read(path: &Path) -> Result<Vec<Decision>, ToolError> {
    Ok(all(path)?.0)
}

/// The decisions, and the bytes of a last line that broke off.
fn all(path: &Path) -> Result<(Vec<Decision>, usize), ToolError> {
    let text = if_there(fs::read_to_string(path)).map_err(|error| failed(path, &error))?.unwrap_or_default();
    let (decisions, broken) = decision::read(&text).map_err(|line| {
        ToolError::unavailable(format!("{}: line {line} is no decision, or not after the one before", path.display()))
            .hint("somebody changed this log: move it away, and keep it")
    })?;
    Ok((decisions, broken.len()))
}
