//! The configured time zone, whether the clock is set from the network, and the clock that nobody sets.

use super::{Root, malformed};
use std::{io, time::Duration};

const LOCALTIME: &str = "etc/localtime";
/// systemd-timesyncd makes the folder when it starts and the file when the clock is right
/// (systemd-timesyncd.service(8)).
const TIMESYNC: &str = "run/systemd/timesync";

/// The monotonic clock: the time since the machine started, without sleep. The kernel stamps edges of GPIO lines with it, systemd
/// its `...TimestampMonotonic`.
pub fn monotonic() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The zone the machine shows its time in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// `Europe/London`, or `UTC` where nothing is configured (localtime(5)).
    pub name: String,
    /// The rules. `None` means UTC.
    rules: Option<tz::TimeZone>,
}

impl Zone {
    /// What holds where nothing is configured.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), rules: None }
    }

    /// Seconds to add to UTC at `unix_seconds`, summer time included, and what that time is called (`BST`).
    ///
    /// # Errors
    /// `InvalidData` when the rules do not cover that time.
    pub fn offset(&self, unix_seconds: i64) -> io::Result<(i32, String)> {
        let Some(rules) = &self.rules else { return Ok((0, "UTC".into())) };
        let kind = rules
            .find_local_time_type(unix_seconds)
            .map_err(|fault| malformed(LOCALTIME, &format!("its rules do not cover the present: {fault}")))?;
        Ok((kind.ut_offset(), kind.time_zone_designation().to_owned()))
    }
}

/// `/etc/localtime` as localtime(5) has it: a link into the zone database, or a file beside a name in `/etc/timezone`.
///
/// # Errors
/// `InvalidData` when the rules are no TZif file (RFC 9636), `NotFound` when the link leads nowhere.
pub fn zone(root: &Root) -> io::Result<Zone> {
    let linked = root.link(LOCALTIME).ok();
    let name = linked
        .as_deref()
        .and_then(|target| target.to_str()?.split_once("zoneinfo/"))
        .map(|(_, name)| name.to_owned())
        .or_else(|| root.line("etc/timezone").ok());
    let Some(name) = name else {
        return match root.read_bytes(LOCALTIME) {
            Ok(bytes) => Ok(Zone { name: "unnamed".into(), rules: Some(rules(LOCALTIME, &bytes)?) }),
            // Nothing is configured, and that means UTC.
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(Zone { name: "UTC".into(), rules: None }),
            Err(fault) => Err(fault),
        };
    };
    if matches!(name.as_str(), "UTC" | "Etc/UTC" | "Etc/UCT" | "Zulu") {
        return Ok(Zone { name, rules: None });
    }
    // Under the root, since the link is written for a machine whose root is "/".
    let file = if linked.is_some() { format!("usr/share/zoneinfo/{name}") } else { LOCALTIME.into() };
    let bytes = root.read_bytes(&file)?;
    Ok(Zone { rules: Some(rules(&file, &bytes)?), name })
}

fn rules(file: &str, bytes: &[u8]) -> io::Result<tz::TimeZone> {
    tz::TimeZone::from_tz_data(bytes).map_err(|fault| malformed(file, &format!("it is no TZif file: {fault}")))
}

/// Whether the clock has been set from the network since boot. `None` where systemd-timesyncd does not run: chrony and
/// ntpd keep that to themselves, and the kernel's own flag needs a system call that safe Rust cannot make.
pub fn synchronized(root: &Root) -> Option<bool> {
    root.has(TIMESYNC).then(|| root.has(&format!("{TIMESYNC}/synchronized")))
}
