//! The `/approvals/` and `/owner` of a device, for an approver on another computer.

use super::{Remote, root_cause};
use agent::{
    approvers::ApproverSecret,
    approvers::{
        AskDocument, Decision, KeyKind, ListProof, SignedAnswer, SignedAsk, SignedOrder, challenge, list_challenge,
    },
    operations::approvals::Device,
    system_clock,
};
use base::{
    base64url,
    error::{ErrorCode, ToolError},
};
use reqwest::{RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// How long an answer may take: the agent syncs a small file to a card.
const PATIENCE: Duration = Duration::from_secs(60);
/// An order for a later time than this could be held back by whoever carries it.
const MOST_AHEAD_MS: i64 = 300_000;
/// Longest answer that is read, in bytes: 32 asks of 96 KiB, written as JSON text inside JSON.
const LONGEST: usize = 16 << 20;

/// A device, reached over HTTP, and an approver's key of kind `cli`.
pub struct Approvals {
    remote: Remote,
    /// The id that the device must have: from its console, never from the network.
    device: String,
    key: ApproverSecret,
}

/// An ask whose signature was checked, and the bytes that an answer signs.
pub struct OpenedAsk {
    pub ask: AskDocument,
    document: String,
}

impl Approvals {
    pub fn new(remote: Remote, device: String, key: ApproverSecret) -> Self {
        Self { remote, device, key }
    }

    /// The pending asks, oldest first, each with a valid signature of this very device.
    ///
    /// # Errors
    /// `permission_denied` when another device answers, or when the key is not enrolled; `unavailable`.
    pub async fn list(&self) -> Result<Vec<OpenedAsk>, ToolError> {
        let device = self.state().await?;
        let signature = self.key.sign(&list_challenge(&self.device, &device.boot, device.time_ms));
        let proof = ListProof {
            key: self.key.public().id(),
            kind: KeyKind::Cli,
            time_ms: device.time_ms,
            signature: base64url::encode(&signature),
            authenticator_data: None,
            client_data: None,
            parts: None,
            salt: None,
        };
        let asks: Vec<SignedAsk> = self.send("/approvals/list", Some(json!({ "proof": proof }))).await?;
        let open =
            |ask: SignedAsk| ask.open(&self.device).map(|opened| OpenedAsk { ask: opened, document: ask.document });
        asks.into_iter().map(open).collect()
    }

    /// Hands in a signed answer.
    ///
    /// # Errors
    /// As the device judges it.
    pub async fn answer(&self, opened: &OpenedAsk, decision: Decision) -> Result<(), ToolError> {
        let signature = self.key.sign(&challenge(decision, &opened.document));
        let answer = SignedAnswer {
            ask: opened.ask.ask.clone(),
            nonce: opened.ask.nonce.clone(),
            decision,
            key: self.key.public().id(),
            kind: KeyKind::Cli,
            signature: base64url::encode(&signature),
            authenticator_data: None,
            client_data: None,
        };
        self.send::<Value>("/approvals/answer", Some(json!(answer))).await.map(drop)
    }

    /// Signs an order and hands it in; returns the device's answer.
    ///
    /// # Errors
    /// As the device judges it; `permission_denied` when another device answers; `failed_precondition` when its clock is
    /// ahead of this computer's.
    pub async fn order(&self, operation: &str, args: &Value) -> Result<Value, ToolError> {
        let device = self.state().await?;
        // Whoever carries the order may hold it back until its time is over: that must not be far away.
        if device.time_ms > system_clock()() + MOST_AHEAD_MS {
            return Err(ToolError::precondition(
                "the device's clock is more than five minutes ahead of this computer's",
            )
            .with("time_ms", device.time_ms)
            .hint("set the clock that is wrong, then try again"));
        }
        let order = SignedOrder::by_cli(&self.key, (&device.id, &device.boot, device.time_ms), operation, args)?;
        self.send("/owner", Some(json!(order))).await
    }

    /// The device's id, boot and time.
    async fn state(&self) -> Result<Device, ToolError> {
        let device: Device = self.send("/approvals/device", None).await?;
        if device.id != self.device || device.key.id() != self.device {
            return Err(ToolError::denied("another device answers at this address").with("device", device.id).hint(
                "compare --device with `raspi-mcp approver list` at the device's console; a reset gives it another id",
            ));
        }
        Ok(device)
    }

    async fn send<T: DeserializeOwned>(&self, path: &str, body: Option<Value>) -> Result<T, ToolError> {
        let mut url = self.remote.url.clone();
        url.set_path(path);
        let client = &self.remote.client;
        let request = body.map_or_else(|| client.get(url.clone()), |body| client.post(url.clone()).json(&body));
        let answer = tokio::time::timeout(PATIENCE, self.answered(request));
        let answer = answer.await.unwrap_or_else(|_| Err(ToolError::timeout("the device's answer", PATIENCE)))?;
        serde_json::from_value(answer).map_err(|error| {
            ToolError::unavailable(format!("{url} answered something else than a raspi-mcp server: {error}"))
                .hint("is this the device's address, and its version not older than this program's?")
        })
    }

    async fn answered(&self, request: RequestBuilder) -> Result<Value, ToolError> {
        let response = request.send().await.map_err(|error| self.remote.failed(&error))?;
        let status = response.status();
        let answer = read(response).await?;
        if status.is_success() {
            return Ok(answer);
        }
        let error = &answer["error"];
        let code = error["data"]["error_code"].as_str().and_then(ErrorCode::from_symbol);
        let message = error["message"].as_str().map_or_else(|| format!("the device answered {status}"), str::to_owned);
        let refused = ToolError::new(code.unwrap_or(ErrorCode::Unavailable), message.replace(char::is_control, " "));
        Err(match error["data"]["hint"].as_str() {
            Some(hint) => refused.hint(hint.replace(char::is_control, " ")),
            None => refused,
        })
    }
}

async fn read(mut response: Response) -> Result<Value, ToolError> {
    let broken =
        |error: reqwest::Error| ToolError::unavailable(format!("the answer broke off: {}", root_cause(&error)));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > LONGEST {
            return Err(ToolError::unavailable(format!("the answer is longer than {LONGEST} bytes"))
                .hint("another server answers there: check the address"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}
