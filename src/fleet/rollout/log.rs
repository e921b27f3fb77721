//! The log of decisions: a file that is only appended to, and synced after each line.

use base::{error::ToolError, os::if_there};
use fleet_protocol::rollout::{Decision, decision};
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The log of one controller.
pub struct DecisionLog {
    path: PathBuf,
    file: File,
    last: u64,
}

impl DecisionLog {
    /// Opens it for the plan with this hash, and cuts off a line that broke off.
    ///
    /// # Errors
    /// As [`read`]; `unavailable` when it cannot be written.
    pub fn open(path: &Path, plan: &str) -> Result<Self, ToolError> {
        let (decisions, broken) = all(path)?;
        let failed = |error| super::failed(path, &error);
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(failed)?;
        if broken > 0 {
            let length = file.metadata().map_err(failed)?.len();
            file.set_len(length - broken as u64).map_err(failed)?;
        }
        let mine = decisions.iter().filter(|decision| decision.plan == plan);
        Ok(Self { path: path.to_owned(), file, last: mine.map(|decision| decision.number).max().unwrap_or(0) })
    }

    /// Appends a decision, unless the log has it already.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn append(&mut self, decision: &Decision) -> Result<(), ToolError> {
        if decision.number <= self.last {
            return Ok(());
        }
        let written = self.file.write_all(decision.line().as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| super::failed(&self.path, &error))?;
        self.last = decision.number;
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
    let text = if_there(fs::read_to_string(path)).map_err(|error| super::failed(path, &error))?.unwrap_or_default();
    let (decisions, broken) = decision::read(&text).map_err(|line| {
        ToolError::unavailable(format!("{}: line {line} is no decision, or not after the one before", path.display()))
            .hint("somebody changed this log: move it away, and keep it")
    })?;
    Ok((decisions, broken.len()))
}
