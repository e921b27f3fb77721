//! The limits of a download: those of `[update]`, and fixed ones.

use base::{
    clock::Wall,
    os::{
        Root,
        clock::{self, Zone},
    },
};
use contract::{config::UpdateSettings, values::Windows};
use std::{path::PathBuf, time::Duration};

/// All limits of a download. [`DownloadLimits::of`] makes them from the settings.
#[derive(Clone, Debug)]
pub struct DownloadLimits {
    /// `http://host:port`.
    pub proxy: Option<String>,
    /// PEM file of the accepted authorities, in place of the system's.
    pub ca_file: Option<PathBuf>,
    /// A time that has certainly passed, in seconds since 1970. Certificates are checked by it when the clock is not
    /// set.
    pub time_floor: u64,
    /// Whether the clock was set from the network. If not, a certificate may be younger than the clock.
    pub synchronised: bool,
    /// Timeout for connecting.
    pub connect: Duration,
    /// A connection that delivers less than `stall_bytes` in `stall` is closed.
    pub stall: Duration,
    pub stall_bytes: u64,
    /// Maximum duration of a download, including pauses.
    pub deadline: Duration,
    /// Bytes per second; `None`: no limit.
    pub bandwidth: Option<u64>,
    /// The hours in which downloads are allowed.
    pub window: Windows,
    /// The machine with the clock that says whether it is in them.
    pub root: Root,
    pub wall: Wall,
    /// Maximum number of parallel requests.
    pub requests: usize,
    /// Maximum bytes per request. An interruption loses at most one block, but a closed window or a slow mirror is
    /// noticed only between two requests.
    pub request_bytes: u64,
    /// The first pause after a failure. Each further one is twice as long, up to `longest_pause`, less a random part,
    /// so that a fleet does not return all at once.
    pub pause: Duration,
    pub longest_pause: Duration,
    /// Consecutive failures per place, without any progress, after which the download is given up.
    pub patience: u32,
}

impl DownloadLimits {
    /// The limits of the settings. `time_floor`: a time that has certainly passed, in seconds since 1970.
    pub fn of(settings: &UpdateSettings, root: Root, wall: Wall, time_floor: u64) -> Self {
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
            ..Self::new(root, wall)
        }
    }

    /// The time zone of the window. UTC if the machine's zone cannot be read, as in `system.get_clock`.
    pub(super) fn zone(&self) -> Zone {
        clock::zone(&self.root).unwrap_or_else(|_| Zone::utc())
    }

    /// The defaults; `root` and `wall` are for the window.
    pub fn new(root: Root, wall: Wall) -> Self {
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
            root,
            wall,
            // Enough to hide the round-trip time; each has a block in memory.
            requests: 4,
            request_bytes: 4 << 20,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(60),
            // About eight minutes with the pauses above.
            patience: 12,
        }
    }
}
