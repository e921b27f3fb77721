//! What is kept of plans, as it is shown.

use super::{
    super::{
        call::RouterCall,
        plan::{Base, is_done},
        service::{RouterService, in_scope},
        table::Answer,
    },
    record::{DevicePlan, Step},
};
use base::error::ToolError;
use serde_json::{Value, json};
use std::time::Duration;

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
            let mut told = job.shown();
            for (at, device) in job.devices.iter().enumerate().filter(|(_, device)| device.status == Step::Unknown) {
                if let Some(planned) = plan.devices.iter().find(|planned| planned.device_id == device.device_id) {
                    told["results"][at]["now"] = json!(now(service, planned).await);
                }
            }
            shown["job"] = told;
        }
        if plan.status == "draft" && plan.is_expired() {
            shown["status"] = json!("expired");
        }
        Ok(shown)
    })
}

/// How long a router may take to say how it is.
const LONGEST: Duration = Duration::from_secs(8);

/// How a router is that did not say what became of its changes.
async fn now(service: &RouterService, planned: &DevicePlan) -> &'static str {
    let look = async {
        let client = &service.routers.get(&planned.device_id)?.client;
        if Base::read(client, &planned.changes).await.is_ok_and(|now| now.hash() == planned.base.hash()) {
            return Ok("as_before");
        }
        for change in &planned.changes {
            if !is_done(&client.rows(&change.menu).await?, change) {
                return Ok("neither");
            }
        }
        Ok::<_, ToolError>("as_planned")
    };
    tokio::time::timeout(LONGEST, look).await.ok().and_then(Result::ok).unwrap_or("unreachable")
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
