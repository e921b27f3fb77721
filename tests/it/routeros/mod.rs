//! Routers: the client, the tools and what they read, against simulated routers of three versions over real TLS.

mod approvals;
mod catalogue;
mod changes;
mod client;
mod hostile;
mod house;
mod memory;
mod plan;
mod process;
mod reads;
mod refusals;
mod scope;
mod server;
mod settings;
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

impl Bench {
    pub async fn new(profile: Profile) -> Self {
        let router = Router::new(profile);
        let listener = Listener::bind(router.clone(), "127.0.0.1:0").await.unwrap();
        let client = RouterClient::new(device(&listener, Fingerprint::of(listener.certificate()))).unwrap();
        Self { router, listener, client }
    }

    /// The router as it is configured here.
    pub fn device(&self) -> Device {
        device(&self.listener, Fingerprint::of(self.listener.certificate()))
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

/// Lets everything through, and remembers what it was asked.
#[derive(Default)]
pub struct Permissive(pub Mutex<Vec<(String, Value)>>);

impl WriteAuthority for Permissive {
    fn authorize<'a>(
        &'a self,
        tool: &'a str,
        _principal: &'a str,
        subject: &'a Value,
        _ask_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        self.0.lock().unwrap().push((tool.to_owned(), subject.clone()));
        Box::pin(async { Ok(()) })
    }
}

/// A service in this process, with a folder of its own.
pub struct Service {
    pub service: Arc<RouterService>,
    pub authority: Arc<Permissive>,
    _folder: TempDir,
}

impl Service {
    pub fn new(devices: impl IntoIterator<Item = (Device, Standing)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Arc::new(Permissive::default());
        let routers = Routers::new(devices).unwrap();
        let service = RouterService::new(routers, folder.path().to_owned(), Arc::clone(&authority) as _);
        Self { service: Arc::new(service), authority, _folder: folder }
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
