//! Queries one device: its update, its server and its machine.

use super::{
    inventory::FleetDevice,
    mcp::{self, Said},
    report::{DeviceAnswers, DeviceReport},
};
use crate::client::Remote;
use base::{
    error::{ErrorCode, ToolError},
    redact::MASK,
};
use serde_json::Value;
use std::time::Duration;

/// Queries it for at most `limit`.
pub async fn device(device: &FleetDevice, limit: Duration) -> DeviceReport {
    let told = tokio::time::timeout(limit, all(device)).await.unwrap_or_else(|_| {
        let seconds = limit.as_secs();
        Err(ToolError::new(ErrorCode::Timeout, format!("it took more than {seconds} s")).hint(
            "it may be overloaded or unreachable behind a firewall; raise timeout_seconds in the inventory for a slow line",
        ))
    });
    let (name, url) = (device.name.clone(), device.url.to_string());
    match told {
        Ok(told) => DeviceReport::told(name, url, told),
        Err(error) => DeviceReport::silent(name, url, without(device, error)),
    }
}

async fn all(device: &FleetDevice) -> Result<DeviceAnswers, ToolError> {
    let remote = Remote::listed(device.url.clone(), &device.trust, device.token.clone())?;
    let Said { answer, simulated } = mcp::call(&remote, "manage.get_update_status").await?;
    let server = mcp::call(&remote, "manage.get_server_status").await?.answer;
    let machine = mcp::call(&remote, "system.get_health_snapshot").await?.answer;
    let safe = |answer: Result<Value, ToolError>| {
        answer.map(|answer| masked(answer, device.token.as_deref())).map_err(|error| without(device, error))
    };
    Ok(DeviceAnswers { update: safe(answer)?, server: safe(server), machine: safe(machine), simulated })
}

/// Masks the token: a server may repeat it in an error, which must not reach a terminal or log.
fn without(device: &FleetDevice, mut error: ToolError) -> ToolError {
    let token = device.token.as_deref();
    error.message = mask(std::mem::take(&mut error.message), token);
    error.hint = error.hint.take().map(|hint| mask(hint, token));
    error
}

fn mask(text: String, token: Option<&str>) -> String {
    match token {
        Some(token) if text.contains(token) => text.replace(token, MASK),
        _ => text,
    }
}

fn masked(value: Value, token: Option<&str>) -> Value {
    match value {
        Value::String(text) => Value::String(mask(text, token)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| masked(item, token)).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(name, item)| (name, masked(item, token))).collect()),
        other => other,
    }
}
