//! Admitted updates: an approval is consumed once and holds for that bundle until its update is over. A download can
//! take hours, and a power cut meanwhile must not require another approval.

use super::UpdateTool;
use crate::{clock::Clock, files};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use update::bundle::Digest;

/// Longer than any download may take; after that a person is asked again.
const LASTS_MS: i64 = 7 * 24 * 3_600_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Admission {
    manifest: Digest,
    tool: UpdateTool,
    principal: String,
    at_ms: i64,
}

/// The last admission, on the card.
pub(crate) struct Admissions {
    path: PathBuf,
    clock: Clock,
    last: Mutex<Option<Admission>>,
}

impl Admissions {
    /// # Errors
    /// `unavailable` when its file cannot be read.
    pub fn load(folder: &Path, clock: Clock, faults: &mut Vec<String>) -> Result<Self, ToolError> {
        let path = folder.join("update.json");
        let last = files::read_state(&path, "an update is asked about again", faults)?;
        Ok(Self { path, clock, last: Mutex::new(last) })
    }

    /// Whether this bundle was admitted for that tool and caller.
    pub fn holds(&self, manifest: Digest, tool: UpdateTool, principal: &str) -> bool {
        let now = (self.clock)();
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|last| {
            let fits = last.manifest == manifest && last.tool == tool && last.principal == principal;
            fits && last.at_ms.abs_diff(now) < LASTS_MS.unsigned_abs()
        })
    }

    /// Admits it from now on.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written.
    pub fn keep(&self, manifest: Digest, tool: UpdateTool, principal: &str) -> Result<(), ToolError> {
        let last = Admission { manifest, tool, principal: principal.to_owned(), at_ms: (self.clock)() };
        let json = serde_json::to_vec(&last).map_err(|error| ToolError::internal(format!("update.json: {error}")))?;
        files::replace(&self.path, &json)?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        Ok(())
    }
}
