//! The log of decisions: a file that is only appended to, and synced after each line. Controllers on one machine may share it.

use super::failed;
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
    /// The number of the last decision that is known to be there.
    last: u64,
}

impl DecisionLog {
    /// The log at `path`, which need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, last: 0 }
    }

    /// Appends a decision, unless the log has it already; `true` for one that this controller did not know. What another one
    /// began to write before it was killed is cut off. While another one writes, this waits: a write is one line and its sync.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read or written.
    pub fn append(&mut self, decision: &Decision) -> Result<bool, ToolError> {
        if decision.number <= self.last {
            return Ok(false);
        }
        let failed = |error| failed(&self.path, &error);
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path).map_err(failed)?;
        let file = Lock::wait(file).map_err(failed)?;
        let (decisions, broken) = all(&self.path)?;
        if broken > 0 {
            let length = file.metadata().map_err(failed)?.len();
            file.set_len(length - broken as u64).map_err(failed)?;
        }
        let mine = decisions.iter().filter(|other| other.plan == decision.plan).map(|other| other.number).max();
        if mine < Some(decision.number) {
            let written = (&*file).write_all(decision.line().as_bytes()).and_then(|()| file.sync_all());
            written.map_err(failed)?;
        }
        self.last = decision.number;
        Ok(true)
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
