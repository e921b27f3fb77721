//! The configured routers: their clients, what may be done to them, and what was last seen of them.

use super::{client::RouterClient, device::Device, failure::Reason};
use base::error::ToolError;
use contract::meta::Environment;
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use time::{Duration, OffsetDateTime};

/// What the owner says of a router, beside how it is reached.
#[derive(Clone, Debug)]
pub struct Standing {
    pub environment: Environment,
    pub tags: BTreeMap<String, String>,
    pub allow_advanced: bool,
    pub allow_professional: bool,
}

/// How a router was at one time.
#[derive(Clone, Copy, Debug)]
pub struct HealthSample {
    pub at: OffsetDateTime,
    /// In percent.
    pub cpu: f64,
    /// Used, in percent.
    pub memory: f64,
}

impl HealthSample {
    /// `healthy`, or `degraded` from nine tenths of its processor or memory on.
    pub fn status(self) -> &'static str {
        if self.cpu >= 90.0 || self.memory >= 90.0 { "degraded" } else { "healthy" }
    }
}

/// Samples that are kept of a router: at one a minute at most, five hours. With 100 routers, 1 MB.
const MOST_SAMPLES: usize = 300;

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
    history: Mutex<VecDeque<HealthSample>>,
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

    /// Remembers how it was, at most once a minute, and its version.
    pub fn note_health(&self, sample: HealthSample, version: &str) {
        self.lock().version = Some(version.to_owned());
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        if history.back().is_some_and(|last| sample.at - last.at < Duration::MINUTE) {
            return;
        }
        history.push_back(sample);
        if history.len() > MOST_SAMPLES {
            history.pop_front();
        }
    }

    /// What was noted since this process was started, oldest first.
    pub fn history(&self) -> Vec<HealthSample> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
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
            let router = Router {
                client: RouterClient::new(device)?,
                standing,
                seen: Mutex::default(),
                history: Mutex::default(),
            };
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
