//! The state of a rollout, which its controllers and consoles share. Each change replaces the whole record, if nobody else
//! replaced it meanwhile; then the channel is brought to the record's step. So whoever dies in between is followed by
//! anybody who does the rest.

use super::{
    Decision, DecisionKind, Evidence, FailedDevice, Judgement, RolloutMemory, RolloutPlan, Verdict, WaitReason,
    steps::{ROUNDS, Step},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

/// What is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutRecord {
    /// The plan's hash.
    pub plan: String,
    /// The controller that acts; `None` after it gave up.
    pub holder: Option<String>,
    pub phase: RolloutPhase,
    /// From 0.
    pub stage: usize,
    /// 1 after the stage was resumed.
    pub round: u32,
    /// What is waited for.
    pub waits: Option<WaitReason>,
    pub memory: RolloutMemory,
    /// The last decision, so that whoever follows can write it down.
    pub last: Decision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RolloutPhase {
    Running,
    /// By a person, who can resume it.
    Paused,
    /// By a stop condition. It is over; the pause stays published.
    Stopped,
    /// By a person. It is over; the pause stays published.
    Aborted,
    Done,
}

/// Who decides, and when.
#[derive(Clone, Copy, Debug)]
pub struct Decider<'a> {
    pub name: &'a str,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

impl RolloutPhase {
    /// Whether nothing follows.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Stopped | Self::Aborted | Self::Done)
    }
}

impl RolloutRecord {
    /// The first record. Nobody holds it yet.
    pub fn start(plan: &RolloutPlan, hash: &str, memory: RolloutMemory, by: Decider<'_>) -> Self {
        let step = Step { stage: 0, round: 0, paused: false }.number();
        let last = Decision {
            number: 1,
            time_ms: by.now_ms,
            by: by.name.to_owned(),
            plan: hash.to_owned(),
            kind: DecisionKind::Start,
            stage: 1,
            step,
            why: format!("the rollout of {} in {} stages begins", plan.version, plan.stages.len()),
            devices: vec![],
            evidence: None,
        };
        let (phase, waits) = (RolloutPhase::Running, None);
        Self { plan: hash.to_owned(), holder: None, phase, stage: 0, round: 0, waits, memory, last }
    }

    /// The number of the signed index that the channel must have.
    pub fn step(&self) -> u32 {
        let paused = matches!(self.phase, RolloutPhase::Paused | RolloutPhase::Stopped | RolloutPhase::Aborted);
        Step { stage: self.stage, round: self.round, paused }.number()
    }

    /// The record after a judgement; `None` if nothing changes.
    pub fn judged(&self, judgement: Judgement, by: Decider<'_>) -> Option<Self> {
        let mut next = self.clone();
        let Judgement { verdict, why, evidence, memory } = judgement;
        next.memory = memory;
        let mut named = Vec::new();
        let kind = match verdict {
            // Paused by a person: only a stop counts.
            Verdict::Wait(_) | Verdict::Next | Verdict::Done if self.phase != RolloutPhase::Running => {
                return (next != *self && !self.phase.is_over()).then_some(next);
            }
            _ if self.phase.is_over() => return None,
            Verdict::Wait(reason) if self.waits == Some(reason) => return (next != *self).then_some(next),
            Verdict::Wait(reason) => {
                next.waits = Some(reason);
                DecisionKind::Wait
            }
            Verdict::Next => {
                (next.stage, next.round, next.waits) = (self.stage + 1, 0, None);
                next.memory.enough_since_ms = None;
                DecisionKind::Next
            }
            Verdict::Done => {
                (next.phase, next.waits) = (RolloutPhase::Done, None);
                DecisionKind::Done
            }
            Verdict::Stop { devices, .. } => {
                (next.phase, next.waits, named) = (RolloutPhase::Stopped, None, devices);
                DecisionKind::Stop
            }
        };
        Some(next.decided(kind, why, by, named, Some(evidence)))
    }

    /// The record with another controller.
    #[must_use]
    pub fn taken(mut self, by: Decider<'_>) -> Self {
        let before = self.holder.replace(by.name.to_owned());
        let why = before.map_or_else(|| "nobody acted".into(), |before| format!("{before} did not answer any more"));
        self.decided(DecisionKind::Takeover, why, by, vec![], None)
    }

    /// Stops it for a reason that no device gave.
    #[must_use]
    pub fn stopped(mut self, why: String, by: Decider<'_>) -> Self {
        (self.phase, self.waits) = (RolloutPhase::Stopped, None);
        self.decided(DecisionKind::Stop, why, by, vec![], None)
    }

    /// Pauses it.
    ///
    /// # Errors
    /// `failed_precondition` unless it is running.
    pub fn paused(mut self, why: &str, by: Decider<'_>) -> Result<Self, ToolError> {
        if self.phase != RolloutPhase::Running {
            return Err(self.refusal("only a running one can be paused"));
        }
        self.phase = RolloutPhase::Paused;
        Ok(self.decided(DecisionKind::Pause, why.to_owned(), by, vec![], None))
    }

    /// Resumes it with the stage's second index.
    ///
    /// # Errors
    /// `failed_precondition` unless a person paused it, and when it was resumed in this stage before.
    pub fn resumed(mut self, by: Decider<'_>) -> Result<Self, ToolError> {
        if self.phase != RolloutPhase::Paused {
            return Err(self.refusal("only a paused one can be resumed"));
        }
        if self.round + 1 >= ROUNDS {
            return Err(self.refusal("this stage was resumed before, and no further index is signed for it"));
        }
        (self.phase, self.round, self.waits) = (RolloutPhase::Running, self.round + 1, None);
        self.memory.enough_since_ms = None;
        Ok(self.decided(DecisionKind::Resume, "by a person".into(), by, vec![], None))
    }

    /// Ends it; the channel stays paused.
    ///
    /// # Errors
    /// `failed_precondition` when it is over.
    pub fn aborted(mut self, why: &str, by: Decider<'_>) -> Result<Self, ToolError> {
        if self.phase.is_over() {
            return Err(self.refusal("it is over"));
        }
        (self.phase, self.waits) = (RolloutPhase::Aborted, None);
        Ok(self.decided(DecisionKind::Abort, why.to_owned(), by, vec![], None))
    }

    fn refusal(&self, why: &str) -> ToolError {
        let phase = serde_json::to_value(self.phase).unwrap_or_default();
        ToolError::precondition(format!("the rollout is {}: {why}", phase.as_str().unwrap_or("unknown")))
            .hint("to go on with this release, sign a new plan: `raspi-mcp fleet rollout sign`")
    }

    fn decided(
        mut self,
        kind: DecisionKind,
        why: String,
        by: Decider<'_>,
        devices: Vec<FailedDevice>,
        evidence: Option<Evidence>,
    ) -> Self {
        self.last = Decision {
            number: self.last.number + 1,
            time_ms: by.now_ms,
            by: by.name.to_owned(),
            plan: self.plan.clone(),
            kind,
            stage: self.stage + 1,
            step: self.step(),
            why,
            devices,
            evidence,
        };
        self
    }
}
