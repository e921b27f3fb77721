//! How routers are: one, with what was seen of it lately, and all of them.

use super::{
    super::{
        call::RouterCall,
        routers::{HealthSample, Router},
        service::{RouterService, in_scope},
        value::{Kind, typed},
    },
    begun,
    special::{if_there, sensors},
};
use base::{clock, error::ToolError};
use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use time::OffsetDateTime;

/// Routers that are asked at the same time.
const AT_ONCE: usize = 64;
/// How long one may take, of many.
const ONE: Duration = Duration::from_secs(8);

/// Reads a router's resources, and remembers them.
///
/// # Errors
/// See [`super::super::failure`].
async fn look(router: &Router) -> Result<(HealthSample, Value), ToolError> {
    let read = router.client.get("system/resource").await;
    router.note(read.as_ref().err());
    let resource = read?;
    let number = |name: &str| resource[name].as_str().and_then(|text| text.parse::<f64>().ok());
    let used = number("free-memory").zip(number("total-memory")).map(|(free, total)| 100.0 - free * 100.0 / total);
    let sample = HealthSample {
        at: OffsetDateTime::now_utc(),
        cpu: number("cpu-load").unwrap_or_default(),
        memory: used.map(|used| (used * 10.0).round() / 10.0).unwrap_or_default(),
    };
    router.note_health(sample, resource["version"].as_str().unwrap_or_default());
    Ok((sample, resource))
}

fn shown(sample: HealthSample) -> Value {
    json!({
        "status": sample.status(),
        "cpu_usage_percent": sample.cpu,
        "memory_usage_percent": sample.memory,
    })
}

/// `get_health_data`
///
/// # Errors
/// See [`super::super::failure`].
pub async fn data(router: &Router, call: &RouterCall) -> Result<Map<String, Value>, ToolError> {
    let (looked, health) = tokio::join!(look(router), router.client.get("system/health"));
    let (sample, resource) = looked?;
    let mut current = shown(sample);
    current["uptime_seconds"] = typed(Kind::Seconds, resource["uptime"].as_str().unwrap_or_default());
    for (name, value) in sensors(&if_there(health)?) {
        current[name] = value;
    }
    let mut answer = begun(&router.client);
    answer.insert("current_health".into(), current);
    if call.flag("include_history") {
        let hours = i64::try_from(call.number("history_hours")).unwrap_or(i64::MAX);
        let since = sample.at - time::Duration::hours(hours);
        let history = router.history().into_iter().filter(|past| past.at >= since).map(|past| {
            let mut shown = shown(past);
            shown["timestamp"] = clock::stamp(past.at).into();
            shown
        });
        answer.insert("history".into(), history.collect());
    }
    Ok(answer)
}

/// `get_fleet_summary`: all routers of an environment, read side by side.
///
/// # Errors
/// None: a router that does not answer is part of the summary.
pub async fn fleet(service: &RouterService, call: &RouterCall) -> Result<Value, ToolError> {
    let environment = call.text("environment");
    let wanted: Vec<Arc<Router>> = service
        .routers
        .all()
        .filter(|router| in_scope(call, router.id()))
        .filter(|router| environment.is_empty() || json!(router.standing.environment) == environment)
        .cloned()
        .collect();
    let looks = stream::iter(wanted).map(|router| async move {
        let looked = tokio::time::timeout(ONE, look(&router)).await;
        let status = looked.ok().and_then(Result::ok).map_or("unreachable", |(sample, _)| sample.status());
        (router, status)
    });
    let looked: Vec<(Arc<Router>, &str)> = looks.buffered(AT_ONCE).collect().await;
    let mut breakdown = BTreeMap::from([("healthy", 0), ("degraded", 0), ("unreachable", 0)]);
    let (mut versions, mut devices) = (BTreeMap::<String, u32>::new(), Vec::new());
    for (router, status) in &looked {
        *breakdown.entry(status).or_default() += 1;
        let mut device = json!({ "device_id": router.id(), "name": router.id(), "status": status });
        if let Some(version) = router.seen().version {
            *versions.entry(version.clone()).or_default() += 1;
            device["routeros_version"] = version.into();
        }
        devices.push(device);
    }
    Ok(json!({
        "environment": if environment.is_empty() { "all" } else { environment },
        "total_devices": looked.len(),
        "health_breakdown": breakdown,
        "routeros_versions": versions,
        "devices_summary": devices,
    }))
}
