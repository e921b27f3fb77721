//! HTTPS to one router. At most three requests run at once, each with a time limit; reads are repeated once when the
//! connection broke, writes never.

use super::{
    device::Device,
    failure::{Reason, refused, strange, unanswered},
};
use crate::client::{encrypted, root_cause};
use base::error::{ErrorCode, ToolError};
use reqwest::{Client, Method, Response, redirect};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::sync::Semaphore;

/// A small router has three connections to spare for us.
const AT_ONCE: usize = 3;
const CONNECT: Duration = Duration::from_secs(5);
/// Connections of a router that are kept for the next request, and for how long. Each has 40 kB here, and there may be 100 routers.
const KEPT: usize = 1;
const KEPT_FOR: Duration = Duration::from_secs(30);
/// The whole request. RouterOS ends its own commands after 60 s.
const REQUEST: Duration = Duration::from_secs(15);
/// The longest answer that is read. A routing table of 10,000 rows has 3 MiB.
const LARGEST: usize = 8 << 20;

/// A connection to one router, made when it is needed.
pub struct RouterClient {
    device: Device,
    client: Client,
    base: String,
    permits: Semaphore,
}

/// What did not work, and why, as `check_connectivity` says it.
pub type Failure = (Reason, ToolError);

impl RouterClient {
    /// # Errors
    /// `internal` if TLS cannot be set up.
    pub fn new(device: Device) -> Result<Self, ToolError> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = encrypted(&device.trust)?
            .https_only(true)
            .no_proxy()
            .connect_timeout(CONNECT)
            .redirect(redirect::Policy::none())
            .pool_max_idle_per_host(KEPT)
            .pool_idle_timeout(KEPT_FOR)
            .build()
            .map_err(|error| ToolError::internal(format!("no HTTP client: {}", root_cause(&error))))?;
        let base = format!("https://{}/rest/", device.address);
        Ok(Self { device, client, base, permits: Semaphore::new(AT_ONCE) })
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Reads a menu, a row or a singleton: `ip/address`, `ip/address/*1`, `system/identity`.
    ///
    /// # Errors
    /// See [`super::failure`].
    pub async fn get(&self, path: &str) -> Result<Value, ToolError> {
        self.probe(path).await.map_err(|(_, error)| error)
    }

    /// The rows of a menu that its owner may change. Of routes, those that the router has of itself are left out by the router: of a
    /// whole routing table of the internet, a plan needs none.
    ///
    /// # Errors
    /// See [`super::failure`].
    pub async fn rows(&self, menu: &str) -> Result<Value, ToolError> {
        if menu != "ip/route" {
            return self.get(menu).await;
        }
        let query = Map::from_iter([(".query".to_owned(), json!(["dynamic=true", "#!"]))]);
        self.command("ip/route/print", &query).await
    }

    /// As [`RouterClient::get`], with the reason.
    ///
    /// # Errors
    /// See [`super::failure`].
    pub async fn probe(&self, path: &str) -> Result<Value, Failure> {
        let answered = match self.send(Method::GET, path, None, REQUEST).await {
            Err((Reason::Network, _)) => self.send(Method::GET, path, None, REQUEST).await,
            answered => answered,
        };
        match answered {
            // Neither rows nor a singleton: no menu is so.
            Ok(Value::Object(fields)) if fields.is_empty() => {
                Err((Reason::DeviceError, strange(&self.device.id, &format!("{path} with an empty object"))))
            }
            answered => answered,
        }
    }

    /// Runs a command that only reads, such as `interface/monitor-traffic`.
    ///
    /// # Errors
    /// See [`super::failure`].
    pub async fn command(&self, path: &str, arguments: &Map<String, Value>) -> Result<Value, ToolError> {
        self.command_within(path, arguments, REQUEST).await
    }

    /// As [`RouterClient::command`], for what measures: it may take this long.
    ///
    /// # Errors
    /// See [`super::failure`].
    pub async fn command_within(
        &self,
        path: &str,
        arguments: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Value, ToolError> {
        self.send(Method::POST, path, Some(arguments), limit).await.map_err(|(_, error)| error)
    }

    /// Writes: `PUT` adds, `PATCH` changes, `DELETE` removes a row, `POST` runs a command.
    ///
    /// # Errors
    /// See [`super::failure`]. `details.changed` is `"unknown"` when the connection broke: read before anything else.
    pub async fn write(&self, method: Method, path: &str, body: &Map<String, Value>) -> Result<Value, ToolError> {
        self.send(method, path, Some(body), REQUEST).await.map_err(|(reason, error)| {
            let may_be_done = matches!(reason, Reason::Timeout | Reason::Network);
            if may_be_done { error.maybe_changed() } else { error }
        })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Map<String, Value>>,
        limit: Duration,
    ) -> Result<Value, Failure> {
        let device = self.device.id.as_str();
        // Closed never.
        let _permit = self.permits.acquire().await;
        let mut request = self.client.request(method, format!("{}{path}", self.base)).timeout(limit);
        request = request.basic_auth(&self.device.user, Some(self.device.password.expose()));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| unanswered(device, &error))?;
        let status = response.status().as_u16();
        let bytes = read(device, response).await?;
        let answer = if bytes.is_empty() { Some(Value::Null) } else { parsed(&bytes) };
        match (status, answer) {
            (200..=299, Some(answer)) => Ok(answer),
            (200..=299, None) => Err((Reason::DeviceError, strange(device, &format!("{path} with no JSON")))),
            (status, answer) => Err(refused(device, status, &answer.unwrap_or_default())),
        }
    }
}

/// JSON, in which a name that some client of the router chose may be no UTF-8: such bytes are shown as U+FFFD.
fn parsed(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok().or_else(|| serde_json::from_str(&String::from_utf8_lossy(bytes)).ok())
}

async fn read(device: &str, mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(device, &error))? {
        if bytes.len() + chunk.len() > LARGEST {
            let error = strange(device, "with more than 8 MiB").with_code(ErrorCode::ContentTooLarge);
            return Err((Reason::DeviceError, error.hint("ask for less, with a filter or a smaller table")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
