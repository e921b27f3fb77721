//! The numbers of the indexes that a person signs beforehand. Step 0 is the channel's index before the rollout. Each stage
//! has four steps, with the sequences that follow: the stage, its pause, the stage again, its pause again.
//!
//! So a stage that goes out can always be paused, and a person can resume it once. A step is never followed by an earlier
//! one: whoever publishes the higher number is right.

/// Rounds of a stage: it begins, and it can be resumed once.
pub const ROUNDS: u32 = 2;
const PER_STAGE: u32 = 2 * ROUNDS;

/// Where a step belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// From 0.
    pub stage: usize,
    /// 0, or 1 after it was resumed.
    pub round: u32,
    pub paused: bool,
}

impl Step {
    /// Its number, from 1; the index has the sequence of step 0 plus this.
    pub fn number(self) -> u32 {
        let stage = u32::try_from(self.stage).unwrap_or(u32::MAX / PER_STAGE - 1);
        1 + stage * PER_STAGE + self.round * 2 + u32::from(self.paused)
    }

    /// The step with this number; `None` for 0.
    pub fn of(number: u32) -> Option<Self> {
        let at = number.checked_sub(1)?;
        let (stage, within) = (at / PER_STAGE, at % PER_STAGE);
        Some(Self { stage: stage as usize, round: within / 2, paused: within % 2 == 1 })
    }
}

/// How many steps a plan with so many stages has, without step 0.
pub fn count(stages: usize) -> u32 {
    u32::try_from(stages).unwrap_or(0) * PER_STAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_steps_are_the_same() {
        assert_eq!(Step::of(0), None);
        for number in 1..=count(16) {
            let step = Step::of(number).unwrap();
            assert_eq!(step.number(), number);
            assert!(step.stage < 16 && step.round < ROUNDS);
        }
        assert_eq!(Step { stage: 1, round: 0, paused: false }.number(), 5);
        assert_eq!(Step { stage: 1, round: 1, paused: true }.number(), count(2));
    }
}
