//! A call of a device's tool through the broker: its whole answer, or its refusal as it is.

use super::View;
use crate::{
    fleet::{console::call::call_over, tunnel},
    fleet_port::{FleetAnswer, FleetCall},
};
use appliance::certificate::Fingerprint;
use base::error::{ErrorCode, ToolError};
use contract::audit::changed::Changed;
use serde_json::Value;

pub async fn call(view: &View, call: FleetCall<'_>) -> Result<FleetAnswer, ToolError> {
    let console = &view.console;
    let pin = pin(view, call.device)?;
    let stream = tunnel::open(&console.broker, &console.subjects, call.device).await?;
    let arguments = Value::Object(call.arguments);
    let mut answer = call_over(stream, pin, Some(call.token.to_owned()), call.tool, &arguments).await?;
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

/// The fingerprint that the device has to show.
///
/// # Errors
/// `not_found`, `permission_denied` if it was revoked, `failed_precondition` if it has no TLS.
fn pin(view: &View, device: &str) -> Result<Fingerprint, ToolError> {
    let known = view.console.folder.device(device).map_err(|error| match error.code {
        ErrorCode::NotFound => error.hint("fleet.list_devices lists them"),
        _ => error,
    })?;
    known.pin.as_deref().and_then(Fingerprint::parse).ok_or_else(|| {
        ToolError::precondition(format!("the folder has no fingerprint of {device}: it has no TLS"))
            .hint("its owner switches on tls.enabled there, and enrols it again")
    })
}

/// The device's error. One that it does not explain is `unavailable`.
fn refusal(data: &Value, message: Option<&str>) -> ToolError {
    let code = data["error_code"].as_str().and_then(ErrorCode::from_symbol).unwrap_or(ErrorCode::Unavailable);
    let message = data["message"].as_str().or(message).unwrap_or("it refused, and does not say why");
    let mut error = ToolError::new(code, message);
    if let Some(hint) = data["hint"].as_str() {
        error = error.hint(hint);
    }
    let details = data["details"].as_object().cloned().unwrap_or_default();
    details.into_iter().fold(error, |error, (name, value)| error.with(&name, value))
}
