//! What was told already, so that a value that flutters, or a restart, does not tell it again. Kept in a file.
//!
//! A condition is told when it begins or gets worse, and otherwise at most once an hour. What the server finds again
//! after a restart (a system that went back, a worn card) is told once: its mark is kept when its message was sent or
//! given up.

use crate::sampling::MOST_JOBS;
use base::os::whole;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

/// Shortest time between two messages of a kind, in milliseconds, unless it got worse.
const HOUR_MS: u64 = 3_600_000;
/// What is older than this when it is first found, in milliseconds, is no news.
const OLD_MS: u64 = 7 * 24 * HOUR_MS;
/// Full to so many percent: the first is that of health's warnings.
const LEVELS: [u8; 3] = [90, 95, 99];
/// A file system that is less full than this, in percent, is no longer nearly full.
const CLEAR: f64 = 85.0;
/// Used part of a card's life that is told, in percent, as in `raspi-mcp doctor --update`.
const WORN: u8 = 90;
/// Longest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 10;

/// What was told, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    update: Option<UpdateMark>,
    supply: Option<SupplyMark>,
    disk: Option<DiskMark>,
    /// The level of each card.
    cards: BTreeMap<String, u8>,
    /// The thresholds of sampling jobs, by the job, oldest first.
    thresholds: Vec<(String, ThresholdMark)>,
    /// When the halt began that was told, in milliseconds since 1970 UTC.
    halt: Option<i64>,
}

/// The last update that was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateMark {
    /// The job's id, or the hash of the manifest and when it was tried.
    id: String,
    at_ms: i64,
}

/// How often the supply had been too low by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupplyMark {
    times: u32,
    at_ms: i64,
}

/// When a threshold was told, and whether it has been crossed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThresholdMark {
    at_ms: i64,
    stands: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskMark {
    level: u8,
    at_ms: i64,
    /// Whether it has been nearly full since.
    stands: bool,
}

/// One change of [`Told`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    Update(UpdateMark),
    Supply(SupplyMark),
    Disk(DiskMark),
    Card(String, u8),
    Threshold(String, ThresholdMark),
    Halt(i64),
}

/// How the supply is, as sampling recorded it.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// How often it was seen to become too low, and when it last was.
    pub times: u32,
    pub last_ms: Option<i64>,
    pub low_now: bool,
}

impl Told {
    /// Applies a change.
    pub fn note(&mut self, mark: Mark) {
        match mark {
            Mark::Update(mark) => self.update = Some(mark),
            Mark::Supply(mark) => self.supply = Some(mark),
            Mark::Disk(mark) => self.disk = Some(mark),
            Mark::Card(device, level) => drop(self.cards.insert(device, level)),
            Mark::Threshold(job, mark) => {
                self.thresholds.retain(|(known, _)| *known != job);
                let surplus = (self.thresholds.len() + 1).saturating_sub(MOST_JOBS);
                self.thresholds.drain(..surplus);
                self.thresholds.push((job, mark));
            }
            Mark::Halt(since_ms) => self.halt = Some(since_ms),
        }
    }

    /// An update that ended badly at `ended_ms`: whether that is to be told. `again_soon`: even within the hour.
    pub fn update(&self, id: &str, ended_ms: i64, now_ms: i64, again_soon: bool) -> Option<Mark> {
        let is_old = now_ms.abs_diff(ended_ms) > OLD_MS;
        let is_known =
            self.update.as_ref().is_some_and(|told| told.id == id || (!again_soon && within(told.at_ms, now_ms)));
        (!is_old && !is_known).then(|| Mark::Update(UpdateMark { id: id.to_owned(), at_ms: now_ms }))
    }

    /// A low supply: whether that is to be told. The mark alone is what was the case before anything was told.
    pub fn supply(&self, now: Supply, now_ms: i64) -> (Option<Mark>, bool) {
        let mark = |at_ms| Some(Mark::Supply(SupplyMark { times: now.times, at_ms }));
        match self.supply {
            None => {
                let recent = now.last_ms.is_some_and(|last| now_ms.abs_diff(last) <= 24 * HOUR_MS);
                let tell = now.low_now || recent;
                (mark(if tell { now_ms } else { 0 }), tell)
            }
            // The record was lost and began anew.
            Some(told) if now.times < told.times => (mark(told.at_ms), false),
            Some(told) if now.times > told.times && !within(told.at_ms, now_ms) => (mark(now_ms), true),
            Some(_) => (None, false),
        }
    }

