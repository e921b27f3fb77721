//! Wall-clock time in the contract's form: RFC 3339, UTC, milliseconds (docs/contract/README.md).

use std::{fmt, sync::Arc};
use time::{
    OffsetDateTime,
    format_description::{BorrowedFormatItem, well_known::Rfc3339},
    macros::format_description,
};

const FORMAT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// Now, as `2026-01-15T14:30:00.000Z`.
pub fn now() -> String {
    stamp(OffsetDateTime::now_utc())
}

/// Milliseconds since 1970 UTC, as in the audit and the agent.
pub fn millis(at: OffsetDateTime) -> i64 {
    // Enough for ten thousand years.
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// Formats `at` the same way.
pub fn stamp(at: OffsetDateTime) -> String {
    at.to_offset(time::UtcOffset::UTC).format(FORMAT).unwrap_or_else(|_| "1970-01-01T00:00:00.000Z".into())
}

/// Parses RFC 3339, with any offset.
///
/// # Errors
/// A sentence with an example.
pub fn parse(text: &str) -> Result<OffsetDateTime, String> {
    let bad = |why: String| format!("{text:?} is no RFC 3339 time like 2026-01-15T14:30:00Z: {why}");
    // The `time` crate accepts any letter here; RFC 3339 only this one.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
        return Err(bad("there is no T between date and time".into()));
    }
    OffsetDateTime::parse(text, &Rfc3339).map_err(|error| bad(error.to_string()))
}

/// The machine's clock for stored times. Injectable for tests.
#[derive(Clone)]
pub struct Wall(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Wall {
    pub fn system() -> Self {
        Self::of(|| millis(OffsetDateTime::now_utc()))
    }
    /// A clock that returns `now`, in milliseconds since 1970 UTC.
    pub fn of(now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }
    /// Milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

impl fmt::Debug for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wall({})", self.now_ms())
    }
}

/// Milliseconds since 1970 UTC, formatted like [`stamp`] but much faster: a page of history has ten thousand.
#[derive(Clone, Copy, Debug)]
pub struct Stamp(pub i64);

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        // Converts days to a date in the proleptic Gregorian calendar, with years that begin in March (H. Hinnant,
        // "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
        let shifted = days + 719_468;
        let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (year, month) = match month {
            0..=9 => (year + era * 400, month + 3),
            _ => (year + era * 400 + 1, month - 9),
        };
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, digits: usize, mut number: i64| {
            for place in (at..at + digits).rev() {
                text[place] = b'0' + u8::try_from(number.rem_euclid(10)).unwrap_or(0);
                number /= 10;
            }
        };
        put(0, 4, year);
        for (at, number) in [(5, month), (8, day), (11, hour), (14, minute), (17, second)] {
            put(at, 2, number);
        }
        put(20, 3, ms % 1000);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl serde::Serialize for Stamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_stamp_says_what_the_other_says() {
        let all = (0..2000).map(|n| n * 86_399_999_123 % 253_402_300_799_999);
        let edges =
            [0, 951_782_400_000, 951_868_799_999, 1_709_164_800_000, 4_107_542_400_000, 253_402_300_799_999, -1];
        for ms in all.chain(edges) {
            let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).unwrap();
            assert_eq!(Stamp(ms).to_string(), stamp(at), "{ms}");
        }
    }
}
