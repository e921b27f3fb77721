//! The decision for a boot's evidence and the record, as a table. The first matching row decides.
//! docs/update.md shows this very table; a test compares them.

mod rows;
mod view;

pub use rows::TABLE;

/// A set of values of a column: one bit each.
pub type ValueSet = u16;

/// Columns of slots. With an update recorded, `T` is its target and `O` the other slot; without one, `O` is the running
/// slot and `T` the other.
pub mod place {
    use super::ValueSet;
    pub const T: ValueSet = 1;
    pub const O: ValueSet = 2;
    /// Lost or unknown.
    pub const NONE: ValueSet = 4;
    pub const NAMES: [(ValueSet, &str); 3] = [(T, "T"), (O, "O"), (NONE, "?")];
}
/// The column of the record.
pub mod recorded {
    use super::ValueSet;
    /// No update, and the running slot is good.
    pub const GOOD: ValueSet = 1;
    /// No update, and no record of the running slot, as from the factory.
    pub const UNKNOWN: ValueSet = 2;
    /// No update, and the running slot is recorded as bad.
    pub const BAD: ValueSet = 4;
    /// Writing, written or verified.
    pub const WRITING: ValueSet = 8;
    pub const ARMED: ValueSet = 16;
    pub const TRIAL: ValueSet = 32;
    pub const COMMITTING: ValueSet = 64;
    pub const ROLLED_BACK: ValueSet = 128;
    /// The record is lost.
    pub const LOST: ValueSet = 256;
    /// An update that was started, or may have been.
    pub const STARTED: ValueSet = ARMED | TRIAL | COMMITTING;
    pub const PENDING: ValueSet = WRITING | STARTED | ROLLED_BACK;
    pub const NAMES: [(ValueSet, &str); 9] = [
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
    use super::ValueSet;
    pub const YES: ValueSet = 1;
    /// No, or unknown.
    pub const NO: ValueSet = 2;
    pub const NAMES: [(ValueSet, &str); 2] = [(YES, "yes"), (NO, "no")];
}
/// The column of the time of the record.
pub mod since {
    use super::ValueSet;
    /// In this boot.
    pub const NOW: ValueSet = 1;
    /// In an earlier boot, and the trial was started or may have been, by the marker of the restart into it or the boot
    /// chain's count.
    pub const TRIED: ValueSet = 2;
    /// In an earlier boot, without a restart into the trial.
    pub const UNTRIED: ValueSet = 4;
    pub const NAMES: [(ValueSet, &str); 3] = [(NOW, "this boot"), (TRIED, "tried"), (UNTRIED, "untried")];
}

/// Matches everything.
pub const ANY: ValueSet = ValueSet::MAX;

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
pub struct TableRow {
    pub case: Case,
    pub flag: ValueSet,
    pub booted: ValueSet,
    pub root: ValueSet,
    pub default: ValueSet,
    pub recorded: ValueSet,
    pub since: ValueSet,
    pub means: &'static str,
    pub does: &'static str,
}

/// The observed values: one bit per column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub flag: ValueSet,
    pub booted: ValueSet,
    pub root: ValueSet,
    pub default: ValueSet,
    pub recorded: ValueSet,
    pub since: ValueSet,
}

impl TableRow {
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
pub fn row(view: View) -> Option<&'static TableRow> {
    TABLE.iter().find(|row| row.fits(view))
}
