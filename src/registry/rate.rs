//! Token buckets per caller and tool (bounds in the configuration).
//!
//! Memory is bounded, and no caller is refused because others filled the table: the caller whose buckets are fullest is dropped
//! first, because it loses least. A caller with an empty bucket stays, so that nobody gets a full bucket by filling the table.

use base::error::ToolError;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Most callers kept. A bucket is full again after a minute without calls, so this bounds the callers of one minute. Each has
/// a bucket for each tool that it called; only tools of the registry get here.
const CALLERS: usize = 1024;
/// From this number of buckets on, a caller's full buckets are dropped: tools come and go while the server runs.
const TOOLS: usize = 128;
/// How long an empty bucket takes to refill.
const FULL_AFTER: Duration = Duration::from_secs(60);

/// How many calls a bucket lacked at a time.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    lacks: f64,
    capacity: f64,
    at: Instant,
}

impl Bucket {
    fn lacks(&self, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() / FULL_AFTER.as_secs_f64() * self.capacity;
        (self.lacks - gained).max(0.0)
    }
}

type Buckets = HashMap<Box<str>, Bucket>;

/// How often one principal may call one tool.
#[derive(Debug, Default)]
pub struct RateLimiter {
    callers: Mutex<HashMap<String, Buckets>>,
}

impl RateLimiter {
    /// Takes one call out of the bucket of `principal` and `tool`, which holds `per_minute` and refills evenly.
    ///
    /// # Errors
    /// `resource_exhausted` with `details.retry_after_ms`.
    pub fn take(&self, principal: &str, tool: &str, per_minute: u32, now: Instant) -> Result<(), ToolError> {
        let capacity = f64::from(per_minute.max(1));
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if !callers.contains_key(principal) {
            if callers.len() >= CALLERS {
                forget_one(&mut callers, now);
            }
            callers.insert(principal.to_owned(), Buckets::new());
        }
        let Some(buckets) = callers.get_mut(principal) else { return Ok(()) };
        if !buckets.contains_key(tool) {
            if buckets.len() >= TOOLS {
                buckets.retain(|_, bucket| bucket.lacks(now) > 0.0);
            }
            buckets.insert(tool.into(), Bucket { lacks: 0.0, capacity, at: now });
        }
        let Some(bucket) = buckets.get_mut(tool) else { return Ok(()) };
        let left = capacity - bucket.lacks(now) - 1.0;
        if left >= 0.0 {
            *bucket = Bucket { lacks: capacity - left, capacity, at: now };
            return Ok(());
        }
        let wait_ms = (-left * 60_000.0 / capacity).ceil() as u64;
        Err(ToolError::exhausted(format!("{tool} is limited to {per_minute} calls a minute for this caller"))
            .with("tool", tool)
            .with("limit_per_minute", per_minute)
            .with("retry_after_ms", wait_ms)
            .hint(format!("wait {wait_ms} ms and call again")))
    }

    /// Gives a call back that was refused for another reason.
    pub fn give_back(&self, principal: &str, tool: &str) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = callers.get_mut(principal).and_then(|buckets| buckets.get_mut(tool)) {
            bucket.lacks = (bucket.lacks - 1.0).max(0.0);
        }
    }
}

/// Drops all callers whose buckets are full, which has no effect on them; if there are none, the one whose buckets lack least.
fn forget_one(callers: &mut HashMap<String, Buckets>, now: Instant) {
    let lacks = |buckets: &Buckets| buckets.values().map(|bucket| bucket.lacks(now)).sum::<f64>();
    callers.retain(|_, buckets| lacks(buckets) > 0.0);
    if callers.len() < CALLERS {
        return;
    }
    let least = callers.iter().min_by(|(_, a), (_, b)| lacks(a).total_cmp(&lacks(b))).map(|(who, _)| who.clone());
    if let Some(who) = least {
        callers.remove(&who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_says_when_and_refills() {
        let (limiter, start) = (RateLimiter::default(), Instant::now());
        for _ in 0..60 {
            limiter.take("a", "x.y", 60, start).unwrap();
        }
        let refusal = limiter.take("a", "x.y", 60, start).unwrap_err();
        assert_eq!(refusal.details["retry_after_ms"], 1000);
        limiter.take("b", "x.y", 60, start).unwrap();
        limiter.take("a", "x.z", 60, start).unwrap();
        limiter.take("a", "x.y", 60, start + Duration::from_millis(1001)).unwrap();
        limiter.take("a", "x.y", 60, start + Duration::from_millis(1001)).unwrap_err();
    }

    #[test]
    fn a_newcomer_is_never_refused_and_memory_is_bounded() {
        let (limiter, start) = (RateLimiter::default(), Instant::now());
        for n in 0..10_000 {
            limiter.take(&format!("p{n}"), "x.y", 60, start + Duration::from_millis(n)).unwrap();
        }
        assert!(limiter.callers.lock().unwrap().len() <= CALLERS);
    }

    #[test]
    fn an_empty_bucket_is_not_filled_by_filling_the_table() {
        let (limiter, start) = (RateLimiter::default(), Instant::now());
        let at = |n: u64| start + Duration::from_millis(n);
        for n in 0..60 {
            limiter.take("attacker", "x.y", 60, at(n)).unwrap();
        }
        for n in 0..3000 {
            limiter.take(&format!("p{n}"), "x.y", 60, at(60)).unwrap();
        }
        limiter.take("attacker", "x.y", 60, at(100)).unwrap_err();
        limiter.take("newcomer", "x.y", 60, at(100)).unwrap();
        // Nor with a crowd of callers that have emptied theirs.
        for n in 0..2000 {
            limiter.take(&format!("q{n}"), "x.y", 1, at(100)).unwrap();
        }
        limiter.take("attacker", "x.y", 60, at(100)).unwrap_err();
        limiter.take("another newcomer", "x.y", 60, at(100)).unwrap();
        // And a minute later all is as new.
        limiter.take("attacker", "x.y", 60, at(62_000)).unwrap();
    }
}
