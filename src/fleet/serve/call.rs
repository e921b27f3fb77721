//! A call of a device's tool through the broker: its whole answer, or its refusal as it is.

use super::{View, shares::DevicePlace};
use crate::{
    fleet::{console::call::call_over, mcp, tunnel},
    fleet_port::{FleetAnswer, FleetCall},
};
use base::error::{ErrorCode, ToolError};
use contract::audit::changed::Changed;
use serde_json::Value;

/// `place`: of this call among those of its device.
pub async fn call(view: &View, call: FleetCall<'_>, place: DevicePlace<'_>) -> Result<FleetAnswer, ToolError> {
    let console = &view.console;
    let pin = console.folder.pin(call.device).map_err(|error| match error.code {
        ErrorCode::NotFound => error.hint("fleet.list_devices lists them"),
        _ => error,
    })?;
    let stream = tunnel::open(&console.broker, &console.subjects, call.device).await?;
    let arguments = Value::Object(call.arguments);
    let mut answer = call_over(stream, pin, Some(call.token.to_owned()), call.tool, &arguments).await?;
    place.answered();
    if let Some(error) = answer.get("error") {
        return Err(refusal(&error["data"], error["message"].as_str()));
    }
    let result = &mut answer["result"];
    if result["isError"] == true {
        return Err(refusal(ToolError::in_result(result), None));
    }
    let meta = &result["_meta"];
    let simulated = meta["simulated"] == true;
    let changed = meta.as_object().and_then(Changed::of).unwrap_or_default();
    match result["structuredContent"].take() {
        Value::Object(result) => Ok(FleetAnswer { result, simulated, changed }),
        _ => Err(ToolError::unavailable("it answered without a result")
            .hint("another version of raspi-mcp may run there: manage.get_server_status tells it")),
    }
}

/// The device's error with its details. One that it does not explain is `unavailable`.
fn refusal(data: &Value, message: Option<&str>) -> ToolError {
    let mut error = mcp::error_of(data, ErrorCode::Unavailable);
    if let (None, Some(message)) = (data["message"].as_str(), message) {
        error.message = message.to_owned();
    }
    let details = data["details"].as_object().cloned().unwrap_or_default();
    details.into_iter().fold(error, |error, (name, value)| error.with(&name, value))
}
