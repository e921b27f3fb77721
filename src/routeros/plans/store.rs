//! Files of plans, jobs and tests: one JSON file each, replaced as a whole, readable by their owner alone, and not without end.

use base::{canonical, error::ToolError, os::whole, sort};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use std::{
    fs,
    io::{ErrorKind, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// How a file's name ends.
const SUFFIX: &str = ".json";

/// One folder of such files.
pub struct Store {
    folder: PathBuf,
    /// How many are kept, and of how many bytes each.
    most: usize,
    largest: usize,
}

impl Store {
    pub const fn new(folder: PathBuf, most: usize, largest: usize) -> Self {
        Self { folder, most, largest }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}{SUFFIX}"))
    }

    /// The content of a file; `None` if there is none.
    ///
    /// # Errors
    /// `invalid_argument` for an id that is none, `internal` with what the file system says, or for a file that holds something else.
    pub fn read(&self, id: &str) -> Result<Option<Value>, ToolError> {
        if !is_id(id) {
            return Err(ToolError::invalid(format!(
                "{id:?} is no id of this server: it has letters, digits and - only"
            )));
        }
        match fs::read(self.path(id)) {
            Ok(json) => {
                serde_json::from_slice(&json).map(Some).map_err(|error| fault(&self.path(id), "understood", &error))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fault(&self.path(id), "read", &error)),
        }
    }

    /// Writes a file. Of too many, the oldest that `may_go` are removed.
    ///
    /// # Errors
    /// `resource_exhausted` for one that is too large, or when none may go; `internal` with what the file system says.
    pub fn write(&self, id: &str, text: &str, may_go: impl Fn(&str) -> bool) -> Result<(), ToolError> {
        if text.len() > self.largest {
            return Err(ToolError::exhausted(format!(
                "{id} has {} bytes; at most {} are kept",
                text.len(),
                self.largest
            ))
            .hint("do it for fewer routers at a time"));
        }
        let path = self.path(id);
        if !path.exists() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.folder)
                .map_err(|error| fault(&self.folder, "made", &error))?;
            self.make_room(may_go)?;
        }
        whole::replace(&path, 0o600, |file| file.write_all(text.as_bytes()))
            .map_err(|error| fault(&path, "written", &error))
    }

    fn make_room(&self, may_go: impl Fn(&str) -> bool) -> Result<(), ToolError> {
        let mut ids = self.ids();
        while ids.len() >= self.most {
            let at = ids.iter().position(|id| may_go(id)).ok_or_else(|| {
                ToolError::exhausted(format!(
                    "{} has {} files, and all of them are in use",
                    self.folder.display(),
                    ids.len()
                ))
                .hint("wait for the jobs that run")
            })?;
            let id = ids.remove(at);
            whole::remove(&self.path(&id)).map_err(|error| fault(&self.path(&id), "removed", &error))?;
        }
        Ok(())
    }

    /// All ids, the oldest first.
    pub fn ids(&self) -> Vec<String> {
        let mut found: Vec<(SystemTime, String)> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let id = entry.file_name().to_str()?.strip_suffix(SUFFIX)?.to_owned();
                Some((entry.metadata().ok()?.modified().ok()?, id))
            })
            .collect();
        sort::sort(&mut found);
        found.into_iter().map(|(_, id)| id).collect()
    }
}

/// Such as `plan-0f3a5c7e9b1d2f40`.
///
/// # Errors
/// `internal` when the kernel gives no random bytes.
pub fn new_id(kind: &str) -> Result<String, ToolError> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
    Ok(format!("{kind}-{}", canonical::hex(&bytes)))
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 100 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn fault(path: &Path, what: &str, error: &dyn std::fmt::Display) -> ToolError {
    ToolError::internal(format!("{} could not be {what}: {error}", path.display()))
        .hint("check that the state folder is there, has space, and belongs to the user of this process")
}
