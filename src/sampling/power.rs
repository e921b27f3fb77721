//! The history of low voltage and throttling: how often each was seen to begin, and when first and last.
//!
//! The firmware reports the current state and what occurred since boot; it forgets both at power-off. Sampling jobs and
//! health snapshots report each word they read here; changes are stored. An event that begins and ends between two
//! reads counts once per boot where the firmware's own record is read, and not at all where only the kernel's is, which
//! lasts two seconds.

use crate::store::Store;
use base::{
    error::ToolError,
    os::{Root, ids},
};
use hw::firmware::Throttled;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};

/// How often the time of a flag that stays set is stored.
const SAVE_EVERY: Duration = Duration::from_secs(300);

/// The stored history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// When the first word was read, milliseconds since 1970 UTC.
    pub since_ms: i64,
    boot: String,
    pub under_voltage: FlagHistory,
    pub freq_capped: FlagHistory,
    pub throttled: FlagHistory,
    pub soft_temperature_limit: FlagHistory,
}

/// The history of one flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Seen")]
pub struct FlagHistory {
    pub times: u32,
    pub first_ms: Option<i64>,
    pub last_ms: Option<i64>,
    /// Whether it was set at the last read, and whether it was set since boot.
    now: bool,
    in_boot: bool,
}

impl FlagHistory {
    /// Whether it was seen set since this boot.
    pub fn in_boot(self) -> bool {
        self.in_boot
    }

    /// Updates the flag; `remembers` is [`Throttled::remembers`]. Returns whether a new occurrence began.
    fn look(&mut self, now: bool, occurred: bool, remembers: bool, at_ms: i64) -> bool {
        // What occurred within the last seconds is new, unless it was seen then.
        let now = now || (occurred && !remembers);
        let began = (now && !self.now) || (!now && occurred && !self.in_boot);
        if began {
            self.times = self.times.saturating_add(1);
            self.first_ms.get_or_insert(at_ms);
        }
        if began || now {
            self.last_ms = Some(at_ms);
        }
        self.now = now;
        self.in_boot |= now || occurred;
        began
    }
}

impl Story {
    fn look(&mut self, word: Throttled, boot: &str, at_ms: i64) -> bool {
        if self.boot != boot {
            boot.clone_into(&mut self.boot);
            for seen in
                [&mut self.under_voltage, &mut self.freq_capped, &mut self.throttled, &mut self.soft_temperature_limit]
            {
                (seen.now, seen.in_boot) = (false, false);
            }
        }
        let look = |seen: &mut FlagHistory, now, occurred| seen.look(now, occurred, word.remembers(), at_ms);
        let began = [
            look(&mut self.under_voltage, word.under_voltage(), word.under_voltage_occurred()),
            look(&mut self.freq_capped, word.freq_capped(), word.freq_capped_occurred()),
            look(&mut self.throttled, word.throttled(), word.throttled_occurred()),
            look(
                &mut self.soft_temperature_limit,
                word.soft_temperature_limit(),
                word.soft_temperature_limit_occurred(),
            ),
        ];
        began.contains(&true)
    }
}

/// The history and its store. Cheap to clone.
#[derive(Clone)]
pub struct PowerHistory(Arc<Inner>);

struct Inner {
    store: Store,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    story: Option<Story>,
    unsaved: bool,
    saved: Option<Instant>,
}

