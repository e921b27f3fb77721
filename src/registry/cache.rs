//! Cache of answers, for tools that declare `cache_ttl_seconds`.

use super::{context::Notes, entry::Entry, tool::ToolOutput};
use std::{
    collections::HashMap,
    ptr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

/// Most answers kept; beyond that the oldest is dropped, so that no caller can keep others' answers out.
const KEPT: usize = 32;

/// Finished answers by tool and arguments.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<String, Kept>>);

struct Kept {
    /// The tool that answered. Another tool may have its name by now.
    entry: Weak<Entry>,
    output: ToolOutput,
    simulated: bool,
    made: Instant,
    until: Instant,
}

/// The tool and its arguments, of which `args` is the hash.
fn key(entry: &Entry, args: &str) -> String {
    format!("{}@{} {args}", entry.name(), entry.meta().schema_version)
}

impl Cache {
    /// The answer to the same call, if it is fresh enough. Its age and origin go to `notes`.
    pub fn get(&self, entry: &Arc<Entry>, args: &str, notes: &Notes) -> Option<ToolOutput> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(&key(entry, args)).filter(|kept| Instant::now() < kept.until)?;
        if !ptr::eq(found.entry.as_ptr(), Arc::as_ptr(entry)) {
            return None;
        }
        notes.cached(found.made.elapsed());
        if found.simulated {
            notes.simulated();
        }
        Some(found.output.clone())
    }

    pub fn put(&self, entry: &Arc<Entry>, args: &str, output: &ToolOutput, simulated: bool, keep: Duration) {
        let now = Instant::now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, kept| now < kept.until);
        if kept.len() >= KEPT
            && let Some(oldest) = kept.iter().min_by_key(|(_, kept)| kept.made).map(|(key, _)| key.clone())
        {
            kept.remove(&oldest);
        }
        let entry_of = Arc::downgrade(entry);
        let answer = Kept { entry: entry_of, output: output.clone(), simulated, made: now, until: now + keep };
        kept.insert(key(entry, args), answer);
    }
}
