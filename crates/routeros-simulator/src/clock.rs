//! Dates and times as RouterOS shows them, in UTC.

use crate::duration;
use time::{Date, OffsetDateTime, Time, format_description::StaticFormatDescription, macros::format_description};

const DATE: StaticFormatDescription = format_description!("[year]-[month]-[day]");
const DATE_AND_TIME: StaticFormatDescription = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");

/// `2026-11-26 08:00:00` of seconds since 1970 UTC.
pub(crate) fn date_and_time(seconds: u64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(seconds.cast_signed()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(DATE_AND_TIME).unwrap_or_default()
}

/// Seconds since 1970 UTC of `2026-11-26` and `08:00:00`.
pub(crate) fn seconds_of(date: &str, time: &str) -> Option<u64> {
    let midnight = Date::parse(date, DATE).ok()?.with_time(Time::MIDNIGHT).assume_utc();
    Some(u64::try_from(midnight.unix_timestamp()).ok()? + duration::parse(time)?.as_secs())
}
