//! A plan and a job as they are kept.

use super::{
    super::plan::{Base, Change},
    words::shown,
};
use base::{canonical, clock};
use contract::meta::Environment;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;

/// How long a plan may be applied.
pub const VALID_MS: i64 = 24 * 3_600_000;

/// How much may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Nothing is to be done.
    None,
    Low,
    Medium,
    High,
}

/// Changes of some routers, made at one time and applied at another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub plan_id: String,
    /// The tool that made it.
    pub tool: String,
    /// The tool that applies it.
    pub apply: String,
    pub created_by: String,
    pub created_ms: i64,
    pub summary: String,
    /// After how many seconds a router takes unconfirmed changes back.
    pub timer_seconds: u64,
    /// `draft`, `applying`, `applied`, `halted`, `rolled_back`.
    pub status: String,
    /// The last job of it.
    pub job_id: Option<String>,
    /// The plan that this one takes back.
    pub rollback_of: Option<String>,
    pub devices: Vec<DevicePlan>,
}

/// The changes of one router.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DevicePlan {
    pub device_id: String,
    pub environment: Environment,
    /// Of RouterOS, when the plan was made.
    pub version: String,
    pub risk: Risk,
    /// What may cut this machine off, in words.
    pub dangers: Vec<String>,
    /// Menus of the way to the router that could not be read, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    pub changes: Vec<Change>,
    pub base: Base,
}

impl Plan {
    /// SHA-256 of what it changes and of what that stands on: what is approved.
    pub fn hash(&self) -> String {
        let devices = self.devices.iter().map(|device| json!([device.device_id, device.changes, device.base.hash()]));
        canonical::sha256_hex(&json!([self.apply, self.timer_seconds, devices.collect::<Vec<_>>()]))
    }

    pub fn is_expired(&self) -> bool {
        now_ms() > self.created_ms + VALID_MS
    }

    /// As it is shown: the fields of other RouterOS servers, what may go wrong, until when it may be applied.
    pub fn shown(&self) -> Value {
        let devices: Vec<Value> = self
            .devices
            .iter()
            .map(|device| {
                let mut plan = json!({
                    "device_id": device.device_id, "environment": device.environment, "risk_level": device.risk,
                    "changes": shown(&device.changes, &device.base), "dangers": device.dangers,
                });
                if !device.unread.is_empty() {
                    plan["unread"] = json!(device.unread);
                }
                plan
            })
            .collect();
        let risk = self.devices.iter().map(|device| device.risk).max();
        let mut shown = json!({
            "plan_id": self.plan_id, "plan_hash": self.hash(), "status": self.status, "summary": self.summary,
            "risk_level": risk.unwrap_or(Risk::None), "created_by": self.created_by, "created_at": stamp(self.created_ms),
            "expires_at": stamp(self.created_ms + VALID_MS), "timer_seconds": self.timer_seconds,
            "total_devices": self.devices.len(), "devices": devices, "next_tool": self.apply,
        });
        for (name, value) in [("job_id", &self.job_id), ("rollback_of", &self.rollback_of)] {
            if let Some(value) = value {
                shown[name] = json!(value);
            }
        }
        shown
    }

    /// What a person is asked about. Nothing in it is a caller's own words: neither the description nor the reason.
    pub fn subject(&self, plan_id: &str) -> Value {
        let devices: Vec<Value> = self
            .devices
            .iter()
            .filter(|device| !device.changes.is_empty())
            .map(|device| {
                let mut sentences: Vec<Value> =
                    shown(&device.changes, &device.base).iter().map(|change| change["description"].clone()).collect();
                sentences.extend(device.dangers.iter().map(|danger| json!(format!("Danger: {danger}"))));
                json!({
                    "device_id": device.device_id, "environment": device.environment, "risk": device.risk, "changes": sentences,
                })
            })
            .collect();
        json!({ "plan_id": plan_id, "plan_hash": self.hash(), "devices": devices })
    }
}

/// Where a job is with one router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Waiting,
    /// Begun. After the end of this program: in doubt.
    Writing,
    Success,
    /// It was as wanted already.
    Unchanged,
    /// All is as it was.
    TakenBack,
    /// Refused before anything was written.
    Failed,
    /// Nobody knows: the router did not answer. Its timer takes the changes back.
    Unknown,
    /// The job ended before it.
    Untouched,
}

/// The work on a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub job_id: String,
    pub plan_id: String,
    /// `running`, `done`, `halted`, `cancelled`.
    pub state: String,
    pub batch_size: usize,
    pub batch_pause_seconds: u64,
    pub devices: Vec<JobDevice>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobDevice {
    pub device_id: String,
    pub status: Step,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_time_ms: Option<u64>,
}

impl Job {
    /// Its results: the fields of other RouterOS servers.
    pub fn shown(&self) -> Value {
        let count = |steps: &[Step]| self.devices.iter().filter(|device| steps.contains(&device.status)).count();
        let results: Vec<Value> = self
            .devices
            .iter()
            .map(|device| {
                let mut result = json!(device);
                result["changed"] = changed(&[device.status]);
                result
            })
            .collect();
        let steps: Vec<Step> = self.devices.iter().map(|device| device.status).collect();
        json!({
            "plan_id": self.plan_id, "job_id": self.job_id, "status": self.state, "changed": changed(&steps),
            "total_devices": self.devices.len(),
            "successful": count(&[Step::Success, Step::Unchanged]),
            "failed": count(&[Step::Failed, Step::TakenBack, Step::Unknown]),
            "untouched": count(&[Step::Untouched, Step::Waiting]), "results": results,
        })
    }
}

/// Whether routers with these steps were changed; `"unknown"` while that cannot be said of one, and none was.
fn changed(steps: &[Step]) -> Value {
    if steps.contains(&Step::Success) {
        json!(true)
    } else if steps.iter().any(|step| matches!(step, Step::Unknown | Step::Writing)) {
        json!("unknown")
    } else {
        json!(false)
    }
}

pub fn now_ms() -> i64 {
    clock::millis(OffsetDateTime::now_utc())
}

pub fn stamp(ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).map(clock::stamp).unwrap_or_default()
}
