//! Completes refusals of server and agent: the missing permission and its resource (docs/contract/README.md), the place of the
//! fault in the arguments, and how this caller gets a pin that another caller holds.
//!
//! The code that refuses may name the permission itself; what it leaves out is added here.

use super::entry::Entry;
use base::{
    error::{ErrorCode, ToolError},
    os::systemd::ServiceName,
};
use contract::{
    access::{caller::Caller, way},
    values::I2cAddress,
};
use serde_json::{Map, Value};

/// Arguments that name the resource of a call, in the order of a permission.
const RESOURCES: &[&str] = &[
    "device_id",
    "pin",
    "bus",
    "chip_select",
    "address",
    "port",
    "service_name",
    "path",
    "camera",
    "command",
    "pid",
    "connection",
    "job_id",
    "hostname",
    "name",
    "principal",
    "channel",
    "plan_id",
];
/// Longest name that a refusal repeats, in characters.
pub(super) const LONGEST: usize = 200;

/// The resource of a call.
pub struct Named {
    /// `gpio:write:17`
    permission: String,
    /// By name of the argument.
    pub(super) resources: Map<String, Value>,
}

impl Named {
    /// The resource of a call of `tool` (`gpio.write_pin`) with these arguments.
    pub fn of(tool: &str, args: &Value) -> Self {
        let (namespace, operation) = tool.split_once('.').unwrap_or((tool, ""));
        let mut permission = format!("{namespace}:{}", verb(namespace, operation, args));
        let mut resources = Map::new();
        for name in RESOURCES {
            let value = match args.get(name) {
                Some(Value::String(text)) => Value::String(text.chars().take(LONGEST).collect()),
                Some(Value::Number(number)) => Value::Number(number.clone()),
                _ => continue,
            };
            permission.push(':');
            permission.push_str(&spelled(name, &value));
            resources.insert((*name).to_owned(), value);
        }
        Self { permission, resources }
    }
}

/// The spelling in permissions.
fn spelled(name: &str, value: &Value) -> String {
    match (name, value) {
        ("service_name", Value::String(text)) => {
            ServiceName::parse(text).map_or_else(|_| text.clone(), |name| name.to_string())
        }
        ("address", Value::Number(_)) => {
            let address = value.as_u64().and_then(|number| I2cAddress::new(u8::try_from(number).ok()?));
            address.map_or_else(|| value.to_string(), |address| address.to_string())
        }
        (_, Value::String(text)) => text.clone(),
        (_, value) => value.to_string(),
    }
}

/// The verb in the permission: the operation, except where several operations share one.
fn verb<'a>(namespace: &str, operation: &'a str, args: &'a Value) -> &'a str {
    match (namespace, operation) {
        ("gpio", "list_pins" | "read_pin" | "wait_for_edge") => "read",
        ("gpio", _) | ("i2c", "transfer") => "write",
        ("i2c", "scan_bus") => "scan",
        ("camera", "take_photo") => "capture",
        ("service", "control_service") => args.get("action").and_then(Value::as_str).unwrap_or("control"),
        ("service", "set_enabled") => match args.get("enabled") {
            Some(Value::Bool(false)) => "disable",
            _ => "enable",
        },
        _ => operation,
    }
}

/// Adds to `error` what it leaves out.
pub fn complete(entry: &Entry, caller: &Caller, named: Named, mut error: ToolError) -> ToolError {
    match error.code {
        ErrorCode::PermissionDenied => {
            let details = &mut error.details;
            details.entry("tool").or_insert_with(|| entry.name().into());
            details.entry("required_permission").or_insert_with(|| named.permission.into());
            for (name, value) in named.resources {
                details.entry(name).or_insert(value);
            }
        }
        ErrorCode::InvalidArgument => {
            let parameter = error.details.get("parameter").and_then(Value::as_str);
            let path = parameter.map(|name| format!("/{}", name.replace('.', "/")));
            if let Some(path) = path {
                error.details.entry("path").or_insert_with(|| path.into());
            }
        }
        ErrorCode::Conflict if error.details.contains_key("lent_to") => {
            error.hint = Some(way::to_a_lent_pin(caller, &error.details));
        }
        _ => {}
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn permissions_are_spelled_as_the_documents_have_them() {
        for (tool, args, permission) in [
            ("gpio.write_pin", json!({"pin": 17, "value": 1}), "gpio:write:17"),
            ("gpio.read_pin", json!({"pin": 17}), "gpio:read:17"),
            ("gpio.configure_pin", json!({"pin": "seventeen"}), "gpio:write:seventeen"),
            ("i2c.write", json!({"bus": 1, "address": 72, "data": [0]}), "i2c:write:1:0x48"),
            ("i2c.scan_bus", json!({"bus": 1}), "i2c:scan:1"),
            ("service.restart", json!({"service_name": "nginx"}), "service:restart:nginx.service"),
            (
                "service.control_service",
                json!({"service_name": "nginx", "action": "stop"}),
                "service:stop:nginx.service",
            ),
            ("service.set_enabled", json!({"service_name": "a b", "enabled": false}), "service:disable:a b"),
            ("files.write", json!({"path": "/srv/a", "content": "x"}), "files:write:/srv/a"),
            ("system.reboot", json!({"reason": "because"}), "system:reboot"),
            ("exec.run", json!({"command": "x".repeat(300)}), &format!("exec:run:{}", "x".repeat(200))),
        ] {
            assert_eq!(Named::of(tool, &args).permission, permission);
        }
    }
}
