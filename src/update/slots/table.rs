//! Rule 1: what follows from the evidence of a boot and the record, as a table. The first row that fits decides. docs/update.md
//! shows this very table; a test compares them.

use super::{Stage, State};
use crate::update::{
    Slot,
    boot::{Evidence, ResetCause},
    status::SlotState,
};

/// A set of things a column can be: one bit each.
pub type Set = u16;

/// Columns of slots. With an update recorded, `T` is its target and `O` the other slot; with none, the running slot is `O` and the
/// one that does not run is `T`.
pub mod place {
    use super::Set;
    pub const T: Set = 1;
    pub const O: Set = 2;
    /// Lost, or nobody tells.
    pub const NONE: Set = 4;
    pub const NAMES: [(Set, &str); 3] = [(T, "T"), (O, "O"), (NONE, "?")];
}
/// The column of what is recorded.
pub mod recorded {
    use super::Set;
    /// No update, and the running slot is good.
    pub const GOOD: Set = 1;
    /// No update, and nothing is known of the running slot.
    pub const UNKNOWN: Set = 2;
    /// No update, and the running slot is recorded as bad.
    pub const BAD: Set = 4;
    /// Writing, written or verified.
    pub const WRITING: Set = 8;
    pub const ARMED: Set = 16;
    pub const TRIAL: Set = 32;
    pub const COMMITTING: Set = 64;
    pub const ROLLED_BACK: Set = 128;
    /// An update that was started, or may have been.
    pub const STARTED: Set = ARMED | TRIAL | COMMITTING;
    pub const PENDING: Set = WRITING | STARTED | ROLLED_BACK;
    pub const NAMES: [(Set, &str); 8] = [
        (GOOD, "good"),
        (UNKNOWN, "unknown"),
        (BAD, "bad"),
        (WRITING, "writing"),
        (ARMED, "armed"),
        (TRIAL, "trial"),
        (COMMITTING, "committing"),
        (ROLLED_BACK, "rolled_back"),
    ];
}
/// The column of the flag.
pub mod flag {
    use super::Set;
    pub const YES: Set = 1;
    /// Or nobody tells.
    pub const NO: Set = 2;
    pub const NAMES: [(Set, &str); 2] = [(YES, "yes"), (NO, "no")];
}
/// The column of when it was recorded.
pub mod since {
    use super::Set;
    /// In this boot.
    pub const NOW: Set = 1;
    /// In an earlier one, and the trial was started or may have been: the marker of the restart into it, or the boot chain's own count.
    pub const TRIED: Set = 2;
    /// In an earlier one, and nobody restarted into the trial.
    pub const UNTRIED: Set = 4;
    pub const NAMES: [(Set, &str); 3] = [(NOW, "this boot"), (TRIED, "tried"), (UNTRIED, "untried")];
}

/// So often the power may fail between arming and the restart, before that counts as an attempt as well: no loop is without an end.
const MOST_LOST: u8 = 16;

/// Fits everything.
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
    WalkedUnproven,
    Unrecorded,
    ChainLost,
    ChainLostUnproven,
}

/// A row: sets for the six columns, and what it means.
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

/// What is seen, in the words of the table: one bit a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub flag: Set,
    pub booted: Set,
    pub root: Set,
    pub default: Set,
    pub recorded: Set,
    pub since: Set,
}

macro_rules! row {
    ($case:ident, $flag:expr, $booted:expr, $root:expr, $default:expr, $recorded:expr, $since:expr, $means:literal, $does:literal) => {
        Row {
            case: Case::$case,
            flag: $flag,
            booted: $booted,
            root: $root,
            default: $default,
            recorded: $recorded,
            since: $since,
            means: $means,
            does: $does,
        }
    };
}

