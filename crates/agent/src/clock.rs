//! Where the agent reads the time: the wall's clock for people, the time since power-on for what must not be set back.

use base::os::uptime::Uptime;
use std::{sync::Arc, time::Duration};

/// Milliseconds since 1970 UTC. Tests bring their own.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The time since power-on, suspended time counted in: no clock that the network sets.
pub type BootClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The machine's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| base::clock::millis(time::OffsetDateTime::now_utc()))
}

/// CLOCK_BOOTTIME of this machine.
pub fn boot_clock() -> BootClock {
    Arc::new(|| Uptime::Clock.now().unwrap_or_default())
}
