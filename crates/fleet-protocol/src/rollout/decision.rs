//! What was decided, and by what: one line of JSON in a log that is only appended to.

use serde::{Deserialize, Serialize};

/// Most devices that one decision names; [`Evidence`] has the number of all.
pub const MAX_NAMED: usize = 200;

/// One decision with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// From 1, without gaps.
    pub number: u64,
    /// Milliseconds since 1970, by the clock of whoever decided.
    pub time_ms: i64,
    /// The console that decided.
    pub by: String,
    /// The plan's hash.
    pub plan: String,
    pub kind: DecisionKind,
    /// From 1.
    pub stage: usize,
    /// The signed index that the channel has from now on ([`super::steps`]).
    pub step: u32,
    pub why: String,
    /// The devices that failed, at most [`MAX_NAMED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<FailedDevice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    Start,
    /// Nothing is done for now.
    Wait,
    /// The next stage.
    Next,
    /// The last stage is over.
    Done,
    /// A stop condition is met, or the channel is not this rollout's any more.
    Stop,
    Pause,
    Resume,
    Abort,
    /// Another controller goes on.
    Takeover,
}

/// A device that failed, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedDevice {
    pub name: String,
    pub why: String,
}

/// The counts by which was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Devices of the stage's rings that were heard since the rollout began.
    pub group: usize,
    /// Of these the stage's share, or those that began, if they are more.
    pub reach: usize,
    pub committed: usize,
    pub trying: usize,
    /// Failed, with those that began and fell silent.
    pub failed: usize,
    /// Fell silent since the rollout began.
    pub silent: usize,
}

impl Decision {
    /// Its line, with the line feed.
    pub fn line(&self) -> String {
        // Texts and numbers only: this cannot fail.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// The decisions of a log, and its last line if that is incomplete: whoever wrote it was killed in the middle.
///
/// # Errors
/// The number of a line, from 1, that is no decision or does not follow the one before.
pub fn read(log: &str) -> Result<(Vec<Decision>, &str), usize> {
    let mut decisions: Vec<Decision> = Vec::new();
    for (index, line) in log.split_inclusive('\n').enumerate() {
        if !line.ends_with('\n') {
            return Ok((decisions, line));
        }
        let decision: Decision = serde_json::from_str(line).map_err(|_| index + 1)?;
        // A controller on another machine has a log of its own: gaps are allowed, going back is not.
        if decisions.last().is_some_and(|last| last.plan == decision.plan && last.number >= decision.number) {
            return Err(index + 1);
        }
        decisions.push(decision);
    }
    Ok((decisions, ""))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn decision(number: u64) -> Decision {
        Decision {
            number,
            time_ms: 1,
            by: "desk".into(),
            plan: "aa".into(),
            kind: DecisionKind::Stop,
            stage: 1,
            step: 2,
            why: "too many".into(),
            devices: vec![FailedDevice { name: "shed".into(), why: "went\nback".into() }],
            evidence: Some(Evidence { failed: 1, ..Evidence::default() }),
        }
    }

    #[test]
    fn a_log_is_read_back_up_to_the_line_that_broke_off() {
        let log = decision(1).line() + &decision(3).line();
        assert_eq!(log.lines().count(), 2);
        assert_eq!(read(&log), Ok((vec![decision(1), decision(3)], "")));
        assert_eq!(read(&log[..log.len() - 1]).map(|(all, rest)| (all.len(), rest.is_empty())), Ok((1, false)));
        assert_eq!(read(""), Ok((vec![], "")));
        assert_eq!(read(&(log.clone() + &decision(3).line())), Err(3));
        assert_eq!(read(&log.replacen("stop", "what", 1)), Err(1));
    }

    #[test]
    fn the_next_plan_counts_from_one_again() {
        let mut next = decision(1);
        next.plan = "bb".into();
        assert!(read(&(decision(7).line() + &next.line())).is_ok());
    }
}
