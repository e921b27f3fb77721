//! Numbers as people read them. The end of a field's name says its unit (docs/contract/README.md): `used_bytes`,
//! `duration_ms`.

use contract::audit::rfc3339;
use serde_json::{Map, Value};

/// The name without its unit, and the value with it; `None` if the name ends in no unit or the value is no number.
pub fn with_unit(name: &str, value: &Value) -> Option<(String, String)> {
    let number = value.as_f64()?;
    // Seconds since 1970 are above this (2001-09-09), times of another kind are not.
    if number >= 1e9
        && let Some(rest) = name.strip_suffix("_time").filter(|rest| !rest.is_empty())
    {
        return Some((format!("{rest} time"), moment(number * 1000.0)));
    }
    let (rest, end, unit) = split(name)?;
    let text = match end {
        // Milliseconds since 1970, of the same day.
        "_ms" if number >= 1e12 => moment(number),
        "_bytes" => bytes(value),
        "_bytes_per_sec" => format!("{}/s", bytes(value)),
        "_seconds" => seconds(value),
        _ => format!("{value} {unit}"),
    };
    Some((rest.to_owned(), text))
}

/// The share in percent of what `name` says in bytes, by the same record: `used_percent` beside `used_bytes`.
pub fn share<'a>(name: &str, record: &'a Map<String, Value>) -> Option<&'a Value> {
    let of = name.strip_suffix("_bytes")?;
    record.get(&format!("{of}_percent")).filter(|share| share.is_number())
}

/// Whether `name` is such a share, which is printed behind the bytes.
pub fn is_share(name: &str, record: &Map<String, Value>) -> bool {
    let of = name.strip_suffix("_percent");
    of.is_some_and(|of| record.get(&format!("{of}_bytes")).is_some_and(Value::is_number))
}

/// Whether another field of the record has the same name but for the unit.
pub fn is_ambiguous(name: &str, record: &Map<String, Value>) -> bool {
    let short = |name| split(name).map_or(name, |(rest, ..)| rest);
    record.keys().any(|other| other != name && short(other) == short(name))
}

/// A name before its unit, that end, and how the unit is written.
fn split(name: &str) -> Option<(&str, &'static str, &'static str)> {
    let cut = |(end, unit): &(&'static str, &'static str)| {
        name.strip_suffix(end).filter(|rest| !rest.is_empty()).map(|rest| (rest, *end, *unit))
    };
    UNITS.iter().find_map(cut)
}

/// The ends of names, and how the unit is written (SI); empty where it depends on the number.
const UNITS: &[(&str, &str)] = &[
    ("_bytes", ""),
    ("_bytes_per_sec", ""),
    ("_seconds", ""),
    ("_percent", "%"),
    ("_celsius", "°C"),
    ("_ms", "ms"),
    ("_us", "µs"),
    ("_hz", "Hz"),
    ("_mbps", "Mbit/s"),
    ("_volts", "V"),
];

fn moment(ms: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
    let ms = ms as i64;
    rfc3339(ms)
}

/// Up to 10 KiB in bytes, more in binary units (IEC 80000-13) with one decimal.
fn bytes(value: &Value) -> String {
    let number = value.as_f64().unwrap_or_default();
    if number < 10_240.0 {
        return format!("{value} B");
    }
    let mut scaled = number / 1024.0;
    let mut unit = "KiB";
    for next in ["MiB", "GiB", "TiB"] {
        // 1023.95 would be printed as 1024.0.
        if scaled < 1023.95 {
            break;
        }
        scaled /= 1024.0;
        unit = next;
    }
    format!("{scaled:.1} {unit}")
}

/// Seconds, with days, hours and minutes from two minutes on.
fn seconds(value: &Value) -> String {
    let Some(whole) = value.as_u64().filter(|whole| *whole >= 120) else { return format!("{value} s") };
    let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
    let parts = [(days, "d"), (hours, "h"), (minutes, "min"), (whole % 60, "s")];
    let text: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(name: &str, value: Value) -> String {
        with_unit(name, &value).map_or_else(|| "as it is".into(), |(name, value)| format!("{name}: {value}"))
    }

    #[test]
    fn a_unit_is_written_behind_the_number_and_not_in_the_name() {
        assert_eq!(said("memory_used_bytes", json!(6_339_698_688_u64)), "memory_used: 5.9 GiB");
        assert_eq!(said("read_bytes_per_sec", json!(2_856_202.4)), "read: 2.7 MiB/s");
        assert_eq!(said("cpu_usage_percent", json!(12.5)), "cpu_usage: 12.5 %");
        assert_eq!(said("cpu_temperature_celsius", json!(48.1)), "cpu_temperature: 48.1 °C");
        assert_eq!(said("waited_ms", json!(507)), "waited: 507 ms");
    }

    #[test]
    fn bytes_change_their_unit_at_the_edges() {
        assert_eq!(said("a_bytes", json!(10_239)), "a: 10239 B");
        assert_eq!(said("a_bytes", json!(10_240)), "a: 10.0 KiB");
        assert_eq!(said("a_bytes", json!(1_048_575)), "a: 1.0 MiB");
        assert_eq!(said("a_bytes", json!(u64::MAX)), "a: 16777216.0 TiB");
    }

    #[test]
    fn durations_and_moments() {
        assert_eq!(said("uptime_seconds", json!(119)), "uptime: 119 s");
        assert_eq!(said("uptime_seconds", json!(120)), "uptime: 2 min");
        assert_eq!(said("uptime_seconds", json!(90_061)), "uptime: 1 d 1 h 1 min 1 s");
        assert_eq!(said("expires_ms", json!(1_795_723_453_870_u64)), "expires: 2026-11-26T20:04:13.870Z");
        assert_eq!(said("create_time", json!(1_795_723_453)), "create time: 2026-11-26T20:04:13.000Z");
    }

    #[test]
    fn a_share_belongs_to_the_bytes_beside_it() {
        let record =
            json!({"used_bytes": 5, "used_percent": 34.2, "cpu_percent": 3, "free_bytes": null, "free_percent": 1});
        let record = record.as_object().unwrap();
        assert_eq!(share("used_bytes", record), Some(&json!(34.2)));
        assert_eq!(share("free_percent", record), None);
        let shares: Vec<&String> = record.keys().filter(|name| is_share(name, record)).collect();
        assert_eq!(shares, ["used_percent"], "not those of nothing");
    }

    #[test]
    fn names_that_differ_by_their_unit_only_are_ambiguous() {
        let record =
            json!({"memory": {}, "memory_percent": 2, "read_bytes": 1, "read_bytes_per_sec": 1, "cpu_percent": 1});
        let record = record.as_object().unwrap();
        let ambiguous: Vec<&String> = record.keys().filter(|name| is_ambiguous(name, record)).collect();
        assert_eq!(ambiguous, ["memory", "memory_percent", "read_bytes", "read_bytes_per_sec"]);
    }

    #[test]
    fn other_names_and_values_stay() {
        for (name, value) in [("pin", json!(17)), ("used_bytes", json!(null)), ("_ms", json!(5)), ("up_time", json!(3))]
        {
            assert_eq!(said(name, value), "as it is", "{name}");
        }
    }
}
