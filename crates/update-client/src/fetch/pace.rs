//! Limits the bandwidth, and detects stalled connections.

use super::{DownloadLimits, FetchError, fault::Then};
use std::{sync::Mutex, time::Duration};
use tokio::time::{Instant, sleep_until, timeout_at};

/// Burst after a pause, as time at the full rate.
const BURST: Duration = Duration::from_millis(200);

/// Stall timeout for a file of a few kilobytes.
const SOON: Duration = Duration::from_secs(15);

/// The bandwidth limit that all requests of a client share.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes per second.
    cap: Option<u64>,
    /// The time at which all received bytes would have arrived at that rate.
    even: Mutex<Instant>,
}

impl Pace {
    pub fn new(cap: Option<u64>) -> Self {
        Self { cap, even: Mutex::new(Instant::now()) }
    }

    /// Waits for the time that `bytes` take at that rate. Returns the time waited.
    pub async fn limit(&self, bytes: usize) -> Duration {
        let Some(cap) = self.cap else { return Duration::ZERO };
        let now = Instant::now();
        let until = {
            let mut even = self.even.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let from = (*even).max(now.checked_sub(BURST).unwrap_or(now));
            #[expect(clippy::cast_precision_loss, reason = "chunks are far below 2^52 bytes")]
            let takes = Duration::from_secs_f64(bytes as f64 / cap.max(1) as f64);
            *even = from + takes;
            *even
        };
        sleep_until(until).await;
        now.elapsed()
    }
}

/// Detects a connection that delivers too little.
#[derive(Debug)]
pub(super) struct Stall {
    since: Instant,
    bytes: u64,
    within: Duration,
    least: u64,
}

impl Stall {
    pub fn new(limits: &DownloadLimits) -> Self {
        Self { since: Instant::now(), bytes: 0, within: limits.stall, least: limits.stall_bytes }
    }

    /// For a small file that a caller waits for.
    pub fn soon(limits: &DownloadLimits) -> Self {
        Self { within: limits.stall.min(SOON), ..Self::new(limits) }
    }

    /// Awaits `what`, but not longer than a connection may be silent or slow.
    pub async fn wait<T>(&mut self, what: impl Future<Output = T>) -> Result<T, FetchError> {
        tokio::pin!(what);
        loop {
            match timeout_at(self.since + self.within, &mut what).await {
                Ok(done) => return Ok(done),
                Err(_) => self.check()?,
            }
        }
    }

    /// Counts received bytes, and `own`, the time that this program itself waited.
    pub fn came(&mut self, bytes: usize, own: Duration) -> Result<(), FetchError> {
        self.bytes += bytes as u64;
        self.since += own;
        if self.since.elapsed() >= self.within { self.check() } else { Ok(()) }
    }

    fn check(&mut self) -> Result<(), FetchError> {
        if self.bytes < self.least {
            let (bytes, seconds) = (self.bytes, self.within.as_secs_f32());
            let why = format!("it brought {bytes} bytes in {seconds} seconds and was given up");
            return Err(FetchError { then: Then::Stalled, why });
        }
        (self.since, self.bytes) = (Instant::now(), 0);
        Ok(())
    }
}
