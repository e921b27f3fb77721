//! Dates and times as RouterOS shows them, in UTC.

use crate::duration;

/// `2026-11-26 08:00:00` of seconds since 1970 UTC (Howard Hinnant's civil_from_days).
pub(crate) fn date_and_time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let z = days + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// Seconds since 1970 UTC of `2026-11-26` and `08:00:00`.
pub(crate) fn seconds_of(date: &str, time: &str) -> Option<u64> {
    let parts: Vec<u64> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month @ 1..=12, day @ 1..=31] = parts[..] else { return None };
    // Howard Hinnant's days_from_civil.
    let y = year - u64::from(month <= 2);
    let (era, yoe) = (y / 400, y % 400);
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = (era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy).checked_sub(719_468)?;
    Some(days * 86_400 + duration::parse(time)?.as_secs())
}