    /// A disk that is full to `percent`: whether that is to be told. The mark alone says that it no longer is.
    pub fn disk(&self, percent: f64, now_ms: i64) -> (Option<Mark>, bool) {
        let level = LEVELS.into_iter().rev().find(|level| percent >= f64::from(*level));
        match (self.disk, level) {
            (Some(told), _) if told.stands && percent < CLEAR => {
                (Some(Mark::Disk(DiskMark { stands: false, ..told })), false)
            }
            (told, Some(level)) => {
                let tell = told.is_none_or(|told| level > told.level || (!told.stands && !within(told.at_ms, now_ms)));
                let mark = tell.then_some(Mark::Disk(DiskMark { level, at_ms: now_ms, stands: true }));
                (mark, tell)
            }
            (_, None) => (None, false),
        }
    }

    /// A job's threshold: whether it is to be told that it is crossed. The mark alone says that it no longer is.
    pub fn threshold(&self, job: &str, crossed: bool, now_ms: i64) -> (Option<Mark>, bool) {
        let told = self.thresholds.iter().find(|(known, _)| known == job).map(|(_, mark)| *mark);
        let mark = |at_ms, stands| Some(Mark::Threshold(job.to_owned(), ThresholdMark { at_ms, stands }));
        match told {
            Some(told) if told.stands && !crossed => (mark(told.at_ms, false), false),
            Some(told) if told.stands || within(told.at_ms, now_ms) => (None, false),
            _ if crossed => (mark(now_ms, true), true),
            _ => (None, false),
        }
    }

    /// A halt that began at `since_ms`: whether that is to be told.
    pub fn halt(&self, since_ms: i64) -> Option<Mark> {
        (self.halt != Some(since_ms)).then_some(Mark::Halt(since_ms))
    }

    /// A card: whether it is to be told that it is worn, or more so than before.
    pub fn card(
        &self,
        device: &str,
        life_used_percent: Option<u8>,
        spare_blocks: Option<&'static str>,
    ) -> Option<Mark> {
        let life = life_used_percent.filter(|used| *used >= WORN).unwrap_or(0);
        let spare = match spare_blocks {
            Some("warning") => WORN,
            Some("urgent") => 100,
            _ => 0,
        };
        let (level, told) = (life.max(spare), self.cards.get(device).copied().unwrap_or(0));
        (level > told).then(|| Mark::Card(device.to_owned(), level))
    }

    /// What `file` holds; nothing if it is missing or not understood.
    pub fn load(file: &Path) -> Self {
        let mut text = Vec::new();
        let read = File::open(file).and_then(|open| open.take(MOST_BYTES).read_to_end(&mut text));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                tracing::warn!(%error, file = %file.display(), "what was told already cannot be read; some may be told again");
                Self::default()
            }
            Ok(_) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                tracing::warn!(%error, file = %file.display(), "what was told already is not understood; some may be told again");
                Self::default()
            }),
        }
    }

    /// Replaces `file` atomically.
    ///
    /// # Errors
    /// The file system's.
    pub fn save(&self, file: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        whole::replace(file, 0o600, |open| open.write_all(&text))
    }
}

