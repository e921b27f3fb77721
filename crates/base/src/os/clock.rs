//! The configured time zone, whether the clock is set from the network, and the monotonic clock.

use super::{Root, malformed};
use std::{fs::File, io, io::Read, path::Path, time::Duration};

const LOCALTIME: &str = "etc/localtime";
/// The time zone database.
pub const ZONES: &str = "usr/share/zoneinfo";
/// Longest name of a zone that is taken, in bytes; the longest that exists has 32.
pub const LONGEST_ZONE: usize = 64;
/// Names of zones, as systemd accepts them: no part is empty or has a dot.
pub const ZONE_PATTERN: &str = "^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$";
/// The first bytes of a zone's rules (RFC 9636).
const MAGIC: &[u8] = b"TZif";
/// systemd-timesyncd creates the folder when it starts and the file when the clock is synchronized
/// (systemd-timesyncd.service(8)).
const TIMESYNC: &str = "run/systemd/timesync";
/// The real-time clock from which the kernel sets the system's at the start, in seconds since 1970.
const RTC: &str = "sys/class/rtc/rtc0/since_epoch";
/// How far apart the two may be and still agree, in seconds.
const APART: u64 = 60;

/// The monotonic clock: time since the machine started, without suspend. The kernel uses it for edges of GPIO lines,
/// systemd for `...TimestampMonotonic`.
pub fn monotonic() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The machine's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// `Europe/London`, or `UTC` when nothing is configured (localtime(5)).
    pub name: String,
    /// The rules; `None` for UTC.
    rules: Option<tz::TimeZone>,
    /// Why local time is UTC although the zone is another one: its rules are not there.
    pub missing: Option<String>,
}

impl Zone {
    /// The default when nothing is configured.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), rules: None, missing: None }
    }

    /// The offset from UTC in seconds at `unix_seconds`, with summer time, and its name (`BST`).
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

/// `/etc/localtime` as in localtime(5): a link into the zone database, or a file together with a name in
/// `/etc/timezone`.
///
/// # Errors
/// `InvalidData` when the rules are not a TZif file (RFC 9636). A link that leads nowhere is UTC ([`Zone::missing`]).
pub fn zone(root: &Root) -> io::Result<Zone> {
    let leads = |target: &Path| target.to_str().is_some_and(|target| target.contains("zoneinfo/"));
    // Of an appliance, through a second link in /run: /etc is read-only.
    let linked = root.link(LOCALTIME).ok().map(|target| match target.to_str() {
        Some(place) if !leads(&target) => root.link(place).ok().filter(|next| leads(next)).unwrap_or(target),
        _ => target,
    });
    let name = linked
        .as_deref()
        .and_then(|target| target.to_str()?.split_once("zoneinfo/"))
        .map(|(_, name)| name.to_owned())
        .or_else(|| root.line("etc/timezone").ok());
    let Some(name) = name else {
        return match root.read_bytes(LOCALTIME) {
            Ok(bytes) => Ok(Zone { name: "unnamed".into(), rules: Some(rules(LOCALTIME, &bytes)?), missing: None }),
            // No configuration means UTC.
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(Zone::utc()),
            Err(fault) => Err(fault),
        };
    };
    if matches!(name.as_str(), "UTC" | "Etc/UTC" | "Etc/UCT" | "Zulu") {
        return Ok(Zone { name, rules: None, missing: None });
    }
    // Resolved below `root`, because the link is written for a machine whose root is "/".
    let file = if linked.is_some() { format!("{ZONES}/{name}") } else { LOCALTIME.into() };
    match root.read_bytes(&file) {
        Ok(bytes) => Ok(Zone { rules: Some(rules(&file, &bytes)?), name, missing: None }),
        // As for every program of the machine (tzset(3)).
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            let missing = format!("there is no /{file}, so local time is UTC: install tzdata, or choose another zone");
            Ok(Zone { name, rules: None, missing: Some(missing) })
        }
        Err(fault) => Err(fault),
    }
}

/// Whether `name` fits [`ZONE_PATTERN`] and [`LONGEST_ZONE`].
pub fn is_zone_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte);
    name.len() <= LONGEST_ZONE && name.split('/').all(|part| !part.is_empty() && part.bytes().all(fits))
}

/// Whether the database has a zone of that name.
pub fn is_zone(root: &Root, name: &str) -> bool {
    let mut magic = [0; MAGIC.len()];
    is_zone_name(name)
        && File::open(root.path(&format!("{ZONES}/{name}")))
            .and_then(|mut file| file.read_exact(&mut magic))
            .is_ok_and(|()| magic == *MAGIC)
}

/// Up to three names of the database that have `text` in their last part, whatever the case: Europe/Berlin for "berlin".
pub fn zones_like(root: &Root, text: &str) -> Vec<String> {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let wanted = last(&text.replace(' ', "_"));
    // Country, place, name (tz's zone1970.tab).
    let table = root.read(&format!("{ZONES}/zone1970.tab")).unwrap_or_default();
    let names = table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split('\t').nth(2));
    names.filter(|name| wanted.len() > 2 && last(name).contains(&wanted)).take(3).map(str::to_owned).collect()
}

fn rules(file: &str, bytes: &[u8]) -> io::Result<tz::TimeZone> {
    tz::TimeZone::from_tz_data(bytes).map_err(|fault| malformed(file, &format!("it is no TZif file: {fault}")))
}

/// Whether the clock has been set from the network since boot. `None` without systemd-timesyncd: chrony and ntpd do not
/// publish it, and reading the kernel's flag needs a system call that is unavailable in safe Rust.
pub fn synchronized(root: &Root) -> Option<bool> {
    root.has(TIMESYNC).then(|| root.has(&format!("{TIMESYNC}/synchronized")))
}

/// Whether the clock, which says `unix_seconds`, may decide what hour it is: it was set from the network, or agrees with a real-time clock.
/// Without a battery that one starts in 1970, and systemd then moves the system's clock on to the last shutdown. Where no systemd-timesyncd
/// tells, the owner keeps the time by another program, and the clock counts as set.
pub fn is_set(root: &Root, unix_seconds: i64) -> bool {
    let agrees = || {
        let kept: Option<i64> = root.line(RTC).ok().and_then(|line| line.parse().ok());
        kept.is_some_and(|kept| kept.abs_diff(unix_seconds) <= APART)
    };
    synchronized(root) != Some(false) || agrees()
}
