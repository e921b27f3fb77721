//! RouterOS' times, such as `1w2d03:04:05` and `2m30s`.

use std::{fmt::Write, time::Duration};

/// Of `2m`, `1d12h`, `00:02:00`, `90` (seconds), or combinations of them.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let (mut seconds, mut digits) = (0_u64, String::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == ':'
            || digits.is_empty()
                && c.is_ascii_digit()
                && rest.contains(':')
                && !rest.contains(['w', 'd', 'h', 'm', 's'])
        {
            let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
            let [hours, minutes, more] = parts[..] else { return None };
            return Some(Duration::from_secs(seconds + hours * 3_600 + minutes * 60 + more));
        }
        rest = &rest[c.len_utf8()..];
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit = match c {
            'w' => 604_800,
            'd' => 86_400,
            'h' => 3_600,
            'm' if rest.starts_with('s') => return None,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds += digits.parse::<u64>().ok()? * unit;
        digits.clear();
    }
    if !digits.is_empty() {
        seconds += digits.parse::<u64>().ok()?;
    } else if text.is_empty() {
        return None;
    }
    Some(Duration::from_secs(seconds))
}

/// As RouterOS prints an uptime or an interval: `1w2d3h4m5s`, `0s`.
pub(crate) fn shown(time: Duration) -> String {
    let (mut rest, mut shown) = (time.as_secs(), String::new());
    for (unit, name) in [(604_800, 'w'), (86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')] {
        if rest >= unit {
            let _ = write!(shown, "{}{name}", rest / unit);
            rest %= unit;
        }
    }
    if shown.is_empty() { "0s".into() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form_and_shown_in_one() {
        for (text, seconds) in
            [("2m", 120), ("1d12h", 129_600), ("00:02:00", 120), ("1w2d03:04:05", 788_645), ("90", 90), ("0s", 0)]
        {
            assert_eq!(parse(text), Some(Duration::from_secs(seconds)), "{text}");
            assert_eq!(parse(&shown(Duration::from_secs(seconds))), Some(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "m", "2x", "1:2", "2ms"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
