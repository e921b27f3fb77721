//! What the agent keeps of a fleet: the sequence of its signed messages, and which orders it has followed.

use super::files;
use appliance::generation::first_sequence;
use base::error::ToolError;
use fleet_protocol::order::{Order, OrderKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The file in the agent's folder.
const FILE: &str = "fleet.json";
/// Numbers that are reserved with one write to the card: of one hour of reports, or some days of few.
const BLOCK: u64 = 4096;

/// Written to the card. The release in the other slot may have written it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    /// No number above it was given away.
    reserved: u64,
    /// The sequence of the last order of each kind that was followed, also of kinds that only another release knows.
    orders: BTreeMap<String, u64>,
    /// What the last order said about reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    report_minutes: Option<u32>,
    /// Fields of another release.
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Default)]
struct State {
    kept: Kept,
    last: u64,
}

pub(crate) struct FleetRecord {
    path: PathBuf,
    /// How often this identity was restored from a backup.
    pub(crate) generation: u64,
    state: Mutex<State>,
}

impl FleetRecord {
    /// Reads the record. An unreadable one is a fault; numbers then go on by the clock, which is above them unless it was
    /// wrong, and orders may be followed once more.
    pub(crate) fn load(folder: &Path, generation: u64, faults: &mut Vec<String>) -> Self {
        let path = folder.join(FILE);
        let read = files::read_state::<Kept>(&path, "it is written anew", faults);
        let kept = read.unwrap_or_else(|error| {
            faults.push(error.into_message());
            None
        });
        let kept = kept.unwrap_or_default();
        let last = kept.reserved.max(first_sequence(generation));
        Self { path, generation, state: Mutex::new(State { kept, last }) }
    }

    /// The number of the next message: above all before it, over restarts and clocks that are set back. `now_ms` is used
    /// so that it also rises when the record was lost. After a restore it is above all that an older card can give.
    ///
    /// # Errors
    /// `unavailable` when the card does not take the reservation.
    pub(crate) fn next_sequence(&self, now_ms: i64) -> Result<u64, ToolError> {
        let mut state = self.lock();
        let next = (state.last + 1).max(first_sequence(self.generation) + u64::try_from(now_ms / 1000).unwrap_or(0));
        if next > state.kept.reserved {
            let kept = Kept { reserved: next + BLOCK, ..state.kept.clone() };
            self.save(&mut state, kept)?;
        }
        state.last = next;
        Ok(next)
    }

    /// Whether this order is newer than the last one of its operation.
    ///
    /// # Errors
    /// `failed_precondition`.
    pub(crate) fn is_new(&self, order: &Order) -> Result<(), ToolError> {
        match self.lock().kept.orders.get(order.operation.name()) {
            Some(last) if order.sequence <= *last => {
                Err(ToolError::precondition("the order is not newer than the last one that was followed")
                    .hint("sign it again; the clock of the computer that signs may be behind"))
            }
            _ => Ok(()),
        }
    }

    /// Records an order that was followed.
    ///
    /// # Errors
    /// `unavailable` when the card does not take it.
    pub(crate) fn followed(&self, order: &Order) -> Result<(), ToolError> {
        let mut state = self.lock();
        let mut kept = state.kept.clone();
        kept.orders.insert(order.operation.name().to_owned(), order.sequence);
        kept.report_minutes = order.args.minutes.or(kept.report_minutes);
        self.save(&mut state, kept)
    }

    /// The sequence of the last order of this kind that was followed; 0 without one.
    pub(crate) fn last_order(&self, kind: OrderKind) -> u64 {
        self.lock().kept.orders.get(kind.name()).copied().unwrap_or_default()
    }

    /// How often an order said to report.
    pub(crate) fn report_minutes(&self) -> Option<u32> {
        self.lock().kept.report_minutes
    }

