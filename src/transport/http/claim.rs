//! `POST /claim`: the only request that a machine without an owner serves for anybody (docs/claim.md).
//!
//! `{"code": "..."}`, perhaps with the owner's approver, is answered with a token, which is not valid yet;
//! `{"token": "..."}` confirms that it arrived, and
//! makes its holder the machine's owner. The agent checks both; this module provides TLS, limits and the audit.
//!
//! `POST /claim/restore`: `{"sealed": "..."}`, a backup under the claim code, which this half cannot open (docs/backup.md).

use super::{
    App, PeerAddress, exchange, not_allowed,
    refused::{AtTheDoor, gather_later, record},
};
use agent::{
    approvers::NewApprover,
    operations::{
        backup::{RestoreBackup, RestoreRequest},
        claim::{Claim, ClaimRequest, ConfirmClaim, ShownToken},
    },
    protocol::MAX_LINE,
};
use appliance::{Code, claim::claimed_already};
use axum::{
    body::Body,
    extract::Request,
    http::{Method, Response},
};
use base::error::{ErrorCode, ToolError};
use contract::access::token;
use serde::Deserialize;
use serde_json::{Value, json as object};
use std::{sync::Arc, time::Instant};
use time::OffsetDateTime;

pub const PATH: &str = "/claim";
pub const RESTORE: &str = "/claim/restore";
/// A code or a token as JSON, in bytes.
const LONGEST_BODY: usize = 1024;
/// A backup as JSON, in bytes: below the longest request of the agent.
const LONGEST_BACKUP: usize = MAX_LINE - 4096;
/// The tool's name in the audit.
const CLAIM: &str = "access.claim";

/// The request: a code, perhaps with an approver, or a token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Brought {
    code: Option<String>,
    approver: Option<NewApprover>,
    token: Option<String>,
}

/// Answers after the audit record is stored.
pub(super) async fn answer(app: &Arc<App>, request: Request, peer: PeerAddress) -> Response<Body> {
    if *request.method() != Method::POST {
        return not_allowed("POST");
    }
    exchange::answered(match request.uri().path() {
        RESTORE => restored(app, request, peer).await,
        _ => judged(app, request, peer).await,
    })
}

/// What a backup comes in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    sealed: String,
}

/// Hands a backup to the agent.
async fn restored(app: &Arc<App>, request: Request, peer: PeerAddress) -> Result<Value, ToolError> {
    let services = &app.server.pipeline.services;
    if app.tls.is_none() {
        let error = ToolError::denied("a backup is restored through TLS only").hint("use https://");
        return Err(noted(app, peer, "restore: no TLS", error).await);
    }
    if services.ownership.is_claimed() {
        return Err(noted(app, peer, "restore: claimed", claimed_already()).await);
    }
    let read = exchange::read("a backup on the claim", app.body_timeout, LONGEST_BACKUP, request).await;
    let brought = read.and_then(|bytes| {
        serde_json::from_slice::<Backup>(&bytes)
            .map_err(|_| ToolError::invalid("a restore is a JSON object with sealed").with("name", "sealed"))
    });
    let sealed = match brought {
        Ok(Backup { sealed }) => sealed,
        Err(error) => return Err(noted(app, peer, "restore: malformed", too_long(error)).await),
    };
    let from = peer.address.to_string();
    match services.agent.call::<RestoreBackup>(RestoreRequest { sealed, from }).await {
        Ok(done) => {
            audit(app, peer, "backup", None).await;
            serde_json::to_value(done).map_err(|error| ToolError::internal(error.to_string()))
        }
        Err(error) if error.code == ErrorCode::PermissionDenied => {
            audit(app, peer, "backup", Some(&error)).await;
            Err(error)
        }
        Err(error) => Err(noted(app, peer, "restore: refused", error).await),
    }
}

fn too_long(error: ToolError) -> ToolError {
    match error.code {
        ErrorCode::ContentTooLarge => {
            error.hint("put it on the first partition of the card, beside raspi-mcp.toml (docs/backup.md)")
        }
        _ => error,
    }
}

