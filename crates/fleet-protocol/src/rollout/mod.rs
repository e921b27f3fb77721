//! Rollouts: what is planned, how the devices' statuses are judged, and what is written down. Pure: no file, no clock.
//!
//! A person signs the index of every stage beforehand ([`steps`]). A controller holds no key: by the devices' own signed
//! statuses it only decides when the next of these indexes is published ([`judge()`]). docs/rollouts.md explains it to users.

pub mod decision;
pub mod device;
pub mod judge;
pub mod lease;
pub mod memory;
pub mod plan;
pub mod record;
pub mod steps;

pub use decision::{Decision, DecisionKind, Evidence, FailedDevice};
pub use device::{DeviceOutcome, HeardAttempt, HeardStatus, RolloutDevice};
pub use judge::{JudgeTime, Judgement, Verdict, WaitReason, judge};
pub use lease::{LeaseMove, LeaseWatch};
pub use memory::RolloutMemory;
pub use plan::{RolloutPlan, RolloutTarget, Stage, StopConditions};
pub use record::{RolloutPhase, RolloutRecord};

#[cfg(test)]
mod judge_tests;
#[cfg(test)]
mod record_tests;
