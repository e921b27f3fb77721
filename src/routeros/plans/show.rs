//! What is kept of plans, as it is shown.

use super::super::{
    call::RouterCall,
    service::{RouterService, in_scope},
    table::Answer,
};
use base::error::ToolError;
use serde_json::{Value, json};

/// `plan/get-details`.
pub fn details<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        let mut plan = service.work.files.plan(call.text("plan_id"))?;
        // What is not the caller's is not shown.
        plan.devices.retain(|device| in_scope(call, &device.device_id));
        if plan.devices.is_empty() {
            return Err(outside(call.text("plan_id")));
        }
        let mut shown = plan.shown();
        if let Some(id) = &plan.job_id {
            let mut job = service.work.files.job(id)?;
            job.devices.retain(|device| in_scope(call, &device.device_id));
            shown["job"] = job.shown();
        }
        if plan.status == "draft" && plan.is_expired() {
            shown["status"] = json!("expired");
        }
        Ok(shown)
    })
}

/// `snapshot/get-content`: some lines of it.
pub fn snapshot<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        let mut snapshot = service.work.files.snapshot(call.text("snapshot_id"))?;
        if !in_scope(call, snapshot["device_id"].as_str().unwrap_or_default()) {
            return Err(outside(call.text("snapshot_id")));
        }
        let lines: Vec<Value> = snapshot["content"].as_str().unwrap_or_default().lines().map(Value::from).collect();
        let mut page = call.page("lines", lines);
        let shown = page.remove("lines").unwrap_or_default();
        let shown: Vec<&str> = shown.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        snapshot["content"] = json!(shown.join("\n"));
        for (name, value) in page {
            snapshot[name] = value;
        }
        Ok(snapshot)
    })
}

fn outside(id: &str) -> ToolError {
    ToolError::denied(format!("this caller's credential is not for the routers of {id}"))
        .with("mcp_error_code", "FORBIDDEN")
}
