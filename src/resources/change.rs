//! Which changes of the machine are significant enough to notify subscribers.

use serde_json::Value;

/// Numbers of the health snapshot, and by how much one must change. Smaller changes are noise.
const STEPS: &[(&str, f64)] = &[("cpu_usage_percent", 20.0), ("cpu_temperature_celsius", 2.0)];
/// Amounts and their totals; significant if the amount changes by this percentage of the total.
const SHARES: &[(&str, &str, f64)] =
    &[("memory_used_bytes", "memory_total_bytes", 5.0), ("disk_used_bytes", "disk_total_bytes", 1.0)];
/// Any difference counts.
const EXACT: &[&str] =
    &["halted", "throttling_flags", "unreadable", "warnings", "disk_mount", "memory_total_bytes", "disk_total_bytes"];

/// Whether two health snapshots differ significantly.
pub fn of_health(before: &Value, now: &Value) -> bool {
    let number = |of: &Value, name: &str| of[name].as_f64();
    let moved = |name: &str| match (number(before, name), number(now, name)) {
        (Some(before), Some(now)) => (now - before).abs(),
        (None, None) => 0.0,
        // The value has become unavailable or available.
        _ => f64::INFINITY,
    };
    STEPS.iter().any(|(name, step)| moved(name) >= *step)
        || SHARES.iter().any(|(part, whole, percent)| {
            let whole = number(now, whole).unwrap_or(0.0);
            whole > 0.0 && moved(part) * 100.0 / whole >= *percent
        })
        || EXACT.iter().any(|name| before[name] != now[name])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_moves_a_little_is_no_news_and_what_moves_enough_is() {
        let before = json!({
            "timestamp": "1", "cpu_usage_percent": 10.0, "cpu_temperature_celsius": 50.0, "memory_used_bytes": 500,
            "memory_total_bytes": 1000, "disk_used_bytes": 500, "disk_total_bytes": 1000, "disk_mount": "/",
            "throttling_flags": {"under_voltage": false},
        });
        for (field, noise, news) in [
            ("timestamp", json!("2"), None),
            ("cpu_usage_percent", json!(29.9), Some(json!(30.0))),
            ("cpu_temperature_celsius", json!(51.9), Some(json!(52.0))),
            ("cpu_temperature_celsius", json!(48.1), Some(Value::Null)),
            ("memory_used_bytes", json!(549), Some(json!(550))),
            ("disk_used_bytes", json!(509), Some(json!(510))),
            ("throttling_flags", json!({"under_voltage": false}), Some(json!({"under_voltage": true}))),
            ("warnings", Value::Null, Some(json!(["/data is more than 90 % full"]))),
            ("halted", Value::Null, Some(json!({"by": "pi"}))),
            ("unreadable", Value::Null, Some(json!({"load_average": "no"}))),
        ] {
            let with = |value: Value| {
                let mut now = before.clone();
                now[field] = value;
                now
            };
            assert!(!of_health(&before, &with(noise)), "{field}");
            if let Some(news) = news {
                assert!(of_health(&before, &with(news)), "{field}");
            }
        }
    }
}
