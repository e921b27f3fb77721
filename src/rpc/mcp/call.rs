//! Tool calls through rmcp, for tools that ask the client or report to it: the same pipeline, with a peer for the
//! client.

use super::{ear::PeerEar, peer::RmcpPeer, provider::until_gone};
use crate::{
    log::rank,
    registry::{pipeline::Call, progress::Progress},
    resources::{
        LOG, admits,
        subscription::{Ear, messages_since},
    },
    rpc::{params::MODERN, router::Server, ticket},
};
use base::error::ToolError;
use contract::access::caller::Caller;
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, ErrorCode, ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What the conversation adds to a call.
pub struct With {
    pub caller: Arc<Caller>,
    pub cancel: CancellationToken,
    /// The lowest severity of log messages that the client wants.
    pub log_level: Option<String>,
}

/// Whether the request follows the rules of 2026-07-28.
pub fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= MODERN)
}

/// Runs one call and returns its answer.
///
/// # Errors
/// -32602 for an unknown tool, and the errors that MCP prescribes ([`base::error::ToolError::protocol`]).
pub async fn run(
    server: &Arc<Server>,
    with: With,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let With { caller, cancel, log_level } = with;
    let services = &server.pipeline.services;
    let found = server.pipeline.registry.resolve(&request.name);
    let (entry, _) = found.map_err(|_| ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None))?;
    let args = Value::Object(request.arguments.unwrap_or_default());
    let (entry, args, alias) = server.pipeline.unwrap(&caller, &request.name, entry, args);
    let modern = is_modern(context);
    let correlation_id = context.meta.get("correlation_id").and_then(Value::as_str).map(str::to_owned);
    let (progress, reports) = forwarding(context.meta.get_progress_token(), entry.name(), context);
    let peer = RmcpPeer {
        server: Arc::clone(server),
        caller: Arc::clone(&caller),
        peer: context.peer.clone(),
        client: context.client_info().map(|info| info.name),
        modern,
        capabilities: json!(context.client_capabilities()),
        input_responses: request.input_responses.map(|responses| json!(responses)),
        request_state: request.request_state,
        log_level: log_level.clone(),
    };
    let mut mark = services.log.mark();
    let call = Call {
        entry: Arc::clone(&entry),
        caller: Arc::clone(&caller),
        args,
        alias,
        request_id: context.id.to_string(),
        correlation_id,
        cancel: cancel.clone(),
        progress,
        peer: Some(Arc::new(peer)),
    };
    let run = async { tokio::join!(server.pipeline.run(call), reports).0 };
    let finished = until_gone(context, &cancel, run).await;
    if modern
        && let Some(least) = log_level.as_deref().and_then(rank)
        && admits(LOG, &server.pipeline, &caller)
    {
        // Sent before the answer, which ends the request's stream. They include lines of other work during the call.
        let lines = messages_since(&services.log, &mut mark, least);
        PeerEar::new(context.peer.clone(), &caller).log(lines).await;
    }
    if let Err(error) = &finished.result
        && let Some((code, data)) = error.as_protocol()
    {
        return Err(ErrorData::new(ErrorCode(code), error.message.clone(), Some(data)));
    }
    let input = finished.result.as_ref().err().and_then(ToolError::as_input);
    let value = match input {
        Some(input) => ticket::with_meta(input, &finished.meta),
        None => ticket::mcp_value(&finished, modern),
    };
    let unfit = |error: serde_json::Error| {
        ErrorData::internal_error(format!("the result of {} is no MCP result: {error}", entry.name()), None)
    };
    match value["resultType"].as_str() {
        Some("input_required") => serde_json::from_value(value).map(CallToolResponse::InputRequired).map_err(unfit),
        Some("task") => serde_json::from_value(value).map(CallToolResponse::Task).map_err(unfit),
        _ => serde_json::from_value(value).map(CallToolResponse::Complete).map_err(unfit),
    }
}

/// Progress that rmcp sends, in order and before the answer. The future ends once the pipeline has closed the progress
/// and everything reported was sent: await it together with the call, then answer.
fn forwarding(
    token: Option<ProgressToken>,
    tool: &str,
    context: &RequestContext<RoleServer>,
) -> (Progress, impl Future<Output = ()> + use<>) {
    let (sender, mut receiver) = mpsc::channel::<ProgressNotificationParam>(4);
    let progress = match token {
        None => Progress::default(),
        Some(token) => {
            let (tool, id) = (tool.to_owned(), context.id.to_string());
            let value = serde_json::to_value(&token).unwrap_or_default();
            Progress::to(Box::new(move |update| {
                let params = crate::registry::progress::params(&value, &tool, &id, update);
                if let Ok(params) = serde_json::from_value(params) {
                    let _ = sender.try_send(params);
                }
            }))
        }
    };
    let peer = context.peer.clone();
    let forward = async move {
        while let Some(params) = receiver.recv().await {
            let _ = peer.notify_progress(params).await;
        }
    };
    (progress, forward)
}
