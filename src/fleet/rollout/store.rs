//! Where the record of a rollout is kept. Every change names the revision that it replaces.

use base::{
    error::{ErrorCode, ToolError},
    os::{if_there, lock::Lock, whole},
};
use fleet_protocol::rollout::RolloutRecord;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
};

/// Records by the name of their channel.
pub trait RecordStore {
    /// The record with its revision.
    fn get(&self) -> impl Future<Output = Result<Option<(u64, RolloutRecord)>, ToolError>>;

    /// Replaces the record of revision `over`, 0 for none, and returns the next revision; `conflict` if another one is there.
    fn put(&self, over: u64, record: &RolloutRecord) -> impl Future<Output = Result<u64, ToolError>>;
}

/// The error when another revision is there.
pub fn changed() -> ToolError {
    ToolError::new(ErrorCode::Conflict, "the rollout's record was changed meanwhile")
        .hint("look at `raspi-mcp fleet rollout status`, then try again")
}

/// A file, for controllers on one machine.
pub struct FileStore {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    revision: u64,
    record: RolloutRecord,
}

impl FileStore {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn read(&self) -> Result<Option<Stored>, ToolError> {
        let Some(text) = if_there(fs::read(&self.path)).map_err(|error| super::failed(&self.path, &error))? else {
            return Ok(None);
        };
        let stored = serde_json::from_slice(&text);
        stored.map(Some).map_err(|error| super::failed(&self.path, &error.into()))
    }
}

impl RecordStore for FileStore {
    async fn get(&self) -> Result<Option<(u64, RolloutRecord)>, ToolError> {
        Ok(self.read()?.map(|stored| (stored.revision, stored.record)))
    }

    async fn put(&self, over: u64, record: &RolloutRecord) -> Result<u64, ToolError> {
        let failed = |error: std::io::Error| super::failed(&self.path, &error);
        let file = File::create(self.path.with_extension("lock")).map_err(failed)?;
        let _lock = Lock::take(file).map_err(failed)?.ok_or_else(changed)?;
        if self.read()?.map_or(0, |stored| stored.revision) != over {
            return Err(changed());
        }
        let stored = Stored { revision: over + 1, record: record.clone() };
        let text = serde_json::to_vec(&stored).map_err(|error| failed(error.into()))?;
        whole::replace(&self.path, 0o600, |file| file.write_all(&text)).map_err(failed)?;
        Ok(over + 1)
    }
}
