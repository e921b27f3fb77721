//! Hours in which something may happen: `"mon-fri 02:00-05:00"`, in local time.

use base::os::clock::Zone;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Minutes of a day.
const DAY: u16 = 24 * 60;
const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Hours on some days. If the end is not after the start, it is on the next day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Window {
    /// The days on which it begins; bit 0 is Monday.
    days: u8,
    /// Minutes after midnight.
    from: u16,
    /// Minutes after midnight, up to 24:00, exclusive.
    to: u16,
    text: String,
}

impl Window {
    /// `[days] HH:MM-HH:MM`; days are `mon`, `mon-fri` or `sat,sun`, and all days if omitted. `None` for a malformed
    /// text.
    pub fn parse(text: &str) -> Option<Self> {
        let (days, hours) = match text.split_once(' ') {
            Some((days, hours)) => (parse_days(days)?, hours),
            None => (0x7f, text),
        };
        let (from, to) = hours.split_once('-')?;
        let (from, to) = (minute(from)?, minute(to)?);
        (from < DAY && from != to).then(|| Self { days, from, to, text: text.to_owned() })
    }

    fn is_open(&self, day: u8, at: u16) -> bool {
        let on = |day: u8| self.days >> (day % 7) & 1 == 1;
        if self.from < self.to {
            return on(day) && (self.from..self.to).contains(&at);
        }
        on(day) && at >= self.from || on(day + 6) && at < self.to
    }
}

fn parse_days(text: &str) -> Option<u8> {
    let day = |name: &str| NAMES.iter().position(|known| *known == name);
    text.split(',').try_fold(0, |days, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        // "fri-mon" continues past the end of the week.
        let length = (last + 7 - first) % 7;
        Some((0..=length).fold(days, |days, step| days | 1 << ((first + step) % 7)))
    })
}

/// `HH:MM`, up to 24:00.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |part: &str| {
        (part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse::<u16>().ok())
    };
    let (hour, minute) = (number(hour)??, number(minute)??);
    (minute < 60).then_some(hour * 60 + minute).filter(|at| *at <= DAY)
}

impl TryFrom<String> for Window {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a window is written like \"mon-fri 02:00-05:00\"")
    }
}

impl From<Window> for String {
    fn from(window: Window) -> Self {
        window.text
    }
}

/// Several windows; an empty list means always.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Windows(pub Vec<Window>);

impl Windows {
    pub fn is_always(&self) -> bool {
        self.0.is_empty()
    }

    /// `None` if one of them is open at `unix_seconds`, otherwise the seconds until the next one opens, at a full
    /// minute. If the zone's rules do not cover that time, UTC is used.
    pub fn wait(&self, unix_seconds: i64, zone: &Zone) -> Option<u64> {
        let offset = |at: i64| zone.offset(at).map_or(0, |(offset, _)| i64::from(offset));
        let open = |at: i64| {
            let local = at + offset(at);
            // 1 January 1970 was a Thursday.
            let day = u8::try_from((local.div_euclid(86_400) + 3).rem_euclid(7)).unwrap_or(0);
            let minute = u16::try_from(local.rem_euclid(86_400) / 60).unwrap_or(0);
            self.0.iter().any(|window| window.is_open(day, minute))
        };
        if self.is_always() || open(unix_seconds) {
            return None;
        }
        // The next start is at most a week and a clock change away. Windows and offsets are in whole minutes.
        let next = (unix_seconds.div_euclid(60) + 1) * 60;
        let found = (0..8 * i64::from(DAY)).map(|step| next + step * 60).find(|at| open(*at));
        found.map(|at| at.abs_diff(unix_seconds))
    }
}

impl fmt::Display for Windows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_always() {
            return out.write_str("at any time");
        }
        let all: Vec<&str> = self.0.iter().map(|window| window.text.as_str()).collect();
        out.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::os::{Root, clock};

    #[test]
    fn a_window_is_days_and_hours() {
        for good in
            ["02:00-05:00", "mon 00:00-24:00", "mon-fri 22:30-04:00", "sat,sun 01:00-02:00", "fri-mon 23:59-00:00"]
        {
            assert_eq!(Window::parse(good).map(String::from).as_deref(), Some(good));
        }
        for bad in [
            "",
            " ",
            "02:00",
            "02:00-",
            "2:00-5:00",
            "02:00-25:00",
            "02:00-24:01",
            "24:00-02:00",
            "02:60-03:00",
            "02:00-02:00",
            "mon",
            "Mon 02:00-05:00",
            "mon  02:00-05:00",
            "mo 02:00-05:00",
            "mon, 02:00-05:00",
            "02:00-05:00 mon",
            "+2:00-05:00",
            "mon-tue-wed 02:00-05:00",
            "02:00-05:00\0",
        ] {
            assert_eq!(Window::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn it_opens_and_shuts_by_the_local_clock() {
        let windows = |text: &str| Windows(vec![Window::parse(text).unwrap()]);
        let utc = clock::zone(&Root::at("/nowhere")).unwrap();
        // 2026-11-22 is a Sunday; 1795305600 is its midnight.
        let sunday = 1_795_305_600;
        let at = |hours: i64, minutes: i64| sunday + hours * 3600 + minutes * 60;
        let night = windows("sun 22:00-04:00");
        assert_eq!(night.wait(at(21, 59), &utc), Some(60));
        assert_eq!(night.wait(at(22, 0), &utc), None);
        assert_eq!(night.wait(at(27, 59), &utc), None, "Monday, before four");
        assert_eq!(night.wait(at(28, 0), &utc), Some(6 * 86_400 + 18 * 3600), "Monday, at four");
        assert_eq!(night.wait(at(3, 59), &utc), Some(18 * 3600 + 60), "that would have been Saturday's");
        assert_eq!(Windows::default().wait(0, &utc), None);
        assert_eq!(windows("02:00-05:00").wait(at(1, 59) + 59, &utc), Some(1));
    }
}
