//! The stored form of a job, in a file that is replaced atomically.

use super::{FoundRelease, UpdateOrder};
use crate::status::Phase;
use base::{
    error::{ErrorCode, ErrorFields, ToolError},
    os::whole,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

/// Longest file that is read, in bytes: a job takes less than 4 KiB.
const MAX_FILE: u64 = 64 << 10;

/// The newest job and its state. The release in the other slot may have written it, so unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "struct Kept")]
pub struct JobRecord {
    pub order: UpdateOrder,
    pub state: JobState,
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<FoundRelease>,
    /// How often a server resumed it.
    pub resumed: u32,
    /// How often of these the server had ended by itself, and not the machine. Left out of an ended job, which earlier versions read.
    #[serde(default, skip_serializing_if = "base::serde_fields::is_zero")]
    pub server_ends: u32,
    /// The boot in which it runs, while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Milliseconds since 1970 UTC.
    pub started_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_ms: Option<i64>,
    /// 0 to 100.
    pub percent: f64,
    /// What it is doing, or how it ended.
    pub message: String,
    /// The error that it ended with: its symbol, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How far the server's part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "State", rename_all = "snake_case")]
pub enum JobState {
    Running,
    /// Written and armed: the agent reports the rest.
    Armed,
    Failed,
}

impl JobRecord {
    pub fn new(order: UpdateOrder, started_ms: i64) -> Self {
        Self {
            order,
            state: JobState::Running,
            phase: Phase::Checking,
            release: None,
            resumed: 0,
            server_ends: 0,
            boot: None,
            started_ms,
            finished_ms: None,
            percent: 0.0,
            message: "looking for the release".into(),
            error_code: None,
            hint: None,
        }
    }

    /// Records its end.
    pub fn end(&mut self, done: Result<String, ToolError>, at_ms: i64) {
        self.finished_ms = Some(at_ms);
        (self.server_ends, self.boot) = (0, None);
        match done {
            Ok(next) => {
                (self.state, self.phase, self.percent) = (JobState::Armed, Phase::Armed, 100.0);
                self.message = next;
            }
            Err(error) => {
                (self.state, self.phase) = (JobState::Failed, Phase::Failed);
                self.error_code = Some(error.code.symbol().into());
                let ErrorFields { message, hint, .. } = error.into_fields();
                (self.message, self.hint) = (message, hint);
            }
        }
    }

    /// The error that it ended with.
    pub fn error(&self) -> Option<ToolError> {
        let code = self.error_code.as_deref()?;
        let error = ToolError::new(ErrorCode::from_symbol(code).unwrap_or(ErrorCode::Internal), self.message.clone());
        let error = error.with("job_id", self.order.id.clone());
        Some(match &self.hint {
            Some(hint) => error.hint(hint.clone()),
            None => error,
        })
    }

    /// What it is doing or how it ended, with what to do next.
    pub fn description(&self) -> String {
        self.error().map_or_else(|| self.message.clone(), |error| error.advice())
    }
}

/// Loads `file`. If it is unreadable, returns no job and the reason.
pub fn load(file: &Path) -> (Option<JobRecord>, Option<String>) {
    let mut text = Vec::new();
    let read = File::open(file).and_then(|open| open.take(MAX_FILE).read_to_end(&mut text));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
        Err(error) => (None, Some(format!("{} cannot be read: {error}", file.display()))),
        Ok(_) => match serde_json::from_slice(&text) {
            Ok(kept) => (Some(kept), None),
            Err(error) => (None, Some(format!("{} is not what this version writes: {error}", file.display()))),
        },
    }
}

/// Replaces `file` atomically: a power cut leaves the old or the new content.
pub fn save(file: &Path, kept: &JobRecord) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let text = serde_json::to_vec(kept)?;
    whole::replace(file, 0o600, |open| open.write_all(&text))
}
