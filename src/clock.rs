//! Wall-clock time as the contract writes it: RFC 3339, UTC, milliseconds (document 000, section 2.4.2).

use time::{OffsetDateTime, format_description::BorrowedFormatItem, macros::format_description};

const FORMAT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// Now, as `2026-01-15T14:30:00.000Z`.
pub fn now() -> String {
    stamp(OffsetDateTime::now_utc())
}

/// Milliseconds since 1970 UTC, as the audit and the agent count.
pub fn millis(at: OffsetDateTime) -> i64 {
    // Ten thousand years fit.
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// `at` in the same form.
pub fn stamp(at: OffsetDateTime) -> String {
    at.to_offset(time::UtcOffset::UTC).format(FORMAT).unwrap_or_else(|_| "1970-01-01T00:00:00.000Z".into())
}
