//! HTTPS to one router. At most three requests run at once, each with a time limit; reads are repeated once when the
//! connection broke, writes never.

use super::{
    device::Device,
    failure::{Reason, refused, strange, too_long, unanswered},
    rows::{KeptRows, RowFault, RowReader, parsed},
};
use crate::client::{encrypted, root_cause};
use base::error::ToolError;
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
/// A listing of any length, for a tool that has 30 s.
const LISTING: Duration = Duration::from_secs(25);
/// The longest answer that is read as a whole. Listings are read row by row ([`RouterClient::fold`]).
const LARGEST: usize = 8 << 20;

/// What a router computes of a route. No change is about it, and of many routes it takes half of the memory.
const COMPUTED: [&str; 7] = ["active", "ecmp", "hw-offloaded", "immediate-gw", "inactive", "local-address", "static"];

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

    /// The rows of a menu that its owner may change; a singleton is an object. Of routes, those that the router has of itself are left out
    /// by the router: of a whole routing table of the internet, a plan needs none.
    ///
    /// # Errors
    /// See [`super::failure`]; `content_too_large` beyond 50,000 rows, 500,000 values or 8 MiB of text.
    pub async fn rows(&self, menu: &str) -> Result<Value, ToolError> {
        let is_routes = menu == "ip/route";
        let query = is_routes.then(|| Map::from_iter([(".query".to_owned(), json!(["dynamic=true", "#!"]))]));
        let path = if is_routes { "ip/route/print" } else { menu };
        let keep = |kept: &mut KeptRows, mut row: Value| {
            if let Some(fields) = row.as_object_mut().filter(|_| is_routes) {
                fields.retain(|name, _| !COMPUTED.contains(&name.as_str()));
            }
            kept.push(row).map_err(|_| self.too_long(menu))
        };
        match self.fold_within(REQUEST, path, query.as_ref(), KeptRows::default, keep).await? {
            Folded::Rows(kept) => Ok(Value::Array(kept.into_rows())),
            Folded::Other(answer) => Ok(answer),
        }
    }

    /// Reads a listing row by row, as it arrives: `take` makes a result of the rows, which begins as `start` has it. `arguments`: those of a
    /// `print` command; without them the path is read, such as `ip/arp?.proplist=address`. When the connection breaks it is read again from
    /// the start, once.
    ///
    /// # Errors
    /// See [`super::failure`], and those of `take`, which end it.
    pub async fn fold<T>(
        &self,
        path: &str,
        arguments: Option<&Map<String, Value>>,
        start: impl Fn() -> T,
        take: impl Fn(&mut T, Value) -> Result<(), ToolError>,
    ) -> Result<Folded<T>, ToolError> {
        self.fold_within(LISTING, path, arguments, start, take).await
    }

    async fn fold_within<T>(
        &self,
        limit: Duration,
        path: &str,
        arguments: Option<&Map<String, Value>>,
        start: impl Fn() -> T,
        take: impl Fn(&mut T, Value) -> Result<(), ToolError>,
    ) -> Result<Folded<T>, ToolError> {
        let folded = match self.fold_once(limit, path, arguments, start(), &take).await {
            Err((Reason::Network, _)) => self.fold_once(limit, path, arguments, start(), &take).await,
            folded => folded,
        };
        folded.map_err(|(_, error)| error)
    }

    async fn fold_once<T>(
        &self,
        limit: Duration,
        path: &str,
        arguments: Option<&Map<String, Value>>,
        mut result: T,
        take: &impl Fn(&mut T, Value) -> Result<(), ToolError>,
    ) -> Result<Folded<T>, Failure> {
        let device = self.device.id.as_str();
        let method = if arguments.is_some() { Method::POST } else { Method::GET };
        let _permit = self.permits.acquire().await;
        let mut response = self.request(method, path, arguments, limit).await?;
        if !response.status().is_success() {
            return Err(answered(device, path, response).await.err().unwrap_or_else(|| no_json(device, path)));
        }
        let fault = |fault| match fault {
            RowFault::NoJson => no_json(device, path),
            RowFault::TooLong => (Reason::DeviceError, self.too_long(path)),
        };
        let mut reader = RowReader::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(device, &error))? {
            let mut chunk = &chunk[..];
            while let Some(row) = reader.next(&mut chunk).map_err(fault)? {
                take(&mut result, row).map_err(|error| (Reason::DeviceError, error))?;
            }
        }
        match reader.end().map_err(fault)? {
            Some(other) => not_empty(device, path, other).map(Folded::Other),
            None => Ok(Folded::Rows(result)),
        }
    }

    /// `content_too_large` for a menu that has more than is kept.
    pub fn too_long(&self, menu: &str) -> ToolError {
        too_long(&self.device.id, menu.split('?').next().unwrap_or(menu))
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
        not_empty(&self.device.id, path, answered?)
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
        // Closed never.
        let _permit = self.permits.acquire().await;
        let response = self.request(method, path, body, limit).await?;
        answered(&self.device.id, path, response).await
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Map<String, Value>>,
        limit: Duration,
    ) -> Result<Response, Failure> {
        let mut request = self.client.request(method, format!("{}{path}", self.base)).timeout(limit);
        request = request.basic_auth(&self.device.user, Some(self.device.password.expose()));
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send().await.map_err(|error| unanswered(&self.device.id, &error))
    }
}

/// What was made of a listing.
pub enum Folded<T> {
    /// Of its rows.
    Rows(T),
    /// It was no list, such as a singleton.
    Other(Value),
}

impl<T> Folded<T> {
    /// What was made of the rows of a menu that has them always.
    ///
    /// # Errors
    /// `unavailable` for an answer that is no list.
    pub fn rows(self, client: &RouterClient, menu: &str) -> Result<T, ToolError> {
        match self {
            Self::Rows(rows) => Ok(rows),
            Self::Other(_) => Err(strange(&client.device.id, &format!("{menu} with no list"))),
        }
    }
}

/// The whole answer.
async fn answered(device: &str, path: &str, response: Response) -> Result<Value, Failure> {
    let status = response.status().as_u16();
    let bytes = read(device, path, response).await?;
    let answer = if bytes.is_empty() { Some(Value::Null) } else { parsed(&bytes) };
    match (status, answer) {
        (200..=299, answer) => answer.ok_or_else(|| no_json(device, path)),
        (status, answer) => Err(refused(device, status, &answer.unwrap_or_default())),
    }
}

/// Neither rows nor a singleton: no menu is so.
fn not_empty(device: &str, path: &str, answer: Value) -> Result<Value, Failure> {
    match &answer {
        Value::Object(fields) if fields.is_empty() => {
            Err((Reason::DeviceError, strange(device, &format!("{path} with an empty object"))))
        }
        _ => Ok(answer),
    }
}

fn no_json(device: &str, path: &str) -> Failure {
    (Reason::DeviceError, strange(device, &format!("{path} with no JSON, or with a part of it")))
}

async fn read(device: &str, path: &str, mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(device, &error))? {
        if bytes.len() + chunk.len() > LARGEST {
            return Err((Reason::DeviceError, too_long(device, path)));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