/// Whether it was told within the last hour. A clock that was set back counts by its distance.
fn within(at_ms: i64, now_ms: i64) -> bool {
    now_ms.abs_diff(at_ms) < HOUR_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = HOUR_MS as i64;

    /// Tells what is to be told; returns whether it was.
    fn note((mark, tell): (Option<Mark>, bool), told: &mut Told) -> bool {
        mark.into_iter().for_each(|mark| told.note(mark));
        tell
    }

    #[test]
    fn a_disk_that_flutters_is_told_once_and_a_fuller_one_again() {
        let mut told = Told::default();
        let mut tells = |percent: f64, at_ms: i64| note(told.disk(percent, at_ms), &mut told);
        assert!(!tells(89.9, 0));
        assert!(tells(90.0, 1));
        for minute in 1..50 {
            let percent = if minute % 2 == 0 { 90.5 } else { 86.0 };
            assert!(!tells(percent, minute * 60_000), "minute {minute}");
        }
        // It stands: an hour changes nothing, a higher level does.
        assert!(!tells(90.0, 2 * HOUR));
        assert!(tells(95.0, 2 * HOUR + 1) && tells(99.9, 2 * HOUR + 2) && !tells(99.0, 9 * HOUR));
        // Cleared and full again: at most once an hour.
        assert!(!tells(84.9, 9 * HOUR) && tells(90.0, 9 * HOUR));
        assert!(!tells(10.0, 9 * HOUR + 1) && !tells(90.0, 9 * HOUR + 2) && !tells(91.0, 10 * HOUR - 1));
        assert!(tells(91.0, 10 * HOUR));
    }

    #[test]
    fn a_threshold_is_told_when_it_is_crossed_and_again_after_it_was_over() {
        let mut told = Told::default();
        let mut tells = |crossed: bool, at_ms: i64| note(told.threshold("a", crossed, at_ms), &mut told);
        assert!(!tells(false, 0) && tells(true, 1));
        assert!(!tells(true, 9 * HOUR), "it stands");
        assert!(!tells(false, 9 * HOUR) && tells(true, 9 * HOUR + 1));
        assert!(!tells(false, 9 * HOUR + 2) && !tells(true, 9 * HOUR + 3) && tells(true, 10 * HOUR + 1), "an hour");
        for n in 0..2 * MOST_JOBS {
            note(told.threshold(&n.to_string(), true, 11 * HOUR), &mut told);
        }
        assert_eq!(told.thresholds.len(), MOST_JOBS);
    }

    #[test]
    fn a_low_supply_is_told_at_most_once_an_hour() {
        let mut told = Told::default();
        let now = 1000 * HOUR;
        let mut tells = |times: u32, at_ms: i64| {
            let supply = Supply { times, last_ms: Some(at_ms), low_now: false };
            note(told.supply(supply, at_ms), &mut told)
        };
        assert!(tells(1, now));
        assert!(!tells(1, now + 5 * HOUR));
        assert!(tells(2, now + 5 * HOUR));
        // What is held back is told when the hour is over.
        assert!(!tells(9, now + 6 * HOUR - 1) && tells(9, now + 6 * HOUR));
        // A record that began anew.
        assert!(!tells(1, now + 9 * HOUR) && tells(2, now + 9 * HOUR));
    }

    #[test]
    fn what_the_supply_did_last_year_is_no_news() {
        let (mut told, now) = (Told::default(), 10_000 * HOUR);
        let supply = |times| Supply { times, last_ms: Some(now - 25 * HOUR), low_now: false };
        assert!(!note(told.supply(supply(7), now), &mut told));
        assert!(!note(told.supply(supply(7), now + 1), &mut told));
        assert!(note(told.supply(supply(8), now + 2), &mut told));
        assert!(note(Told::default().supply(Supply { low_now: true, ..supply(7) }, now), &mut told));
    }

    #[test]
    fn an_update_is_told_once_and_failures_at_most_once_an_hour() {
        let mut told = Told::default();
        let now = 1000 * HOUR;
        let mark = told.update("a", now, now, false).unwrap();
        told.note(mark);
        assert_eq!(told.update("a", now, now + 2 * HOUR, false), None);
        assert_eq!(told.update("b", now, now + HOUR - 1, false), None);
        assert!(told.update("b", now, now + HOUR - 1, true).is_some());
        assert!(told.update("b", now, now + HOUR, false).is_some());
        assert_eq!(told.update("c", now - 8 * 24 * HOUR, now + HOUR, false), None);
    }

    #[test]
    fn a_card_is_told_when_it_is_worn_and_when_it_is_more_so() {
        let mut told = Told::default();
        assert_eq!(told.card("mmcblk0", Some(80), Some("normal")), None);
        told.note(told.card("mmcblk0", Some(90), None).unwrap());
        assert_eq!(told.card("mmcblk0", Some(90), Some("warning")), None);
        assert!(told.card("mmcblk1", None, Some("warning")).is_some());
        told.note(told.card("mmcblk0", Some(90), Some("urgent")).unwrap());
        assert_eq!(told.card("mmcblk0", Some(100), None), None);
        assert!(told.card("mmcblk0", Some(110), None).is_some());
    }

    #[test]
    fn a_halt_is_told_once_and_the_next_one_again() {
        let mut told = Told::default();
        told.note(told.halt(5).unwrap());
        assert_eq!(told.halt(5), None);
        assert_eq!(told.halt(6), Some(Mark::Halt(6)));
    }

    #[test]
    fn it_is_kept_and_a_torn_file_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notifications.json");
        assert_eq!(Told::load(&file), Told::default());
        let mut told = Told::default();
        told.note(Mark::Card("mmcblk0".into(), 90));
        told.note(Mark::Disk(DiskMark { level: 95, at_ms: 1, stands: true }));
        told.save(&file).unwrap();
        assert_eq!(Told::load(&file), told);
        std::fs::write(&file, "{").unwrap();
        assert_eq!(Told::load(&file), Told::default());
    }
}
