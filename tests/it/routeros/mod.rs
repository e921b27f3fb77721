//! Routers: the client, the tools and what they read, against simulated routers of three versions over real TLS.

mod approvals;
mod catalogue;
mod changes;
mod client;
mod done;
mod hostile;
mod house;
mod lists;
mod memory;
mod plan;
mod process;
mod reads;
mod refusals;
mod scope;
mod server;
mod settings;
mod shown;
mod tour;
mod undone;
mod values;

use appliance::certificate::Fingerprint;
use base::error::ToolError;
use contract::meta::Environment;
use futures::future::BoxFuture;
use raspi_mcp::{
    client::Trust,
    routeros::{
        Device, RouterClient,
        call::RouterCall,
        device::Secret,
        routers::{Routers, Standing},
        service::{RouterService, WriteAuthority},
        table,
    },
};
use routeros_simulator::{PASSWORD, Profile, Router, server::Listener};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;

/// A router that listens, and a client that pins it.
pub struct Bench {
    pub router: Router,
    pub listener: Listener,
    pub client: RouterClient,
}

pub fn device(listener: &Listener, pin: Fingerprint) -> Device {
    Device {
        id: "attic".into(),
        address: listener.address().to_string(),
        trust: Trust::Pin(pin),
        user: "raspi".into(),
        password: Secret::new(PASSWORD),
    }
}

/// The router behind `listener`, with its own certificate.
pub fn pinned(listener: &Listener) -> Device {
    device(listener, Fingerprint::of(listener.certificate()))
}

impl Bench {
    pub async fn new(profile: Profile) -> Self {
        let router = Router::new(profile);
        let listener = Listener::bind(router.clone(), "127.0.0.1:0").await.unwrap();
        let client = RouterClient::new(pinned(&listener)).unwrap();
        Self { router, listener, client }
    }

    /// The router as it is configured here.
    pub fn device(&self) -> Device {
        pinned(&self.listener)
    }

    /// A service that knows this router, and lets every write through.
    pub fn service(&self) -> Service {
        Service::new([(self.device(), lab())])
    }
}

/// A router that its owner opened.
pub fn lab() -> Standing {
    Standing {
        environment: Environment::Lab,
        tags: BTreeMap::from([("site".to_owned(), "main".to_owned())]),
        allow_advanced: true,
        allow_professional: true,
    }
}

/// Answers as the privileged half does, and remembers what it was asked.
#[derive(Default)]
pub struct Judge {
    pub asked: Mutex<Vec<(String, Value)>>,
    /// What it refuses with.
    pub refuses: Mutex<Option<ToolError>>,
}

impl WriteAuthority for Judge {
    fn authorize<'a>(
        &'a self,
        tool: &'a str,
        _principal: &'a str,
        subject: &'a Value,
        _ask_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        self.asked.lock().unwrap().push((tool.to_owned(), subject.clone()));
        let refusal = self.refuses.lock().unwrap().clone();
        Box::pin(async move { refusal.map_or(Ok(()), Err) })
    }
}

/// A service in this process, with a folder of its own.
pub struct Service {
    pub service: Arc<RouterService>,
    pub judge: Arc<Judge>,
    _folder: TempDir,
}

impl Service {
    pub fn new(devices: impl IntoIterator<Item = (Device, Standing)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let judge = Arc::<Judge>::default();
        let routers = Routers::new(devices).unwrap();
        let service = RouterService::new(routers, folder.path().to_owned(), Arc::clone(&judge) as _);
        Self { service: Arc::new(service), judge, _folder: folder }
    }

    /// Calls a tool by its name without the namespace.
    pub async fn call(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        self.service.call(call(tool, args)).await
    }
}

pub fn call(tool: &str, args: Value) -> RouterCall {
    let tool = table::find(&format!("routeros.{tool}")).unwrap_or_else(|| panic!("no {tool}"));
    let Value::Object(args) = args else { panic!("{args}") };
    RouterCall::new(tool, args, "test")
}
