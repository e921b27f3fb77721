//! The rows, as docs/update.md shows them.

use super::{ANY, Case, TableRow, ValueSet, flag, place, recorded, since};

macro_rules! row {
    ($case:ident, $flag:expr, $booted:expr, $root:expr, $default:expr, $recorded:expr, $since:expr, $means:literal, $does:literal) => {
        TableRow {
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

/// The table. The last column describes immediate effects; those after the slot was found healthy are marked so.
#[rustfmt::skip]
pub const TABLE: &[TableRow] = {
    use flag::{NO, YES};
    use place::{NONE, O, T};
    use recorded::{ARMED, BAD, COMMITTING, GOOD, LOST, PENDING, ROLLED_BACK, STARTED, TRIAL, UNKNOWN, WRITING};
    use since::{NOW, TRIED, UNTRIED};
    const TX: ValueSet = T | NONE;
    const OX: ValueSet = O | NONE;
    &[
        row!(Elsewhere, ANY, NONE, NONE, ANY, ANY, ANY, "it runs from neither slot", "nothing; updates are refused"),
        row!(HalvesInTrial, YES, T, O, O, STARTED, ANY, "a trial with the root of the other slot", "condemned: a plain restart to O"),
        row!(HalvesInTrial, YES, O, T, O, STARTED, ANY, "a trial with the boot files of the other slot", "condemned: a plain restart to O"),
        row!(Halves, ANY, T, O, ANY, ANY, ANY, "boot files and root of different slots", "nothing; updates are refused"),
        row!(Halves, ANY, O, T, ANY, ANY, ANY, "boot files and root of different slots", "nothing; updates are refused"),
        row!(CommittedUnrecorded, ANY, TX, TX, T, COMMITTING, ANY, "committed, and cut before it was recorded", "recorded; the floors rise; what is revoked is barred"),
        row!(CommitCut, YES, T, T, O, COMMITTING, NOW, "it proved itself in this boot, and the boot chain was not told", "the default becomes T; recorded; the floors rise"),
        row!(TrialGoesOn, YES, T, T, O, TRIAL, NOW, "the agent restarted in a trial", "the trial goes on; condemned already: a plain restart to O"),
        row!(TrialBegins, YES, T, T, O, STARTED, ANY, "a trial begins", "recorded; the trial runs; a fourth one is condemned"),
        row!(TrialChainLost, YES, T, T, NONE, STARTED, ANY, "a trial, and the boot chain lost its default meanwhile", "the default becomes O; the trial runs"),
        row!(TrialInDoubt, YES, TX, TX, O, STARTED, ANY, "a trial, and boot partition or root cannot be told", "condemned: a plain restart to O"),
        row!(TargetForOther, ANY, TX, TX, O, PENDING, ANY, "T runs though O is the default: O did not start", "walked: once healthy, the default becomes T"),
        row!(TargetByDefault, ANY, TX, TX, T | NONE, PENDING, ANY, "the boot chain forgot, and started T by itself", "the default becomes O; a plain restart; after three times: walked"),
        row!(Interrupted, ANY, OX, OX, O, WRITING, ANY, "an install was interrupted", "it can go on; T's head is zeroed again if it is not zero"),
        row!(InterruptedChainLost, ANY, OX, OX, T | NONE, WRITING, ANY, "an install was interrupted, and the boot chain forgot", "the default becomes O at once, since T cannot start"),
        row!(ArmedWaits, ANY, OX, OX, ANY, ARMED, NOW, "armed in this boot", "it waits for a restart into it, with which the chain is told"),
        row!(ArmedNotTried, ANY, OX, OX, ANY, ARMED, UNTRIED, "armed, not tried: no restart into it was asked for, or the flag was lost", "it stays armed, without a download; not another arming"),
        row!(TrialDied, ANY, OX, OX, ANY, ARMED, TRIED, "the trial died before the agent saw it", "an attempt: armed again, three times in all, then blocked"),
        row!(CommittedButDead, ANY, OX, OX, T, COMMITTING, ANY, "committed, and then it did not start", "the default becomes O; blocked; T's head is zeroed"),
        row!(RolledBack, ANY, OX, OX, ANY, TRIAL | COMMITTING, ANY, "the old slot after a trial", "condemned: judged beside O's health; else an attempt: armed again, three times in all, then blocked"),
        row!(RolledBackWaits, ANY, OX, OX, ANY, ROLLED_BACK, ANY, "the trial failed, O is being looked at", "O healthy: blocked, T's head is zeroed, or, if T lacked nothing but the network, an attempt: armed again, three times in all; O lacks the same: it waits until that works, which does not count"),
        row!(Normal, ANY, OX, OX, O, GOOD, ANY, "as it should be (the flag of a commit stays until the next restart)", "once healthy, the chain's count is filled up"),
        row!(FirstStart, ANY, OX, OX, O, UNKNOWN | LOST, ANY, "the factory's empty record, or a lost one", "O is good, since it is the default"),
        row!(BadButDefault, ANY, OX, OX, O, BAD, ANY, "what is recorded as bad is the default and runs", "walked: once healthy, it is good"),
        row!(Walked, ANY, OX, OX, T, GOOD | UNKNOWN | BAD, ANY, "a slot that the default does not name: T did not start, or was not found healthy in time", "walked: once healthy, the default becomes O; T is bad if it did not start"),
        row!(WalkedLost, NO, OX, OX, T, LOST, ANY, "likewise, and what was recorded is lost", "walked: once healthy, the default becomes O; T is bad if it did not start"),
        row!(Unrecorded, YES, OX, OX, T | NONE, LOST, ANY, "a trial, it may be, whose record is lost", "nothing is rewritten; the next restart is T's, unless a person marks it good"),
        row!(ChainLost, ANY, OX, OX, NONE, GOOD, ANY, "the boot chain lost its default", "the default becomes O at once"),
        row!(ChainLostUnproven, ANY, OX, OX, NONE, UNKNOWN | BAD, ANY, "likewise, and nothing good is known of the running slot", "walked: once healthy, the default becomes O"),
        row!(BothLost, NO, OX, OX, NONE, LOST, ANY, "the boot chain lost its default, and the agent its record", "walked: once healthy, the default becomes O"),
    ]
};
