//! The plans that the owner keeps with the fleet: `plans/NAME.toml`, and beside it `NAME.signed` with the signed indexes.

use crate::{
    fleet::rollout::{SignedSteps, file},
    fleet_port::{PlannedRollout, PlannedStage},
};
use base::{
    clock::{Stamp, Wall},
    error::ToolError,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder of plans.
pub struct Plans {
    folder: PathBuf,
}

/// One that is signed.
pub struct SignedPlan {
    pub steps: SignedSteps,
    /// The plan's file.
    pub file: PathBuf,
}

impl SignedPlan {
    /// The folder of the signed indexes.
    pub fn signed(&self) -> PathBuf {
        self.file.with_extension("signed")
    }

    fn expires(&self) -> Stamp {
        Stamp(i64::try_from(self.steps.expires).unwrap_or(i64::MAX).saturating_mul(1000))
    }

    /// Refuses one that no device takes any more.
    ///
    /// # Errors
    /// `failed_precondition`.
    pub fn check(&self, wall: &Wall) -> Result<(), ToolError> {
        let expires = self.expires();
        if expires.0 > wall.now_ms() {
            return Ok(());
        }
        Err(ToolError::precondition(format!("the signed stages expired at {expires}"))
            .hint("a person signs the plan again: raspi-mcp fleet rollout sign"))
    }

    /// As `fleet.plan_rollout` shows it.
    pub fn shown(&self) -> PlannedRollout {
        let plan = &self.steps.plan;
        let stage = |stage: &fleet_protocol::rollout::Stage| PlannedStage {
            percent: stage.percent,
            rings: stage.rings.clone(),
            min_committed: stage.min_committed,
            soak_minutes: stage.soak_minutes,
        };
        PlannedRollout {
            plan_hash: self.steps.hash.clone(),
            version: plan.version.clone(),
            channel: plan.channel.clone(),
            stages: plan.stages.iter().map(stage).collect(),
            stop_failed_percent: plan.stop.failed_percent,
            stop_failed_count: plan.stop.failed_count,
            stop_silent_percent: plan.stop.silent_percent,
            expires_at: self.expires().to_string(),
        }
    }
}

impl Plans {
    pub fn of(dir: &Path) -> Self {
        Self { folder: dir.join("plans") }
    }

    /// The plan of this name, which is no path.
    ///
    /// # Errors
    /// `not_found` without the plan or its signed stages; `invalid_argument` for a wrong plan; `verification_failed` when both
    /// do not fit.
    pub fn read(&self, name: &str) -> Result<SignedPlan, ToolError> {
        let file = self.folder.join(format!("{name}.toml"));
        if !file.exists() {
            return Err(ToolError::not_found(format!("there is no plan {name}: {} is missing", file.display())).hint(
                "a person writes the plan and signs its stages: raspi-mcp fleet rollout sign (docs/rollouts.md)",
            ));
        }
        read(file)
    }

    /// All that can be used, by name. Others are logged.
    pub fn all(&self) -> Vec<SignedPlan> {
        let mut files: Vec<PathBuf> = match fs::read_dir(&self.folder) {
            Ok(entries) => entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect(),
            // No plan was written yet.
            Err(_) => Vec::new(),
        };
        files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
        base::sort::sort(&mut files);
        let usable = |file| match read(file) {
            Ok(plan) => Some(plan),
            Err(error) => {
                tracing::debug!(target: "fleet", error = error.advice(), "a plan is not used");
                None
            }
        };
        files.into_iter().filter_map(usable).collect()
    }
}

fn read(file: PathBuf) -> Result<SignedPlan, ToolError> {
    let plan = file::read(&file).map_err(|faults| ToolError::invalid(format!("the plan is wrong: {faults}")))?;
    let signed = file.with_extension("signed");
    if !signed.exists() {
        return Err(ToolError::not_found(format!(
            "the stages of this plan are not signed: {} is missing",
            signed.display()
        ))
        .hint("a person signs them: raspi-mcp fleet rollout sign (docs/rollouts.md)"));
    }
    Ok(SignedPlan { steps: SignedSteps::read(plan, &signed, None)?, file })
}
