//! Plans that were returned, until one is applied or expires.

use crate::{UpdateClient, channel_check::ReleaseOffer};
use base::error::ToolError;
use std::collections::VecDeque;
use update::bundle::Digest;

/// How long a plan can be applied, in milliseconds: one hour.
pub const LIFE: i64 = 3_600_000;
/// Maximum number of stored plans; the oldest is dropped.
const MOST: usize = 8;

/// One plan.
#[derive(Clone, Debug)]
pub struct Planned {
    pub id: String,
    pub hash: Digest,
    pub offer: ReleaseOffer,
    pub from_version: Option<String>,
    /// Size of the bundle.
    pub bundle_bytes: u64,
    /// Milliseconds since 1970 UTC.
    pub expires_ms: i64,
}

#[derive(Default)]
pub(crate) struct Plans(VecDeque<Planned>);

impl UpdateClient {
    /// Stores a plan.
    pub fn remember(&self, plan: Planned) {
        let plans = &mut self.seen().plans.0;
        plans.retain(|known| known.id != plan.id);
        while plans.len() >= MOST {
            plans.pop_front();
        }
        plans.push_back(plan);
    }

    /// The plan `id`, if it has this hash and has not expired.
    ///
    /// # Errors
    /// `not_found` for an id that is not known (any more), `failed_precondition` for an expired plan or another hash.
    pub fn plan(&self, id: &str, hash: &Digest) -> Result<Planned, ToolError> {
        let again = "call manage.preview_os_updates again, and apply the plan it gives";
        let known = self.seen().plans.0.iter().find(|plan| plan.id == id).cloned();
        let plan = known.ok_or_else(|| {
            ToolError::not_found(format!("there is no plan {id}; plans are kept for an hour, and not over a restart"))
                .with("parameter", "plan_id")
                .hint(again)
        })?;
        if plan.hash != *hash {
            return Err(ToolError::precondition(format!("plan {id} has another hash than the one given"))
                .with("parameter", "plan_hash")
                .hint(again));
        }
        if plan.expires_ms <= self.now_ms() {
            return Err(ToolError::precondition(format!("plan {id} is more than an hour old"))
                .with("parameter", "plan_id")
                .hint(again));
        }
        Ok(plan)
    }

    /// The machine's clock, in milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        self.0.wall.now_ms()
    }
}
