//! Who may call what now: all that can be said of a call before anybody has looked at its arguments.

use super::{entry::Entry, listing::CallLimits, pipeline::Call};
use crate::{
    registry::{
        budget::{Budget, BudgetCharge},
        rate::RateLimiter,
    },
    services::Services,
};
use base::{canonical, error::ToolError};
use contract::access::caller::Caller;
use std::time::Instant;

/// What callers have used of their limits.
#[derive(Debug, Default)]
pub(super) struct Admission {
    rate: RateLimiter,
    budget: Budget,
}

impl Admission {
    /// Takes `call` out of its caller's limits, and asks who may use its tool. Returns what [`Admission::settle`] wants.
    ///
    /// # Errors
    /// `resource_exhausted` with `details.retry_after_ms`, `permission_denied`.
    pub(super) fn admit(
        &self,
        services: &Services,
        limits: &CallLimits,
        call: &Call,
    ) -> Result<BudgetCharge, ToolError> {
        let (entry, caller) = (&call.entry, &call.caller);
        // The transports refuse before; this is the check for one that does not.
        services.ownership.check()?;
        let now = Instant::now();
        let bytes = canonical::weight(&call.args);
        let party = caller.party();
        let taken = self.budget.take(&party, bytes, limits.reads_per_minute, now)?;
        if let Err(refusal) = self.rate.take(&party, entry.name(), limits.per_minute(entry), now) {
            // It cost hardly anything, and the caller's other tools are not to suffer.
            self.budget.give_back(&caller.party(), taken);
            return Err(refusal);
        }
        if let Err(refusal) = services.policy.get().admit(&entry.meta(), caller) {
            self.rate.give_back(&caller.party(), entry.name());
            return Err(refusal);
        }
        Ok(taken)
    }

    /// A refusal has cost the caller's budget; anything else has been a call of its tool.
    pub(super) fn settle(&self, entry: &Entry, caller: &Caller, taken: BudgetCharge, refused: bool) {
        if refused {
            self.rate.give_back(&caller.party(), entry.name());
        } else {
            self.budget.give_back(&caller.party(), taken);
        }
    }
}
