//! The decision for a boot's evidence and the record, as a table. The first matching row decides.
//! docs/update.md shows this very table; a test compares them.

mod rows;
mod view;

pub use rows::TABLE;

/// A set of values of a column: one bit each.
pub type Set = u16;

/// Columns of slots. With an update recorded, `T` is its target and `O` the other slot; without one, `O` is the running
/// slot and `T` the other.
pub mod place {
    use super::Set;
    pub const T: Set = 1;
    pub const O: Set = 2;
    /// Lost or unknown.
    pub const NONE: Set = 4;
    pub const NAMES: [(Set, &str); 3] = [(T, "T"), (O, "O"), (NONE, "?")];
}
/// The column of the record.
pub mod recorded {
    use super::Set;
    /// No update, and the running slot is good.
    pub const GOOD: Set = 1;
    /// No update, and no record of the running slot, as from the factory.
    pub const UNKNOWN: Set = 2;
    /// No update, and the running slot is recorded as bad.
    pub const BAD: Set = 4;
    /// Writing, written or verified.
    pub const WRITING: Set = 8;
    pub const ARMED: Set = 16;
    pub const TRIAL: Set = 32;
    pub const COMMITTING: Set = 64;
    pub const ROLLED_BACK: Set = 128;
    /// The record is lost.
    pub const LOST: Set = 256;
    /// An update that was started, or may have been.
    pub const STARTED: Set = ARMED | TRIAL | COMMITTING;
    pub const PENDING: Set = WRITING | STARTED | ROLLED_BACK;
    pub const NAMES: [(Set, &str); 9] = [
        (GOOD, "good"),
        (UNKNOWN, "unknown"),
        (BAD, "bad"),
        (WRITING, "writing"),
        (ARMED, "armed"),
        (TRIAL, "trial"),
        (COMMITTING, "committing"),
        (ROLLED_BACK, "rolled_back"),
        (LOST, "lost"),
    ];
}
/// The column of the flag.
pub mod flag {
    use super::Set;
    pub const YES: Set = 1;
    /// No, or unknown.
    pub const NO: Set = 2;
    pub const NAMES: [(Set, &str); 2] = [(YES, "yes"), (NO, "no")];
}
/// The column of the time of the record.
pub mod since {
    use super::Set;
    /// In this boot.
    pub const NOW: Set = 1;
    /// In an earlier boot, and the trial was started or may have been, by the marker of the restart into it or the boot
    /// chain's count.
    pub const TRIED: Set = 2;
    /// In an earlier boot, without a restart into the trial.
    pub const UNTRIED: Set = 4;
    pub const NAMES: [(Set, &str); 3] = [(NOW, "this boot"), (TRIED, "tried"), (UNTRIED, "untried")];
}

/// Matches everything.
pub const ANY: Set = Set::MAX;

/// Names of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Case {
    Elsewhere,
    HalvesInTrial,
    Halves,
    CommittedUnrecorded,
    CommitCut,
    TrialGoesOn,
    TrialBegins,
    TrialChainLost,
    TrialInDoubt,
    TargetForOther,
    TargetByDefault,
    Interrupted,
    InterruptedChainLost,
    ArmedWaits,
    ArmedNotTried,
    TrialDied,
    CommittedButDead,
    RolledBack,
    RolledBackWaits,
    Normal,
    FirstStart,
    BadButDefault,
    Walked,
    WalkedLost,
    Unrecorded,
    ChainLost,
    ChainLostUnproven,
    BothLost,
}

/// A row: sets for the six columns, and its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub case: Case,
    pub flag: Set,
    pub booted: Set,
    pub root: Set,
    pub default: Set,
    pub recorded: Set,
    pub since: Set,
    pub means: &'static str,
    pub does: &'static str,
}

/// The observed values: one bit per column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub flag: Set,
    pub booted: Set,
    pub root: Set,
    pub default: Set,
    pub recorded: Set,
    pub since: Set,
}

impl Row {
    pub const fn fits(&self, view: View) -> bool {
        self.flag & view.flag != 0
            && self.booted & view.booted != 0
            && self.root & view.root != 0
            && self.default & view.default != 0
            && self.recorded & view.recorded != 0
            && self.since & view.since != 0
    }
}

/// The row that decides; `None` would be a gap in the table, which a test over all views excludes.
pub fn row(view: View) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.fits(view))
}
