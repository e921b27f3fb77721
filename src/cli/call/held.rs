//! What a call took and gave back when it ended: what is lent to a connection goes back with it, and the connection of
//! one call ends with the call.

use serde_json::Value;

/// Tools that lend something, and what is told about it beside `lease_seconds`.
const LEND: &[(&str, &str)] = &[
    ("gpio.configure_pin", ""),
    ("gpio.set_pwm", ""),
    ("gpio.write_pin", ", or --arg duration_ms=8000 for a pulse (at most 600000)"),
    ("serial.open", ""),
];

/// What people are told after a call of `tool` with this result, if what it took has gone back with the connection.
pub fn note(tool: &str, arguments: &Value, result: &Value) -> Option<String> {
    let named = if tool == "tools.run" { arguments["name"].as_str()? } else { tool };
    let (_, also) = LEND.iter().find(|(lends, _)| *lends == named)?;
    let has = |field: &str| !result[field].is_null();
    let goes = match result["held_by"].as_str().or_else(|| result["lease"]["held_by"].as_str()) {
        Some(held) => held == "connection",
        // A port has a time, or ends with the connection.
        None => has("port") && !has("expires_at"),
    };
    let what = match (result["pin"].as_u64(), result["port"].as_str()) {
        (Some(pin), _) => format!("GPIO {pin} has gone back to its safe state"),
        (None, Some(port)) => format!("{} is closed again", crate::terminal::printable(port)),
        (None, None) => return None,
    };
    goes.then(|| {
        format!(
            "{what}: it was lent to the connection of this command, which has ended\n  to hold it, say for how many \
             seconds: --arg lease_seconds=60 (at most 3600){also}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(tool: &str, result: Value) -> Option<String> {
        note(tool, &json!({}), &result)
    }

    #[test]
    fn what_ended_with_the_connection_is_told_with_what_holds_it() {
        let pin = told("gpio.write_pin", json!({"pin": 17, "held_by": "connection"})).unwrap();
        for part in ["GPIO 17 has gone back", "lease_seconds=60", "duration_ms="] {
            assert!(pin.contains(part), "{part}: {pin}");
        }
        let wave = told("gpio.set_pwm", json!({"pin": 18, "held_by": "connection"})).unwrap();
        assert!(wave.contains("lease_seconds") && !wave.contains("duration_ms"), "{wave}");
        assert!(told("gpio.configure_pin", json!({"pin": 5, "lease": {"held_by": "connection"}})).is_some());
        assert!(told("serial.open", json!({"port": "ttyUSB0"})).unwrap().contains("ttyUSB0 is closed again"));
        let carried =
            note("tools.run", &json!({"name": "gpio.write_pin"}), &json!({"pin": 1, "held_by": "connection"}));
        assert!(carried.is_some());
    }

    #[test]
    fn what_has_a_time_or_was_only_looked_at_is_not_told() {
        for (tool, result) in [
            ("gpio.write_pin", json!({"pin": 17, "held_by": "lease", "expires_at": "x"})),
            ("gpio.write_pin", json!({"pin": 17, "held_by": "schedule", "reverts_at": "x"})),
            ("gpio.read_pin", json!({"pin": 17, "lease": {"held_by": "connection", "yours": true}})),
            ("serial.open", json!({"port": "ttyUSB0", "expires_at": "x"})),
            ("system.get_clock", json!({})),
            ("tools.run", json!({"pin": 17, "held_by": "connection"})),
        ] {
            assert_eq!(told(tool, result.clone()), None, "{tool} {result}");
        }
    }
}
