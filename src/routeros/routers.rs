//! The configured routers: their clients, what may be done to them, and what was last seen of them.

use super::{client::RouterClient, device::Device, failure::Reason};
use base::error::ToolError;
use contract::meta::Environment;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What the owner says of a router, beside how it is reached.
#[derive(Clone, Debug)]
pub struct Standing {
    pub environment: Environment,
    pub tags: BTreeMap<String, String>,
    pub allow_advanced: bool,
    pub allow_professional: bool,
}

/// What was seen of a router when it was last asked.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Whether it answered; `None`: it was not asked yet.
    pub answers: Option<bool>,
    /// As `system/resource` has it.
    pub version: Option<String>,
}

/// One router.
pub struct Router {
    pub client: RouterClient,
    pub standing: Standing,
    seen: Mutex<Seen>,
}

impl Router {
    pub fn id(&self) -> &str {
        &self.client.device().id
    }

    pub fn seen(&self) -> Seen {
        self.lock().clone()
    }

    /// Remembers whether it answered.
    pub fn note(&self, error: Option<&ToolError>) {
        let reason = error.and_then(|error| error.details.get("reason")).and_then(Value::as_str);
        let unreachable = [Reason::Timeout, Reason::ConnectionRefused, Reason::Certificate, Reason::Network];
        let is_silent = unreachable.iter().any(|silent| reason == Some(silent.word()));
        // An error without a reason is not about the connection.
        if error.is_none() || reason.is_some() {
            self.lock().answers = Some(!is_silent);
        }
    }

    /// Remembers the version that it says.
    pub fn note_version(&self, version: &str) {
        self.lock().version = Some(version.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All of them, by their ids.
#[derive(Default)]
pub struct Routers(BTreeMap<String, Arc<Router>>);

impl Routers {
    /// # Errors
    /// `internal` if TLS cannot be set up.
    pub fn new(configured: impl IntoIterator<Item = (Device, Standing)>) -> Result<Self, ToolError> {
        let made = configured.into_iter().map(|(device, standing)| {
            let router = Router { client: RouterClient::new(device)?, standing, seen: Mutex::default() };
            Ok((router.id().to_owned(), Arc::new(router)))
        });
        Ok(Self(made.collect::<Result<_, ToolError>>()?))
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Router>> {
        self.0.values()
    }

    /// # Errors
    /// `not_found`, with the names that there are.
    pub fn get(&self, id: &str) -> Result<&Arc<Router>, ToolError> {
        self.0.get(id).ok_or_else(|| {
            ToolError::not_found(format!("there is no router {id:?}"))
                .with("parameter", "device_id")
                .with("device_id", id)
                .with("mcp_error_code", "INVALID_DEVICE_ID")
                .hint("routeros.list_devices has the routers; the owner adds one with `raspi-mcp routeros add`")
        })
    }
}