/// The table. The last column speaks of what is done at once; what is done once the slot was found healthy is said so.
pub const TABLE: &[Row] = {
    use flag::{NO, YES};
    use place::{NONE, O, T};
    use recorded::{ARMED, BAD, COMMITTING, GOOD, PENDING, ROLLED_BACK, STARTED, TRIAL, UNKNOWN, WRITING};
    use since::{NOW, TRIED, UNTRIED};
    const TX: Set = T | NONE;
    const OX: Set = O | NONE;
    &[
        row!(Elsewhere, ANY, NONE, NONE, ANY, ANY, ANY, "it runs from neither slot", "nothing; updates are refused"),
        row!(
            HalvesInTrial,
            YES,
            T,
            O,
            O,
            STARTED,
            ANY,
            "a trial with the root of the other slot",
            "condemned: a plain restart to O"
        ),
        row!(
            HalvesInTrial,
            YES,
            O,
            T,
            O,
            STARTED,
            ANY,
            "a trial with the boot files of the other slot",
            "condemned: a plain restart to O"
        ),
        row!(
            Halves,
            ANY,
            T,
            O,
            ANY,
            ANY,
            ANY,
            "boot files and root of different slots",
            "nothing; updates are refused"
        ),
        row!(
            Halves,
            ANY,
            O,
            T,
            ANY,
            ANY,
            ANY,
            "boot files and root of different slots",
            "nothing; updates are refused"
        ),
        row!(
            CommittedUnrecorded,
            ANY,
            TX,
            TX,
            T,
            COMMITTING,
            ANY,
            "committed, and cut before it was recorded",
            "recorded; the floors rise; what is revoked is barred"
        ),
        row!(
            CommitCut,
            YES,
            T,
            T,
            O,
            COMMITTING,
            NOW,
            "it proved itself in this boot, and the boot chain was not told",
            "the default becomes T; recorded; the floors rise"
        ),
        row!(
            TrialGoesOn,
            YES,
            T,
            T,
            O,
            TRIAL,
            NOW,
            "the agent restarted in a trial",
            "the trial goes on; condemned already: a plain restart to O"
        ),
        row!(
            TrialBegins,
            YES,
            T,
            T,
            O,
            STARTED,
            ANY,
            "a trial begins",
            "recorded; the trial runs; a fourth one is condemned"
        ),
        row!(
            TrialChainLost,
            YES,
            T,
            T,
            NONE,
            STARTED,
            ANY,
            "a trial, and the boot chain lost its default meanwhile",
            "the default becomes O; the trial runs"
        ),
        row!(
            TrialInDoubt,
            YES,
            TX,
            TX,
            O,
            STARTED,
            ANY,
            "a trial, and boot partition or root cannot be told",
            "condemned: a plain restart to O"
        ),
        row!(
            TargetForOther,
            ANY,
            TX,
            TX,
            O,
            PENDING,
            ANY,
            "T runs though O is the default: O did not start",
            "walked: once healthy, the default becomes T"
        ),
        row!(
            TargetByDefault,
            ANY,
            TX,
            TX,
            T | NONE,
            PENDING,
            ANY,
            "the boot chain forgot, and started T by itself",
            "the default becomes O; a plain restart; after three times: walked"
        ),
        row!(
            Interrupted,
            ANY,
            OX,
            OX,
            O,
            WRITING,
            ANY,
            "an install was interrupted",
            "it can go on; T's head is zeroed again if it is not zero"
        ),
        row!(
            InterruptedChainLost,
            ANY,
            OX,
            OX,
            T | NONE,
            WRITING,
            ANY,
            "an install was interrupted, and the boot chain forgot",
            "the default becomes O at once, since T cannot start"
        ),
        row!(
            ArmedWaits,
            ANY,
            OX,
            OX,
            ANY,
            ARMED,
            NOW,
            "armed in this boot",
            "the chain is told again; it waits for a restart"
        ),
        row!(
            ArmedNotTried,
            ANY,
            OX,
            OX,
            ANY,
            ARMED,
            UNTRIED,
            "armed, not tried: the flag was lost",
            "armed again without a download; not another arming"
        ),
        row!(
            TrialDied,
            ANY,
            OX,
            OX,
            ANY,
            ARMED,
            TRIED,
            "the trial died before the agent saw it",
            "an attempt: armed again, three times in all, then blocked"
        ),
        row!(
            CommittedButDead,
            ANY,
            OX,
            OX,
            T,
            COMMITTING,
            ANY,
            "committed, and then it did not start",
            "the default becomes O; blocked; T's head is zeroed"
        ),
        row!(
            RolledBack,
            ANY,
            OX,
            OX,
            ANY,
            TRIAL | COMMITTING,
            ANY,
            "the old slot after a trial",
            "condemned: judged beside O's health; else an attempt: armed again, three times in all, then blocked"
        ),
        row!(
            RolledBackWaits,
            ANY,
            OX,
            OX,
            ANY,
            ROLLED_BACK,
            ANY,
            "the trial failed, O is being looked at",
            "O healthy: blocked, T's head is zeroed; O offline as well: armed again"
        ),
        row!(
            Normal,
            ANY,
            OX,
            OX,
            O,
            GOOD,
            ANY,
            "as it should be (the flag of a commit stays until the next restart)",
            "once healthy, the chain's count is filled up"
        ),
        row!(
            FirstStart,
            ANY,
            OX,
            OX,
            O,
            UNKNOWN,
            ANY,
            "the factory's empty record, or both copies lost",
            "O is good, since it is the default"
        ),
        row!(
            BadButDefault,
            ANY,
            OX,
            OX,
            O,
            BAD,
            ANY,
            "what is recorded as bad is the default and runs",
            "walked: once healthy, it is good"
        ),
        row!(
            Walked,
            ANY,
            OX,
            OX,
            T,
            GOOD,
            ANY,
            "a good slot that the default does not name: T did not start",
            "walked: once healthy, the default becomes O, and T is bad"
        ),
        row!(
            WalkedUnproven,
            NO,
            OX,
            OX,
            T,
            UNKNOWN | BAD,
            ANY,
            "likewise, a slot of which nothing good is known",
            "walked: once healthy, the default becomes O, and T is bad"
        ),
        row!(
            Unrecorded,
            YES,
            OX,
            OX,
            T | NONE,
            UNKNOWN | BAD,
            ANY,
            "a trial of which nothing is recorded",
            "nothing is rewritten; the next restart is T's, unless a person marks it good"
        ),
        row!(
            ChainLost,
            ANY,
            OX,
            OX,
            NONE,
            GOOD,
            ANY,
            "the boot chain lost its default",
            "the default becomes O at once"
        ),
        row!(
            ChainLostUnproven,
            NO,
            OX,
            OX,
            NONE,
            UNKNOWN | BAD,
            ANY,
            "likewise, and nothing good is known of the running slot",
            "walked: once healthy, the default becomes O"
        ),
    ]
};

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

