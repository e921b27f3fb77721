//! What a person has let in: the approval of an update is used up once, and holds for that very bundle until it is over. Fetching
//! takes hours at times, and a power cut in between is no reason to ask again.

use super::UpdateTool;
use crate::{clock::Clock, files};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use update::bundle::Digest;

/// Longer than any download may take; then a person is asked again.
const LASTS_MS: i64 = 7 * 24 * 3_600_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Admission {
    manifest: Digest,
    tool: UpdateTool,
    principal: String,
    at_ms: i64,
}

/// The last one, on the card.
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
        let last = files::read(&path)?.and_then(|bytes| {
            serde_json::from_slice(&bytes)
                .inspect_err(|error| {
                    faults.push(format!("{} is unreadable ({error}); an update is asked about again", path.display()));
                })
                .ok()
        });
        Ok(Self { path, clock, last: Mutex::new(last) })
    }

    /// Whether this bundle was let in for that tool and caller.
    pub fn holds(&self, manifest: Digest, tool: UpdateTool, principal: &str) -> bool {
        let now = (self.clock)();
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|last| {
            let fits = last.manifest == manifest && last.tool == tool && last.principal == principal;
            fits && last.at_ms.abs_diff(now) < LASTS_MS.unsigned_abs()
        })
    }

    /// Lets it in from now on.
    ///
    /// # Errors
    /// `unavailable` when that cannot be written down.
    pub fn keep(&self, manifest: Digest, tool: UpdateTool, principal: &str) -> Result<(), ToolError> {
        let last = Admission { manifest, tool, principal: principal.to_owned(), at_ms: (self.clock)() };
        let json = serde_json::to_vec(&last).map_err(|error| ToolError::internal(format!("update.json: {error}")))?;
        files::replace(&self.path, &json)?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        Ok(())
    }
}
