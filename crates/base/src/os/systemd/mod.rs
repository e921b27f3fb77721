//! systemd's services over D-Bus: names, states, properties, unit files, and signals.
//!
//! Read-only. The agent changes units (`agent::units`). Interface: org.freedesktop.systemd1(5).

pub mod enabled;
pub mod list;
pub mod name;
pub mod properties;
pub mod resident;
pub mod unit_file;
pub mod verify;
pub mod wanted;
pub mod watch;

pub use name::ServiceName;
pub use properties::UnitProperties;

use super::bus::DBusObject;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

pub const SERVICE: &str = "org.freedesktop.systemd1";
const PATH: &str = "/org/freedesktop/systemd1";
/// The manager object.
pub const MANAGER: DBusObject<'static> =
    DBusObject { service: SERVICE, path: PATH, interface: "org.freedesktop.systemd1.Manager" };

/// Minimum interval between two readings of processor time.
const SHORTEST: Duration = Duration::from_millis(500);
/// Maximum age of an earlier reading.
const LONGEST: Duration = Duration::from_secs(60);
/// Limit of services whose readings are kept; more than a machine has.
const READINGS: usize = 1024;

/// State of systemd kept between calls.
#[derive(Default)]
pub struct Systemd {
    /// The unit files, and which of them are enabled.
    pub enabled: enabled::UnitFileStates,
    readings: Mutex<HashMap<String, Reading>>,
}

#[derive(Clone, Copy)]
struct Reading {
    at: Instant,
    used: Duration,
}

impl Systemd {
    /// The share of `cores` processors that `unit` used, 0-100, and the interval: since the last reading if that is 0.5
    /// to 60 s old, otherwise since the unit started, `running` ago; in seconds. `used` is CPUUsageNSec; `None` when the
    /// interval is 0.
    pub fn cpu_percent(
        &self,
        unit: &str,
        used: Duration,
        running: Duration,
        cores: u32,
        now: Instant,
    ) -> Option<(f64, f64)> {
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        let before = readings.get(unit).copied();
        // Counters are reset with each start of the unit.
        let usable = before.filter(|before| {
            let age = now.saturating_duration_since(before.at);
            (SHORTEST..=LONGEST).contains(&age) && before.used <= used && age <= running
        });
        if before.is_none_or(|before| now.saturating_duration_since(before.at) >= SHORTEST || before.used > used) {
            if readings.len() >= READINGS {
                readings.retain(|_, reading| now.saturating_duration_since(reading.at) <= LONGEST);
            }
            if readings.len() < READINGS {
                readings.insert(unit.to_owned(), Reading { at: now, used });
            }
        }
        let (span, used) = match usable {
            Some(before) => (now.saturating_duration_since(before.at), used - before.used),
            None => (running, used),
        };
        let whole = span.as_secs_f64() * f64::from(cores.max(1));
        (whole > 0.0).then(|| ((used.as_secs_f64() * 100.0 / whole).clamp(0.0, 100.0), span.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_all_cores_and_since_the_last_reading_or_the_start() {
        let (systemd, start, second) = (Systemd::default(), Instant::now(), Duration::from_secs(1));
        let read = |after: u32, used: u32, running: u32| {
            systemd.cpu_percent("a.service", second * used, second * running, 4, start + second * after)
        };
        assert_eq!(read(0, 20, 10), Some((50.0, 10.0)), "since the start");
        assert_eq!(read(10, 24, 20), Some((10.0, 10.0)), "since the reading");
        assert_eq!(read(10, 24, 20), Some((30.0, 20.0)), "too close to it");
        assert_eq!(read(90, 24, 100), Some((6.0, 100.0)), "too long ago");
        assert_eq!(read(100, 2, 1), Some((50.0, 1.0)), "started anew");
        assert_eq!(read(101, 99, 1), Some((100.0, 1.0)), "no more than all");
        assert_eq!(systemd.cpu_percent("b.service", second, Duration::ZERO, 4, start), None);
    }
}
