//! The agent's record of the slots, and the decision at each boot (docs/update.md has the diagram and the table). Steps
//! and rules are numbered as in docs/update-proofs.md.
//!
//! Pure functions decide: a [`StateRecord`] and the boot chain's evidence give a [`Step`]: acts to do before, one write of
//! the new state, and acts to do after. [`Ledger`] performs steps on a card. After an interruption, the next boot
//! settles from what it finds.

mod admit;
mod arm;
mod channel_reached;
pub mod clock;
pub mod counter;
mod damage;
mod effects;
mod health;
mod last_words;
mod ledger;
pub mod limits;
mod parse;
mod record;
mod settle;
mod state;
mod step;
pub mod table;
mod trial;
mod write;

pub use admit::{AdmissionInput, Candidate, admit, floor, unblock};
pub use arm::{OldSystem, arm, end_wait, judge_old, plan_restart, restarting, roll_back};
pub use channel_reached::{channel_reached, has_reached_channel};
pub use health::healthy;
pub use last_words::LONGEST_LOG;
pub use ledger::Ledger;
pub use limits::UpdateLimits;
pub use record::{OpenedStore, StateStore};
pub use settle::{BootState, Here, Settled, settle};
pub use state::{
    Blocked, FailedTrial, MOST_ROOTS, Orderly, PendingUpdate, SlotRecord, Slots, Stage, StateRecord, TrialKind,
};
pub use step::{Act, Step, perform};
pub use table::Case;
pub use trial::{Trial, commit, committed, condemn};
pub use write::{begin_writing, checkpoint, failed, verified, written};

/// How often a version is armed in all before it is blocked.
pub const MOST_ARMINGS: u8 = 3;

/// How many trials may fail for what the old system lacks as well; further ones count like any other.
pub const MOST_EXCUSED_TRIALS: u8 = 16;
