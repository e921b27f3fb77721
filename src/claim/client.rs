//! The owner's side of a claim, on another computer.
//!
//! There are two requests. The first sends the code and receives a token; the second returns the token, and only then
//! is the machine owned. Between them the token is stored. If anything fails before that, the machine has no owner and
//! accepts the same code again; if anything fails after, the owner has the token.

use super::uri::ClaimUri;
use crate::client::{Remote, Trust, root_cause, tls_fault};
use agent::{
    approvers::{NewApprover, Vouched},
    operations::backup::Restored,
};
use appliance::backup::{Restore, transfer::seal_for};
use base::{
    base64url,
    error::{ErrorCode, ToolError},
};
use contract::access::token::PREFIX;
use reqwest::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Timeout of a request: the agent syncs a few small files to a card, which may be slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the second request is sent: the token is stored by then, and the network may fail briefly.
const CONFIRMATIONS: u32 = 4;
/// Longest answer that is read, in bytes; real ones have some hundred.
const LONGEST: usize = 64 * 1024;

/// A claimed machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// The machine's name, if it has one.
    pub name: Option<String>,
    /// Its device ID, proved by a signature; older machines have none.
    pub device: Option<String>,
}

/// Claims the machine, with the claiming person's approver. `keep` receives the token and stores it; after that it
/// becomes valid.
///
/// # Errors
/// `verification_failed` if the machine has another certificate: the code was not sent; or if another device than the
/// one that is meant took the code, or took it with another approver's key: the machine then has no owner.
/// `permission_denied` for a wrong code. After `keep`, an error says whether the token may be valid nevertheless.
pub async fn claim(
    claim: &ClaimUri,
    approver: Option<&NewApprover>,
    keep: impl FnOnce(&str) -> Result<(), ToolError>,
) -> Result<Taken, ToolError> {
    let mut url = claim.url.clone();
    url.set_path("/claim");
    let remote = Remote::listed(url, &Trust::Pin(claim.pin), None)?;
    let (token, device) = ask(&remote, claim, approver).await?;
    keep(&token)?;
    let name = confirm(&remote, &token).await.map_err(|error| {
        let why = error.message.clone();
        let told = error.with_message(format!("the token was kept and may not count yet: {why}"));
        told.hint(
            "ask the machine something with it; if it says that it has no owner, claim it again with the code it shows",
        )
    })?;
    Ok(Taken { name, device })
}

/// Restores a backup on the machine. It travels under the code, which is not sent.
///
/// # Errors
/// As [`claim`]; those of the restore, which changed nothing then.
pub async fn restore(claim: &ClaimUri, restore: &Restore) -> Result<Restored, ToolError> {
    let mut url = claim.url.clone();
    url.set_path("/claim/restore");
    let remote = Remote::listed(url, &Trust::Pin(claim.pin), None)?;
    let json = serde_json::to_vec(restore).map_err(|error| ToolError::internal(error.to_string()))?;
    let sealed = base64url::encode(&seal_for(&claim.code, &json)?);
    let answer = post(&remote, &json!({ "sealed": sealed })).await?;
    Restored::deserialize(answer).map_err(|_| {
        ToolError::unavailable("the machine took the backup and did not say that it was restored")
            .hint("look at its screen: without an owner it shows a code again")
    })
}

/// The token and the device's ID.
async fn ask(
    remote: &Remote,
    claim: &ClaimUri,
    approver: Option<&NewApprover>,
) -> Result<(String, Option<String>), ToolError> {
    let code = claim.code.to_string();
    let mut body = json!({ "code": code });
    if let Some(approver) = approver {
        body["approver"] = json!(approver);
    }
    let answer = post(remote, &body).await?;
    let key = approver.map(|approver| approver.key.as_str());
    let device = match (&answer["device"], &claim.device) {
        (Value::Null, None) if key.is_none() => None,
        (device, wanted) => Some(vouched(device, wanted.as_deref(), &code, key)?),
    };
    let token = answer["token"].as_str().filter(|token| {
        token.starts_with(PREFIX) && token.len() <= 256 && token.bytes().all(|byte| byte.is_ascii_graphic())
    });
    token.map(|token| (token.to_owned(), device)).ok_or_else(|| {
        ToolError::unavailable("the machine took the code and sent no token that could be one of raspi-mcp's")
            .hint("is this the machine that shows the code? Restart it, and try again with the new one")
    })
}

