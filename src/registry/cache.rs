//! Answers of tools that declare `cache_ttl_seconds`, kept that long.

use super::{context::Notes, tool::Output};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Different calls remembered at once; beyond it the oldest answer makes room, so that nobody keeps others' out.
const KEPT: usize = 32;
/// Longer arguments are not worth a key.
const LONGEST_KEY: usize = 1024;

/// Finished answers by tool and arguments.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<(&'static str, String), Kept>>);

struct Kept {
    output: Output,
    simulated: bool,
    made: Instant,
    until: Instant,
}

impl Cache {
    /// The answer to the same call, when it is fresh enough; its age and origin go to `notes`.
    pub fn get(&self, tool: &'static str, key: &str, notes: &Notes) -> Option<Output> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(&(tool, key.to_owned())).filter(|kept| Instant::now() < kept.until)?;
        notes.cached(found.made.elapsed());
        if found.simulated {
            notes.simulated();
        }
        Some(found.output.clone())
    }

    pub fn put(&self, tool: &'static str, key: String, output: &Output, simulated: bool, keep: Duration) {
        if key.len() > LONGEST_KEY {
            return;
        }
        let now = Instant::now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, kept| now < kept.until);
        if kept.len() >= KEPT
            && let Some(oldest) = kept.iter().min_by_key(|(_, kept)| kept.made).map(|(key, _)| key.clone())
        {
            kept.remove(&oldest);
        }
        kept.insert((tool, key), Kept { output: output.clone(), simulated, made: now, until: now + keep });
    }
}
