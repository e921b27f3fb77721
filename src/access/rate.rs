//! Token buckets per caller and tool (document 001, section 7; bounds in the configuration).

use crate::error::ToolError;
use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

/// Callers times tools that are remembered at once; beyond it the fullest (least used) buckets are forgotten.
const BUCKETS: usize = 1024;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// How often one principal may call one tool.
#[derive(Debug)]
pub struct RateLimiter {
    buckets: Mutex<HashMap<(String, &'static str), Bucket>>,
}

impl RateLimiter {
    pub fn new() -> Self {
        Self { buckets: Mutex::new(HashMap::new()) }
    }

    /// Takes one call out of the bucket of `principal` and `tool`, which holds `per_minute` and refills evenly.
    ///
    /// # Errors
    /// `resource_exhausted` with `details.retry_after_ms`.
    pub fn take(&self, principal: &str, tool: &'static str, per_minute: u32, now: Instant) -> Result<(), ToolError> {
        let capacity = f64::from(per_minute.max(1));
        let mut buckets = self.buckets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if buckets.len() >= BUCKETS {
            // A bucket idle for a minute is full again: forgetting it changes nothing.
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.filled) < Duration::from_secs(60));
        }
        let key = (principal.to_owned(), tool);
        if buckets.len() >= BUCKETS && !buckets.contains_key(&key) {
            return Err(ToolError::exhausted("too many different callers at once; try again in a minute")
                .with("retry_after_ms", 60_000));
        }
        let bucket = buckets.entry(key).or_insert(Bucket { tokens: capacity, filled: now });
        let refill = now.saturating_duration_since(bucket.filled).as_secs_f64() * capacity / 60.0;
        bucket.tokens = (bucket.tokens + refill).min(capacity);
        bucket.filled = now;
        if bucket.tokens < 1.0 {
            let wait_ms = ((1.0 - bucket.tokens) * 60_000.0 / capacity).ceil() as u64;
            return Err(ToolError::exhausted(format!(
                "{tool} is limited to {per_minute} calls a minute for this caller"
            ))
            .with("tool", tool)
            .with("limit_per_minute", per_minute)
            .with("retry_after_ms", wait_ms)
            .hint(format!("wait {wait_ms} ms and call again")));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_says_when_and_refills() {
        let (limiter, start) = (RateLimiter::new(), Instant::now());
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
    fn memory_is_bounded() {
        let (limiter, start) = (RateLimiter::new(), Instant::now());
        for n in 0..BUCKETS {
            limiter.take(&format!("p{n}"), "x.y", 60, start).unwrap();
        }
        limiter.take("one more", "x.y", 60, start).unwrap_err();
        limiter.take("one more", "x.y", 60, start + Duration::from_secs(61)).unwrap();
    }
}