/// The device's ID, if it signed for this code and this approver's key.
///
/// # Errors
/// `verification_failed`: another device, no signature or a wrong one.
pub fn vouched(device: &Value, wanted: Option<&str>, code: &str, approver: Option<&str>) -> Result<String, ToolError> {
    let vouched = Vouched::deserialize(device).map_err(|_| {
        ToolError::new(ErrorCode::VerificationFailed, "the machine did not prove which device it is")
            .hint("its version may be older than this program's; nothing was confirmed")
    })?;
    vouched.check(wanted, code, approver)
}

async fn confirm(remote: &Remote, token: &str) -> Result<Option<String>, ToolError> {
    let mut pause = Duration::from_millis(500);
    for _ in 1..CONFIRMATIONS {
        match post(remote, &json!({ "token": token })).await {
            Err(error) if matches!(error.code, ErrorCode::Unavailable | ErrorCode::Timeout) => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            answered => return answered.map(name),
        }
    }
    post(remote, &json!({ "token": token })).await.map(name)
}

fn name(answer: Value) -> Option<String> {
    answer["name"].as_str().map(str::to_owned)
}

/// One request with the remote's token, if it has one.
///
/// # Errors
/// The machine's refusal; `verification_failed` for another certificate; `unavailable` and `timeout` without an answer.
pub async fn post(remote: &Remote, body: &Value) -> Result<Value, ToolError> {
    let answer = async {
        let mut post = remote.client.post(remote.url.clone()).json(body);
        if let Some(token) = remote.token() {
            post = post.bearer_auth(token);
        }
        let response = post.send().await.map_err(|e| silent(remote, &e))?;
        let status = response.status();
        let answer = read(remote, response).await?;
        if status.is_success() {
            return Ok(answer);
        }
        Err(refused(status.as_u16(), &answer["error"]))
    };
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| {
        Err(ToolError::new(ErrorCode::Timeout, format!("the machine did not answer within {} s", PATIENCE.as_secs()))
            .hint("is it still on, and in the network?"))
    })
}

async fn read(remote: &Remote, mut response: Response) -> Result<Value, ToolError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| silent(remote, &error))? {
        if body.len() + chunk.len() > LONGEST {
            return Err(ToolError::internal(format!("its answer is longer than {LONGEST} bytes"))
                .hint("another server answers there: check the address"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}

/// The error if there was no answer, or not one of the intended machine.
fn silent(remote: &Remote, error: &reqwest::Error) -> ToolError {
    let (at, why) = (remote.url.origin().ascii_serialization(), root_cause(error));
    if matches!(tls_fault(error), Some(rustls::Error::General(_))) {
        return ToolError::new(ErrorCode::VerificationFailed, format!("{at} is not the machine that is meant: {why}"))
            .hint(
                "nothing was sent to it. Compare the fingerprint with the one on the machine's own screen, all of it",
            );
    }
    ToolError::unavailable(format!("no answer from {at}: {why}"))
        .hint("is the machine on and in this network, and is the address one of those it shows?")
}

/// The error if the machine refused.
fn refused(status: u16, error: &Value) -> ToolError {
    let data = &error["data"];
    let code = data["error_code"].as_str().and_then(ErrorCode::from_symbol);
    // Made safe for a terminal.
    let plain = |text: &Value| text.as_str().map(|text| text.replace(char::is_control, " "));
    let Some(message) = plain(&data["message"]) else {
        return ToolError::internal(format!("it answered {status}, and is no raspi-mcp that understands this"))
            .hint("is this the address that the machine shows?");
    };
    let told = ToolError::new(code.unwrap_or(ErrorCode::Internal), message);
    match plain(&data["hint"]) {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
