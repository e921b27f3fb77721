//! A budget for refused calls, by caller.
//!
//! Each call takes from its caller's bucket before its arguments are read, more for long arguments, and gives back unless it was
//! refused. Callers whose calls succeed never notice it; a flood of refused calls gets a cheap answer.

use base::error::ToolError;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Smallest capacity of a bucket, whatever the limits say: room for the mistakes of an ordinary client.
const LEAST: u32 = 60;
/// Bytes of arguments that cost as much as one more call.
const BYTES: usize = 16 * 1024;
/// Most buckets kept; beyond that the least recently used is dropped.
const BUCKETS: usize = 256;

/// The buckets, by principal.
#[derive(Debug, Default)]
pub struct Budget(Mutex<HashMap<String, Bucket>>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// What a call took, to be given back.
#[derive(Clone, Copy, Debug)]
pub struct BudgetCharge(f64);

impl Budget {
    /// Takes the cost of a call with about `bytes` of arguments from the bucket of `principal`, which refills by `per_minute`.
    ///
    /// # Errors
    /// `resource_exhausted` with `details.retry_after_ms`.
    pub fn take(
        &self,
        principal: &str,
        bytes: usize,
        per_minute: u32,
        now: Instant,
    ) -> Result<BudgetCharge, ToolError> {
        let capacity = f64::from(per_minute.max(LEAST));
        let cost = (1.0 + (bytes / BYTES) as f64).min(capacity);
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bucket = match buckets.get(principal) {
            Some(bucket) => *bucket,
            None => Bucket { tokens: capacity, filled: now },
        };
        let refill = now.saturating_duration_since(bucket.filled).as_secs_f64() * capacity / 60.0;
        bucket.tokens = (bucket.tokens + refill).min(capacity);
        bucket.filled = now;
        let enough = bucket.tokens >= cost;
        if enough {
            bucket.tokens -= cost;
        }
        put(&mut buckets, principal, bucket);
        if enough {
            return Ok(BudgetCharge(cost));
        }
        let wait_ms = ((cost - bucket.tokens) * 60_000.0 / capacity).ceil() as u64;
        Err(ToolError::exhausted("too many calls of this caller were refused")
            .with("limit_per_minute", per_minute.max(LEAST))
            .with("retry_after_ms", wait_ms)
            .hint(format!("wait {wait_ms} ms, and look at why the calls before were refused")))
    }

    /// Gives back what a call took that was not refused.
    pub fn give_back(&self, principal: &str, taken: BudgetCharge) {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Anything above its capacity is cut at the next use.
        if let Some(bucket) = buckets.get_mut(principal) {
            bucket.tokens += taken.0;
        }
    }
}

fn put(buckets: &mut HashMap<String, Bucket>, principal: &str, bucket: Bucket) {
    if let Some(known) = buckets.get_mut(principal) {
        *known = bucket;
        return;
    }
    if buckets.len() >= BUCKETS {
        let oldest = buckets.iter().min_by_key(|(_, bucket)| bucket.filled).map(|(name, _)| name.clone());
        if let Some(oldest) = oldest {
            buckets.remove(&oldest);
        }
    }
    buckets.insert(principal.to_owned(), bucket);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn refusals_use_it_up_and_good_calls_do_not() {
        let (budget, start) = (Budget::default(), Instant::now());
        for _ in 0..1000 {
            let taken = budget.take("a", 0, 600, start).unwrap();
            budget.give_back("a", taken);
        }
        for _ in 0..600 {
            budget.take("a", 0, 600, start).unwrap();
        }
        assert_eq!(budget.take("a", 0, 600, start).unwrap_err().details["retry_after_ms"], 100);
        budget.take("b", 0, 600, start).unwrap();
        budget.take("a", 0, 600, start + Duration::from_millis(101)).unwrap();
    }

    #[test]
    fn long_arguments_cost_more_and_never_more_than_all() {
        let (budget, start) = (Budget::default(), Instant::now());
        let taken = (0..100).take_while(|_| budget.take("a", 780_000, 600, start).is_ok()).count();
        assert_eq!(taken, 12);
        budget.take("b", usize::MAX, 600, start).unwrap();
    }

    #[test]
    fn memory_is_bounded_and_newcomers_are_let_in() {
        let (budget, start) = (Budget::default(), Instant::now());
        for n in 0..10_000 {
            budget.take(&format!("jwt:{n}"), 0, 600, start + Duration::from_millis(n)).unwrap();
        }
        assert_eq!(budget.0.lock().unwrap().len(), BUCKETS);
    }
}
