//! The state folder of the routers' process: plans, jobs, snapshots, and which routers passed the test of the way back.

use super::{
    record::{Job, Plan, now_ms, stamp},
    store::{Store, new_id},
};
use base::error::ToolError;
use serde_json::{Value, json};
use std::path::Path;

const MOST: usize = 200;
const LARGEST: usize = 4 << 20;
/// Two for each router of a job.
const MOST_SNAPSHOTS: usize = 400;
const LARGEST_SNAPSHOT: usize = 1 << 20;
/// Routers that were tested.
const MOST_TESTS: usize = 1_000;

pub struct Files {
    plans: Store,
    jobs: Store,
    snapshots: Store,
    tests: Store,
}

impl Files {
    pub fn new(folder: &Path) -> Self {
        Self {
            plans: Store::new(folder.join("plans"), MOST, LARGEST),
            jobs: Store::new(folder.join("jobs"), MOST, LARGEST),
            snapshots: Store::new(folder.join("snapshots"), MOST_SNAPSHOTS, LARGEST_SNAPSHOT),
            tests: Store::new(folder.join("tests"), MOST_TESTS, LARGEST),
        }
    }

    /// # Errors
    /// `not_found`; `internal` for a file that holds something else.
    pub fn plan(&self, id: &str) -> Result<Plan, ToolError> {
        parsed(self.plans.read(id)?, || {
            ToolError::not_found(format!("there is no plan {id}"))
                .with("parameter", "plan_id")
                .hint("plans are kept for a while; make it again")
        })
    }

    /// # Errors
    /// `resource_exhausted` when it is too long or no other may go; `internal` when it cannot be written.
    pub fn keep_plan(&self, plan: &Plan) -> Result<(), ToolError> {
        let may_go = |id: &str| {
            self.plan(id).is_ok_and(|old| old.status != "applying" && (old.is_expired() || old.status != "draft"))
        };
        self.plans.write(&plan.plan_id, &json!(plan).to_string(), may_go)
    }

    /// # Errors
    /// As [`Files::plan`].
    pub fn job(&self, id: &str) -> Result<Job, ToolError> {
        parsed(self.jobs.read(id)?, || ToolError::not_found(format!("there is no job {id}")))
    }

    /// # Errors
    /// `resource_exhausted` when it is too long or no other may go; `internal` when it cannot be written.
    pub fn keep_job(&self, job: &Job) -> Result<(), ToolError> {
        let may_go = |id: &str| self.job(id).is_ok_and(|old| old.state != "running");
        self.jobs.write(&job.job_id, &json!(job).to_string(), may_go)
    }

    /// The jobs that were running when this program ended.
    pub fn running(&self) -> Vec<Job> {
        let jobs = self.jobs.ids().into_iter().filter_map(|id| self.job(&id).ok());
        jobs.filter(|job| job.state == "running").collect()
    }

    /// Keeps an export; its id. `kind`: `before` or `after`.
    ///
    /// # Errors
    /// `resource_exhausted` when it is too long or no other may go; `internal` when it cannot be written.
    pub fn keep_snapshot(&self, device: &str, plan: &str, kind: &str, content: &str) -> Result<String, ToolError> {
        let id = new_id("snap")?;
        let snapshot = json!({
            "snapshot_id": id, "device_id": device, "plan_id": plan, "kind": kind, "timestamp": stamp(now_ms()),
            "size_bytes": content.len(), "content": content,
        });
        self.snapshots.write(&id, &snapshot.to_string(), |_| true)?;
        Ok(id)
    }

    /// # Errors
    /// `not_found`.
    pub fn snapshot(&self, id: &str) -> Result<Value, ToolError> {
        self.snapshots.read(id)?.ok_or_else(|| {
            ToolError::not_found(format!("there is no snapshot {id}"))
                .with("parameter", "snapshot_id")
                .hint("routeros.get_plan_details has the snapshots of a plan; the oldest are removed")
        })
    }

    /// Remembers that the way back worked at this router, with this version of RouterOS.
    ///
    /// # Errors
    /// `resource_exhausted` when it is too long or no other may go; `internal` when it cannot be written.
    pub fn keep_test(&self, device: &str, version: &str) -> Result<(), ToolError> {
        let test = json!({ "device_id": device, "version": version, "tested_at": stamp(now_ms()) });
        self.tests.write(device, &test.to_string(), |_| true)
    }

    /// Whether the way back was seen to work, at this router and with this version.
    ///
    /// # Errors
    /// `failed_precondition` with the command that tests it.
    pub fn tested(&self, device: &str, version: &str) -> Result<(), ToolError> {
        let tested = self.tests.read(device)?.unwrap_or_default();
        if tested["version"] == version {
            return Ok(());
        }
        let why = match tested["version"].as_str() {
            Some(old) => format!("its way back was tested with RouterOS {old}, and it runs {version} now"),
            None => "its way back was never tested".to_owned(),
        };
        Err(ToolError::precondition(format!("the router {device} is not open for plans: {why}"))
            .with("device_id", device)
            .with("mcp_error_code", "FORBIDDEN")
            .hint(format!("its owner runs `raspi-mcp routeros test {device}`")))
    }
}

fn parsed<T: serde::de::DeserializeOwned>(
    value: Option<Value>,
    missing: impl Fn() -> ToolError,
) -> Result<T, ToolError> {
    serde_json::from_value(value.ok_or_else(missing)?)
        .map_err(|error| ToolError::internal(format!("a file of the state folder is not as it was written: {error}")))
}