/// The row that decides; `None` would be a hole in the table, which a test over all views excludes.
pub fn row(view: View) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.fits(view))
}

impl View {
    /// The evidence and the record in the table's words.
    pub fn of(state: &State, seen: &Evidence) -> Self {
        let running = seen.running().or(seen.root);
        let target = state.update.as_ref().map(|update| update.target).or_else(|| running.map(Slot::other));
        let place = |slot: Option<Slot>| match slot {
            None => place::NONE,
            Some(slot) if Some(slot) == target => place::T,
            Some(_) => place::O,
        };
        Self {
            flag: if seen.trial == Some(true) { flag::YES } else { flag::NO },
            booted: place(seen.booted),
            root: place(seen.root),
            default: place(named(state, seen, running)),
            recorded: record(state, running),
            since: when(state, seen),
        }
    }
}

/// The default that the boot chain names. One that counts no longer names a slot whose boots are spent; where nothing is on trial, that
/// slot was the default and did not start.
fn named(state: &State, seen: &Evidence, running: Option<Slot>) -> Option<Slot> {
    let spent = |slot: &Slot| seen.tries.is_some_and(|tries| tries.of(*slot) == 0);
    let passed_over = seen.armed.filter(|slot| state.update.is_none() && Some(*slot) != running && spent(slot));
    passed_over.or(seen.default)
}

fn record(state: &State, running: Option<Slot>) -> Set {
    use recorded::{ARMED, BAD, COMMITTING, GOOD, ROLLED_BACK, TRIAL, UNKNOWN, WRITING};
    match state.update.as_ref().map(|update| update.stage) {
        Some(Stage::Writing | Stage::Written | Stage::Verified) => WRITING,
        Some(Stage::Armed) => ARMED,
        Some(Stage::Trial) => TRIAL,
        Some(Stage::Committing) => COMMITTING,
        Some(Stage::RolledBack) => ROLLED_BACK,
        None => match running.map(|slot| state.slots.of(slot).state) {
            Some(SlotState::Good) => GOOD,
            Some(SlotState::Unknown) | None => UNKNOWN,
            Some(_) => BAD,
        },
    }
}

fn when(state: &State, seen: &Evidence) -> Set {
    let Some(update) = &state.update else { return since::NOW };
    let this = |id: Option<&String>| id.is_some() && id == seen.boot_id.as_ref();
    if update.stage != Stage::Armed {
        return if this(update.trials.last()) { since::NOW } else { since::TRIED };
    }
    if this(update.armed_in.as_ref()) {
        return since::NOW;
    }
    let asked = state.orderly.as_ref().is_some_and(|orderly| orderly.trial);
    // A chain that counts knows better than the marker, unless it forgot.
    let counted = seen.tries.map(|tries| (seen.armed == Some(update.target), tries.of(update.target)));
    let tried = match counted {
        Some((true, left)) => left == 0,
        Some((false, _)) => asked,
        // Without a marker only lost power proves that the flag was lost; anything else may have been the trial's end.
        None => asked || seen.reset != Some(ResetCause::PowerOn) || update.lost >= MOST_LOST,
    };
    if tried { since::TRIED } else { since::UNTRIED }
}
