//! How long it takes to read many routers: `cargo run --example routeros_fleet -- [routers] [milliseconds]`.
//!
//! So many simulated routers, each of which takes so long for an answer, are summarised side by side over real TLS: once with
//! connections to be made, then warm. 50 routers of 20 ms have to be read in under 0.3 s warm.

use appliance::certificate::Fingerprint;
use base::error::ToolError;
use contract::meta::Environment;
use futures::future::{BoxFuture, join_all};
use raspi_mcp::{
    client::Trust,
    routeros::{
        Device,
        call::RouterCall,
        device::Secret,
        routers::{Routers, Standing},
        service::{RouterService, WriteAuthority},
        table,
    },
};
use routeros_simulator::{Fault, PASSWORD, Profile, Router, server::Listener};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// Nothing is written here.
struct Nobody;

impl WriteAuthority for Nobody {
    fn authorize<'a>(
        &'a self,
        tool: &'a str,
        _: &'a str,
        _: &'a Value,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { Err(ToolError::denied(format!("{tool} writes"))) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>());
    let (count, delay) = (args.next().transpose()?.unwrap_or(50), args.next().transpose()?.unwrap_or(20));
    let mut listeners = Vec::new();
    for _ in 0..count {
        let router = Router::new(Profile::V7_21);
        router.fault(Fault::Slow(Duration::from_millis(delay)));
        listeners.push(Listener::bind(router, "127.0.0.1:0").await?);
    }
    let devices = listeners.iter().enumerate().map(|(number, listener)| {
        let device = Device {
            id: format!("router-{number}"),
            address: listener.address().to_string(),
            trust: Trust::Pin(Fingerprint::of(listener.certificate())),
            user: "raspi".into(),
            password: Secret::new(PASSWORD),
        };
        let standing = Standing {
            environment: Environment::Lab,
            tags: BTreeMap::new(),
            allow_advanced: false,
            allow_professional: false,
        };
        (device, standing)
    });
    let folder = std::env::temp_dir();
    let service = RouterService::new(Routers::new(devices)?, folder, Arc::new(Nobody));
    let call = |tool: &str, args: Map<String, Value>| {
        RouterCall::new(table::find(tool).expect("a tool of the table"), args, "bench")
    };
    for round in ["with new connections", "warm", "warm"] {
        let start = Instant::now();
        let summary = service.call(call("routeros.get_fleet_summary", Map::new())).await?;
        println!("{count} routers of {delay} ms, one summary, {round}: {:?}", start.elapsed());
        assert_eq!(summary["health_breakdown"]["healthy"], count);
    }
    let start = Instant::now();
    let calls = (0..count).map(|number| {
        let args = Map::from_iter([("device_id".to_owned(), format!("router-{number}").into())]);
        service.call(call("routeros.list_interfaces", args))
    });
    let answers = join_all(calls).await;
    println!("{count} routers of {delay} ms, a call of each at once, warm: {:?}", start.elapsed());
    answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(())
}
