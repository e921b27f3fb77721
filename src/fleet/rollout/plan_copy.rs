//! The plan as it was signed: `plan.json` beside the signed indexes. The owner's own file may be edited or gone afterwards; a
//! rollout that was started is watched, paused and ended by this copy. Every signed pause names the hash of the plan, so a
//! changed copy is noticed.

use super::failed;
use base::{error::ToolError, os::if_there};
use fleet_protocol::rollout::{RolloutPlan, RolloutTarget, Stage, StopConditions};
use serde::Deserialize;
use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// The file's name.
pub const COPY: &str = "plan.json";
/// Bytes of it that are read, at most: 16 stages with 64 rings each and 1,024 pinned devices have less.
const LONGEST: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanForm {
    version: String,
    channel: String,
    target: TargetForm,
    silent_minutes: u32,
    pinned: Vec<String>,
    stop: StopForm,
    stages: Vec<StageForm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum TargetForm {
    Folder(String),
    Address { url: String, token_file: Option<String>, ca_file: Option<String> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopForm {
    failed_percent: u8,
    failed_count: u32,
    silent_percent: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageForm {
    percent: u8,
    rings: Vec<String>,
    min_committed: u32,
    soak_minutes: u32,
}

impl From<PlanForm> for RolloutPlan {
    fn from(form: PlanForm) -> Self {
        let PlanForm { version, channel, target, silent_minutes, pinned, stop, stages } = form;
        let StopForm { failed_percent, failed_count, silent_percent } = stop;
        let stage = |StageForm { percent, rings, min_committed, soak_minutes }| Stage {
            percent,
            rings,
            min_committed,
            soak_minutes,
        };
        Self {
            version,
            channel,
            target: match target {
                TargetForm::Folder(folder) => RolloutTarget::Folder(folder),
                TargetForm::Address { url, token_file, ca_file } => RolloutTarget::Address { url, token_file, ca_file },
            },
            silent_minutes,
            pinned,
            stop: StopConditions { failed_percent, failed_count, silent_percent },
            stages: stages.into_iter().map(stage).collect(),
        }
    }
}

/// Writes it into the new folder `dir`.
pub(super) fn write(dir: &Path, plan: &RolloutPlan) -> Result<(), ToolError> {
    let path = dir.join(COPY);
    let text = serde_json::to_vec_pretty(plan).map_err(|error| ToolError::internal(error.to_string()))?;
    fs::write(&path, text).and_then(|()| File::open(&path)?.sync_all()).map_err(|error| failed(&path, &error))
}

/// Reads it; `None` in a folder that an older version wrote.
///
/// # Errors
/// `unavailable` when it cannot be read, `verification_failed` when it is no plan.
pub(super) fn read(dir: &Path) -> Result<Option<RolloutPlan>, ToolError> {
    let path = dir.join(COPY);
    let Some(file) = if_there(File::open(&path)).map_err(|error| failed(&path, &error))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error: io::Error| failed(&path, &error))?;
    let form: PlanForm = serde_json::from_slice(&bytes).map_err(|error| {
        ToolError::new(base::error::ErrorCode::VerificationFailed, format!("{} is no plan: {error}", path.display()))
            .hint("`raspi-mcp fleet rollout sign` wrote it, and nobody may change it: restore it from a backup")
    })?;
    Ok(Some(form.into()))
}
