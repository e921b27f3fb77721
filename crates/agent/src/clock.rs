//! The agent's clocks: wall time for display, time since power-on for everything that must not be set back.

use base::os::uptime::Uptime;
use std::{sync::Arc, time::Duration};

/// Milliseconds since 1970 UTC. Injectable for tests.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Time since power-on, including suspend. The network cannot set it.
pub type BootClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The machine's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| base::clock::millis(time::OffsetDateTime::now_utc()))
}

/// CLOCK_BOOTTIME of this machine.
pub fn boot_clock() -> BootClock {
    Arc::new(|| Uptime::Clock.now().unwrap_or_default())
}
