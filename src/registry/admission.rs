//! Admission: ownership, budget, rate limit, role and namespace. Nothing here looks at the arguments of a call.

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

/// How much of their limits the callers have used.
#[derive(Debug, Default)]
pub(super) struct Admission {
    rate: RateLimiter,
    budget: Budget,
}

impl Admission {
    /// Charges `call` to its caller's limits and checks that the caller may use the tool. Returns what [`Admission::settle`]
    /// needs.
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
        // The transports refuse this earlier; this check covers one that does not.
        services.ownership.check()?;
        let now = Instant::now();
        let bytes = canonical::weight(&call.args);
        let party = caller.party();
        let taken = self.budget.take(&party, bytes, limits.reads_per_minute, now)?;
        if let Err(refusal) = self.rate.take(&party, entry.name(), limits.per_minute(entry), now) {
            // This refusal was cheap; the caller's other tools keep their budget.
            self.budget.give_back(&caller.party(), taken);
            return Err(refusal);
        }
        if let Err(refusal) = services.policy.get().admit(&entry.meta(), caller) {
            self.rate.give_back(&caller.party(), entry.name());
            return Err(refusal);
        }
        Ok(taken)
    }

    /// A refused call counts against the budget and not against the rate limit of the tool; any other call the other way
    /// round.
    pub(super) fn settle(&self, entry: &Entry, caller: &Caller, taken: BudgetCharge, refused: bool) {
        if refused {
            self.rate.give_back(&caller.party(), entry.name());
        } else {
            self.budget.give_back(&caller.party(), taken);
        }
    }
}