    fn save(&self, state: &mut MutexGuard<'_, State>, kept: Kept) -> Result<(), ToolError> {
        // Numbers and names: this cannot fail.
        files::replace(&self.path, &serde_json::to_vec(&kept).unwrap_or_default())?;
        state.kept = kept;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet_protocol::order::OrderArgs;
    use serde_json::json;

    #[test]
    fn numbers_rise_over_restarts_and_clocks_that_are_set_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let load = || FleetRecord::load(folder.path(), 0, &mut Vec::new());
        let first = load();
        let at = |record: &FleetRecord, now| record.next_sequence(now).expect("a writable folder");
        assert_eq!((at(&first, 5_000_000), at(&first, 5_000_000)), (5_000, 5_001));
        assert_eq!(at(&first, 9_000), 5_002);
        let again = at(&load(), 0);
        assert!(again > 5_002, "{again}");
        std::fs::write(folder.path().join(FILE), "{").expect("a writable folder");
        assert_eq!(at(&load(), 99_000_000), 99_000);
    }

    #[test]
    fn a_restored_device_numbers_above_everything_of_the_card_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |generation, now| {
            let record = FleetRecord::load(folder.path(), generation, &mut Vec::new());
            record.next_sequence(now).expect("a writable folder")
        };
        let old = at(0, 1_800_000_000_000);
        // Without a clock, as at the first start of a card.
        let new = at(1, 0);
        assert!(new > old + (1 << 39), "{new}");
        assert_eq!(at(1, 1_900_000_000_000), first_sequence(1) + 1_900_000_000);
    }

    #[test]
    fn an_order_counts_once_and_an_older_one_never() {
        let folder = tempfile::tempdir().expect("a folder");
        let order = |sequence| Order {
            purpose: String::new(),
            fleet: String::new(),
            device: String::new(),
            sequence,
            time_ms: 0,
            operation: OrderKind::Interval,
            args: OrderArgs { minutes: Some(7), reason: None },
        };
        let record = FleetRecord::load(folder.path(), 0, &mut Vec::new());
        record.is_new(&order(5)).expect("the first");
        record.followed(&order(5)).expect("a writable folder");
        let record = FleetRecord::load(folder.path(), 0, &mut Vec::new());
        assert!(record.is_new(&order(5)).is_err() && record.is_new(&order(4)).is_err());
        assert!(record.is_new(&order(6)).is_ok());
        assert_eq!(record.report_minutes(), Some(7));
    }
    #[test]
    fn what_another_release_wrote_is_kept_and_takes_no_sequence_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE);
        let written = json!({ "reserved": 9000, "orders": { "halt": 7, "restart": 3 }, "groups": ["hall"] });
        std::fs::write(&file, written.to_string()).expect("a writable folder");
        let mut faults = Vec::new();
        let record = FleetRecord::load(folder.path(), 0, &mut faults);
        assert_eq!(faults, Vec::<String>::new());
        let halt = |sequence| Order {
            purpose: String::new(),
            fleet: String::new(),
            device: String::new(),
            sequence,
            time_ms: 0,
            operation: OrderKind::Halt,
            args: OrderArgs::default(),
        };
        assert!(record.is_new(&halt(7)).is_err(), "it was followed before the rollback");
        record.followed(&halt(8)).expect("a writable folder");
        let now: Value = serde_json::from_slice(&std::fs::read(&file).expect("it is there")).expect("JSON");
        assert_eq!(now, json!({ "reserved": 9000, "orders": { "halt": 8, "restart": 3 }, "groups": ["hall"] }));
    }

    #[test]
    fn what_cannot_be_read_is_set_aside_before_it_is_written_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE), r#"{"reserved":{"hour":1}}"#).expect("a writable folder");
        let mut faults = Vec::new();
        let record = FleetRecord::load(folder.path(), 0, &mut faults);
        assert!(faults.len() == 1 && faults[0].contains(FILE), "{faults:?}");
        record.next_sequence(1_000).expect("a writable folder");
        let aside = std::fs::read_to_string(folder.path().join("fleet.json.unread")).expect("it is there");
        assert_eq!(aside, r#"{"reserved":{"hour":1}}"#);
    }
}