impl PowerHistory {
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Inner { store, state: Mutex::default() }))
    }

    /// Records a word that was just read. If it cannot be stored, it is stored with the next one.
    pub async fn seen(&self, word: Throttled, root: &Root, at_ms: i64) {
        let mut state = self.0.state.lock().await;
        if let Err(error) = self.load(&mut state).await {
            return tracing::warn!(%error, "the record of low voltage cannot be read");
        }
        let boot = ids::boot(root).unwrap_or_default();
        let is_first = state.story.is_none();
        let story = state.story.get_or_insert_with(|| Story { since_ms: at_ms, ..Story::default() });
        let before = story.clone();
        let began = story.look(word, &boot, at_ms);
        state.unsaved |= is_first || *story != before;
        let is_time = state.saved.is_none_or(|saved| saved.elapsed() >= SAVE_EVERY);
        if state.unsaved && (began || is_first || is_time) {
            self.write(&mut state).await;
        }
    }

    /// The history; `None` before the first word.
    ///
    /// # Errors
    /// The store's.
    pub async fn story(&self) -> Result<Option<Story>, ToolError> {
        let mut state = self.0.state.lock().await;
        self.load(&mut state).await?;
        Ok(state.story.clone())
    }

    /// Stores unsaved changes, at a stop.
    pub async fn save(&self) {
        let mut state = self.0.state.lock().await;
        if state.unsaved {
            self.write(&mut state).await;
        }
    }

    async fn load(&self, state: &mut State) -> Result<(), ToolError> {
        if state.story.is_none() {
            state.story = self.0.store.run(load).await?;
        }
        Ok(())
    }

    async fn write(&self, state: &mut State) {
        let Some(story) = &state.story else { return };
        let body = serde_json::to_string(story).unwrap_or_default();
        state.saved = Some(Instant::now());
        match self.0.store.run(move |connection| save(connection, &body)).await {
            Ok(()) => state.unsaved = false,
            Err(error) => tracing::warn!(%error, "the record of low voltage could not be kept"),
        }
    }
}

fn load(connection: &mut Connection) -> rusqlite::Result<Option<Story>> {
    let exists = connection.query_row("SELECT 1 FROM sqlite_schema WHERE name = 'power_record'", [], |_| Ok(()));
    if exists.optional()?.is_none() {
        return Ok(None);
    }
    let body = connection.query_row("SELECT body FROM power_record", [], |row| row.get::<_, String>(0)).optional()?;
    // An unreadable record is replaced by a new one.
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

fn save(connection: &mut Connection, body: &str) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS power_record (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL) STRICT;",
    )?;
    connection.execute("INSERT OR REPLACE INTO power_record (id, body) VALUES (1, ?1)", [body]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1;
    const EVER: u32 = 1 << 16;

    fn times(words: &[(u32, &str, i64)]) -> FlagHistory {
        let mut story = Story::default();
        for (word, boot, at) in words {
            story.look(Throttled::since_boot(*word), boot, *at);
        }
        story.under_voltage
    }

    #[test]
    fn each_event_that_the_kernel_still_shows_counts() {
        let mut story = Story::default();
        for (word, at) in [(0, 1), (EVER, 2), (EVER, 3), (0, 4), (EVER, 5), (0, 6)] {
            story.look(Throttled::last_seconds(word), "a", at);
        }
        let seen = story.under_voltage;
        assert_eq!((seen.times, seen.first_ms, seen.last_ms, seen.in_boot()), (2, Some(2), Some(5), true));
        story.look(Throttled::last_seconds(0), "b", 7);
        assert!(!story.under_voltage.in_boot(), "another boot");
    }

    #[test]
    fn it_counts_beginnings() {
        let seen =
            times(&[(0, "a", 1), (NOW | EVER, "a", 2), (NOW | EVER, "a", 3), (EVER, "a", 4), (NOW | EVER, "a", 5)]);
        assert_eq!((seen.times, seen.first_ms, seen.last_ms), (2, Some(2), Some(5)));
    }

    #[test]
    fn what_came_and_went_between_two_looks_counts_once_a_boot() {
        let seen = times(&[(EVER, "a", 1), (EVER, "a", 2), (0, "b", 3), (EVER, "b", 4), (EVER, "b", 5)]);
        assert_eq!((seen.times, seen.first_ms, seen.last_ms), (2, Some(1), Some(4)));
        assert_eq!(times(&[(NOW | EVER, "a", 1), (NOW | EVER, "b", 2)]).times, 2);
        assert_eq!(times(&[(0, "a", 1), (0xe_000e, "a", 2)]), FlagHistory::default());
    }
}
