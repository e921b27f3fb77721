//! Numbers as people read them. The end of a field's name says its unit (docs/contract/README.md): `used_bytes`,
//! `duration_ms`.

use contract::audit::rfc3339;
use serde_json::Value;

/// The name without its unit, and the value with it; `None` if the name ends in no unit or the value is no number.
pub fn with_unit(name: &str, value: &Value) -> Option<(String, String)> {
    let number = value.as_f64()?;
    let cut = |end: &str| name.strip_suffix(end).filter(|rest| !rest.is_empty()).map(str::to_owned);
    // Milliseconds and seconds since 1970 are above these (2001-09-09), durations of calls are not.
    if number >= 1e12
        && let Some(rest) = cut("_ms")
    {
        return Some((rest, moment(number)));
    }
    if number >= 1e9
        && let Some(rest) = cut("_time")
    {
        return Some((format!("{rest} time"), moment(number * 1000.0)));
    }
    if let Some(rest) = cut("_bytes") {
        return Some((rest, bytes(value)));
    }
    if let Some(rest) = cut("_bytes_per_sec") {
        return Some((rest, format!("{}/s", bytes(value))));
    }
    if let Some(rest) = cut("_seconds") {
        return Some((rest, seconds(value)));
    }
    UNITS.iter().find_map(|(end, unit)| cut(end).map(|rest| (rest, format!("{value} {unit}"))))
}

/// The ends of names, and how the unit is written (SI).
const UNITS: &[(&str, &str)] = &[
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
    fn other_names_and_values_stay() {
        for (name, value) in [("pin", json!(17)), ("used_bytes", json!(null)), ("_ms", json!(5)), ("up_time", json!(3))]
        {
            assert_eq!(said(name, value), "as it is", "{name}");
        }
    }
}
