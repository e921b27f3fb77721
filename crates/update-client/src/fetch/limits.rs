//! What a download may take: the numbers of `[update]`, and those that nobody has to set.

use base::{clock::Wall, os::clock::Zone};
use contract::{config::UpdateSettings, values::Windows};
use std::{path::PathBuf, time::Duration};

/// Everything that bounds a download. [`Limits::of`] makes one of the settings.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `http://host:port`.
    pub proxy: Option<String>,
    /// PEM: the authorities that count, in place of the system's.
    pub ca_file: Option<PathBuf>,
    /// Seconds since 1970 that are certain to have passed: certificates are judged by it where the clock is not set.
    pub time_floor: u64,
    /// Whether the clock was set from the network: else a certificate may be younger than it.
    pub synchronised: bool,
    /// Until a connection stands.
    pub connect: Duration,
    /// A connection that brings less than `stall_bytes` in `stall` is given up.
    pub stall: Duration,
    pub stall_bytes: u64,
    /// The whole download, with all its pauses.
    pub deadline: Duration,
    /// Bytes a second; `None`: as fast as it goes.
    pub bandwidth: Option<u64>,
    /// When anything may be fetched.
    pub window: Windows,
    pub zone: Zone,
    pub wall: Wall,
    /// Requests at once.
    pub requests: usize,
    /// The longest request, in bytes: what is lost when one breaks off is at most one block, but a window that shuts, or a mirror
    /// that turns out to be slow, is noticed between two.
    pub request_bytes: u64,
    /// The first pause after a failure; each one after it is twice as long, up to `longest_pause`, and a random part of that is left
    /// out, so that a fleet does not come back all at once.
    pub pause: Duration,
    pub longest_pause: Duration,
    /// Failures of each place in a row, without a byte between them, until the download is given up.
    pub patience: u32,
}

impl Limits {
    /// What the settings say. `time_floor`: seconds since 1970 that are certain to have passed.
    pub fn of(settings: &UpdateSettings, zone: Zone, wall: Wall, time_floor: u64) -> Self {
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        Self {
            proxy: some(&settings.proxy),
            ca_file: some(&settings.ca_file).map(PathBuf::from),
            time_floor,
            stall: Duration::from_secs(settings.stall_seconds),
            stall_bytes: settings.stall_bytes,
            deadline: Duration::from_secs(u64::from(settings.deadline_hours) * 3600),
            bandwidth: (settings.bandwidth_kib > 0).then(|| u64::from(settings.bandwidth_kib) << 10),
            window: settings.download_window.clone(),
            ..Self::new(zone, wall)
        }
    }

    /// What holds for everybody; `zone` and `wall` are for the window.
    pub fn new(zone: Zone, wall: Wall) -> Self {
        Self {
            proxy: None,
            ca_file: None,
            time_floor: 0,
            synchronised: true,
            connect: Duration::from_secs(20),
            stall: Duration::from_secs(60),
            stall_bytes: 16 << 10,
            deadline: Duration::from_secs(24 * 3600),
            bandwidth: None,
            window: Windows::default(),
            zone,
            wall,
            // Enough to hide the way there and back; each has a block in memory.
            requests: 4,
            request_bytes: 4 << 20,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(60),
            // With the pauses above: eight minutes.
            patience: 12,
        }
    }
}