async fn judged(app: &Arc<App>, request: Request, peer: PeerAddress) -> Result<Value, ToolError> {
    let services = &app.server.pipeline.services;
    if app.tls.is_none() {
        let error =
            ToolError::denied("a machine is claimed through TLS only: the code and the token would be seen by others")
                .hint("use https:// and the fingerprint that the machine shows");
        return Err(noted(app, peer, "claim: no TLS", error).await);
    }
    let brought = match read(app, request).await {
        Ok(brought) => brought,
        Err(error) => return Err(noted(app, peer, "claim: malformed", error).await),
    };
    if services.ownership.is_claimed() {
        // The previous answer may have been lost: the request may be repeated.
        let known = brought.token.as_deref().is_some_and(|token| knows(app, token));
        if known {
            return Ok(object!({ "claimed": true }));
        }
        return Err(noted(app, peer, "claim: claimed", claimed_already()).await);
    }
    let from = peer.address.to_string();
    match (brought.code, brought.approver, brought.token) {
        (Some(code), approver, None) => {
            if let Err(typo) = Code::parse(&code) {
                return Err(noted(app, peer, "claim: mistyped", typo.into()).await);
            }
            let offered = services.agent.call::<Claim>(ClaimRequest { code, from, approver }).await;
            match offered {
                // One of the few attempts allowed for each start: each is recorded, right or wrong.
                Err(error) if error.code == ErrorCode::PermissionDenied => {
                    audit(app, peer, "code", Some(&error)).await;
                    Err(error)
                }
                Err(error) => Err(noted(app, peer, "claim: closed", error).await),
                Ok(offered) => {
                    audit(app, peer, "code", None).await;
                    let (token, seconds) = (offered.token, offered.confirm_within_seconds);
                    let mut answer = object!({ "token": token, "confirm_within_seconds": seconds });
                    if let Some(device) = offered.device {
                        answer["device"] = object!(device);
                    }
                    Ok(answer)
                }
            }
        }
        (None, None, Some(token)) => match services.agent.call::<ConfirmClaim>(ShownToken { token, from }).await {
            Ok(claimed) => {
                audit(app, peer, "token", None).await;
                Ok(object!({ "claimed": true, "name": claimed.name }))
            }
            Err(error) => Err(noted(app, peer, "claim: not confirmed", error).await),
        },
        _ => {
            let error = ToolError::invalid("a claim brings a code or a token, one of them").with("name", "code");
            Err(noted(app, peer, "claim: malformed", error).await)
        }
    }
}

/// Whether it is a valid token of this machine.
fn knows(app: &App, presented: &str) -> bool {
    let (now, services) = (OffsetDateTime::now_utc(), &app.server.pipeline.services);
    let among = |tokens: &[_]| token::judge(tokens, presented, now).is_ok();
    services.tokens.judge(presented, now).is_ok() || services.ownership.tokens().is_some_and(|tokens| among(&tokens))
}

async fn read(app: &App, request: Request) -> Result<Brought, ToolError> {
    let bytes = exchange::read("a claim", app.body_timeout, LONGEST_BODY, request).await?;
    // A fixed message: a parser's error may repeat what it read.
    serde_json::from_slice(&bytes)
        .map_err(|_| ToolError::invalid("a claim is a JSON object with a code or a token").with("name", "code"))
}

async fn audit(app: &App, peer: PeerAddress, brought: &'static str, error: Option<&ToolError>) {
    let args = object!({ "address": peer.address.to_string(), "brought": brought });
    let at = AtTheDoor { tool: CLAIM, changed: ["token", "backup"].contains(&brought) && error.is_none() };
    record(&app.server, at, args, error.map(|error| (error.code, error.message.as_str()))).await;
}

/// Counted with other refusals, so that a flood costs only a few records a minute.
async fn noted(app: &Arc<App>, peer: PeerAddress, reason: &'static str, error: ToolError) -> ToolError {
    let told = app.refusals.note(peer.address, reason, false, Instant::now());
    if told.record {
        audit(app, peer, reason, Some(&error)).await;
    }
    if told.opens {
        gather_later(app);
    }
    error
}
