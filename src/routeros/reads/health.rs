//! How routers are: one, and all of them. The server keeps their past (`tools::routeros::health`).

use super::{
    super::{
        call::RouterCall,
        routers::Router,
        service::{RouterService, in_scope},
        value::{Kind, typed},
    },
    begun,
    special::{Optional, sensors},
};
use base::error::ToolError;
use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Routers that are asked at the same time.
const AT_ONCE: usize = 64;
/// How long one may take, of many.
const ONE: Duration = Duration::from_secs(8);

/// From this share of its processor or memory on, in percent, a router is `degraded`.
const DEGRADED: f64 = 90.0;

/// How a router is.
#[derive(Clone, Copy)]
struct Health {
    /// In percent.
    cpu: f64,
    /// Used, in percent.
    memory: f64,
}

impl Health {
    fn status(self) -> &'static str {
        if self.cpu >= DEGRADED || self.memory >= DEGRADED { "degraded" } else { "healthy" }
    }

    fn show(self, shown: &mut Value) {
        shown["status"] = self.status().into();
        shown["cpu_usage_percent"] = self.cpu.into();
        shown["memory_usage_percent"] = self.memory.into();
    }
}

/// Reads a router's resources, and remembers its version.
///
/// # Errors
/// See [`super::super::failure`].
async fn look(router: &Router) -> Result<(Health, Value), ToolError> {
    let read = router.client.get("system/resource").await;
    router.note(read.as_ref().err());
    let resource = read?;
    let number = |name: &str| resource[name].as_str().and_then(|text| text.parse::<f64>().ok());
    let used = number("free-memory").zip(number("total-memory")).map(|(free, total)| 100.0 - free * 100.0 / total);
    let health = Health {
        cpu: number("cpu-load").unwrap_or_default(),
        memory: used.map(|used| (used * 10.0).round() / 10.0).unwrap_or_default(),
    };
    router.note_version(resource["version"].as_str().unwrap_or_default());
    Ok((health, resource))
}

/// `get_health_data`
///
/// # Errors
/// See [`super::super::failure`].
pub async fn data(router: &Router, _call: &RouterCall) -> Result<Map<String, Value>, ToolError> {
    let (looked, sensed) = tokio::join!(look(router), router.client.get("system/health"));
    let (health, resource) = looked?;
    let mut current = json!({});
    health.show(&mut current);
    current["uptime_seconds"] = typed(Kind::Seconds, resource["uptime"].as_str().unwrap_or_default());
    let mut optional = Optional::default();
    for (name, value) in sensors(&optional.menu("system/health", sensed)) {
        current[name] = value;
    }
    let mut answer = begun(&router.client);
    optional.show(&mut answer);
    answer.insert("current_health".into(), current);
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
        (router, looked.ok().and_then(Result::ok).map(|(health, _)| health))
    });
    let looked: Vec<(Arc<Router>, Option<Health>)> = looks.buffered(AT_ONCE).collect().await;
    let mut breakdown = BTreeMap::from([("healthy", 0), ("degraded", 0), ("unreachable", 0)]);
    let (mut versions, mut devices) = (BTreeMap::<String, u32>::new(), Vec::new());
    for (router, health) in &looked {
        let mut device = json!({ "device_id": router.id(), "name": router.id(), "status": "unreachable" });
        if let Some(health) = health {
            health.show(&mut device);
        }
        *breakdown.entry(health.map_or("unreachable", Health::status)).or_default() += 1;
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
