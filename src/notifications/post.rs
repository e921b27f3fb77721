//! Sends one message to one receiver: once, within ten seconds, following no redirect.

use super::{message::Message, sign};
use crate::client::{Trust, checked, encrypted, root_cause, tls_fault};
use appliance::certificate::Fingerprint;
use base::{error::ToolError, os::Root};
use contract::config::{Webhook, read_text};
use reqwest::{Certificate, Client, redirect};
use std::{fs::Metadata, os::unix::fs::MetadataExt, path::Path, sync::Arc, time::Duration};

/// Maximum duration of one attempt, from looking up the name to the status.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kernel's name of this machine.
const HOSTNAME: &str = "proc/sys/kernel/hostname";

/// How one attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver answered with this status (2xx).
    Taken(u16),
    /// It will not take this message, and why.
    Refused(String),
    /// It did not take it now, and why.
    Later(String),
}

/// One receiver, with a client that lives as long as there is something to send: the store of certificates takes
/// memory.
pub struct Post {
    webhook: Webhook,
    /// The address that messages link to, or nothing.
    page: String,
    /// The root of the machine's files, for its name.
    root: Root,
    client: Option<Client>,
}

impl Post {
    pub fn to(webhook: &Webhook, page: &str, root: &Root) -> Self {
        Self { webhook: webhook.clone(), page: page.to_owned(), root: root.clone(), client: None }
    }

    /// Drops the client.
    pub fn rest(&mut self) {
        self.client = None;
    }

    /// Sends the message. `dropped`: how many before it were lost. `now_ms`: milliseconds since 1970 UTC.
    pub async fn send(&mut self, message: &Message, dropped: u64, now_ms: i64) -> Outcome {
        let client = match self.client.take().map_or_else(|| client(&self.webhook), Ok) {
            Ok(client) => client,
            Err(error) => return Outcome::Later(error.advice()),
        };
        let outcome = self.send_by(&client, message, dropped, now_ms.div_euclid(1000)).await;
        self.client = Some(client);
        outcome
    }

    /// `now`: seconds since 1970 UTC.
    async fn send_by(&self, client: &Client, message: &Message, dropped: u64, now: i64) -> Outcome {
        let webhook = &self.webhook;
        let device = self.root.line(HOSTNAME).unwrap_or_else(|_| "a device without a name".into());
        let written = message.written(webhook.form, &device, &self.page, dropped);
        let mut request = client.post(webhook.url.as_str());
        for (name, value) in written.headers {
            request = request.header(name, value);
        }
        match secrets(webhook) {
            Err(why) => return Outcome::Later(why),
            Ok(Secrets { token, key }) => {
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                if let Some(key) = key {
                    let signature = sign::signature(key.as_bytes(), now, &written.body);
                    request = request.header(sign::TIMESTAMP, now.to_string()).header(sign::SIGNATURE, signature);
                }
            }
        }
        match request.body(written.body).send().await {
            Ok(answer) => judged(answer.status().as_u16()),
            Err(error) if error.is_timeout() => Outcome::Later(format!("no answer within {} s", PATIENCE.as_secs())),
            // Without the address, which may be a secret.
            Err(error) => Outcome::Later(match tls_fault(&error) {
                Some(fault) => fault.to_string(),
                None => root_cause(&error.without_url()),
            }),
        }
    }
}

/// # Errors
/// `failed_precondition` for authorities that cannot be read.
fn client(webhook: &Webhook) -> Result<Client, ToolError> {
    // reqwest is built without a crypto library of its own: use ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let is_https = webhook.url.starts_with("https://");
    // Without certificates, which a small image may not have.
    let builder = if is_https { encrypted(&trust(webhook)?)? } else { Client::builder().tls_certs_only([]) };
    builder
        .user_agent(concat!("raspi-mcp/", env!("CARGO_PKG_VERSION")))
        .https_only(is_https)
        // Neither the environment nor the receiver says where a message goes.
        .no_proxy()
        .redirect(redirect::Policy::none())
        .timeout(PATIENCE)
        .pool_max_idle_per_host(1)
        .build()
        .map_err(|error| ToolError::internal(format!("no HTTP client: {}", root_cause(&error))))
}

fn judged(status: u16) -> Outcome {
    match status {
        200..=299 => Outcome::Taken(status),
        300..=399 => {
            Outcome::Refused(format!("it answered {status}: it points elsewhere, and redirects are not followed"))
        }
        // Too early or too many, a server that is not well: all pass.
        408 | 425 | 429 | 500..=599 => Outcome::Later(format!("it answered {status}")),
        _ => Outcome::Refused(format!("it answered {status}")),
    }
}

struct Secrets {
    token: Option<String>,
    key: Option<String>,
}

/// Read for each message, so that a new file counts at once.
fn secrets(webhook: &Webhook) -> Result<Secrets, String> {
    let read = |file: &Path, judge: fn(&str) -> Result<String, &'static str>| {
        let named = |why: String| format!("{}: {why}", file.display());
        let text = read_text(file, is_ours).map_err(named)?;
        judge(&text).map_err(|why| named(why.into()))
    };
    let token = webhook.token_file.as_deref().map(|file| read(file, checked)).transpose()?;
    let key = webhook.secret_file.as_deref().map(|file| read(file, sign::key)).transpose()?;
    Ok(Secrets { token, key })
}

fn is_ours(about: &Metadata) -> Result<(), String> {
    match about.mode() & 0o007 {
        0 => Ok(()),
        _ => Err("everybody on this machine may use this secret: chmod o= it".into()),
    }
}

fn trust(webhook: &Webhook) -> Result<Trust, ToolError> {
    if let Some(pin) = &webhook.pin {
        let bad = || ToolError::precondition("pin is no fingerprint").hint("write it as sha256: and 64 digits");
        return Fingerprint::parse(pin).map(Trust::Pin).ok_or_else(bad);
    }
    let Some(file) = &webhook.ca_file else { return Ok(Trust::System) };
    let bad = |why: String| {
        ToolError::precondition(format!("ca_file {}: {why}", file.display()))
            .hint("it must hold the authorities' certificates as PEM")
    };
    let text = read_text(file, |_| Ok(())).map_err(bad)?;
    let certificates = Certificate::from_pem_bundle(text.as_bytes()).map_err(|error| bad(error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad("holds no certificate".into()));
    }
    Ok(Trust::Authorities(Arc::from(certificates)))
}
