//! What rmcp calls into: who we are, and tool calls that need a conversation.

use super::peer::RmcpPeer;
use crate::{
    access::caller::Caller,
    registry::{listing::descriptor, names::Dialect, pipeline::Call, progress::Progress},
    rpc::{
        door::Server,
        params::MODERN,
        running::{Entered, Running},
        ticket,
    },
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ProgressNotificationParam, ProgressToken,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One per conversation.
#[derive(Clone)]
pub struct Handler {
    server: Arc<Server>,
    /// Known from the start on a stream; over HTTP each request brings its own.
    caller: Option<Arc<Caller>>,
    /// The open requests of a stream, whose ids the connection keeps.
    running: Running,
}

const INSTRUCTIONS: &str = "Operates the machine this server runs on, usually a Raspberry Pi. Start with \
system.get_basic_info and system.get_health_snapshot. tools.search finds tools and says why one is off. Writes are off \
until the owner enables them; risky ones wait for a person's approval, which only the owner can give, outside this \
conversation. Errors carry a hint: follow it.";

impl Handler {
    /// For HTTP: requests bring what is known of them.
    pub fn new(server: Arc<Server>) -> Self {
        Self { server, caller: None, running: Running::default() }
    }

    /// For a conversation over a stream.
    pub fn on_stream(server: Arc<Server>, caller: Arc<Caller>, running: Running) -> Self {
        Self { server, caller: Some(caller), running }
    }

    /// What ends this call. Not rmcp's own token: a request cancelled by that gets no answer, and ours get one always.
    fn cancel(&self, context: &RequestContext<RoleServer>) -> CancellationToken {
        let brought = || Some(brought::<Entered>(context)?.cancel.clone());
        self.running.token(&context.id.to_string()).or_else(brought).unwrap_or_default()
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Caller>, ErrorData> {
        self.caller
            .clone()
            .or_else(|| brought(context))
            .ok_or_else(|| ErrorData::internal_error("the request came without a caller", None))
    }
}

/// What the HTTP door attached to this request.
fn brought<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<Arc<T>> {
    context.extensions.get::<axum::http::request::Parts>()?.extensions.get::<Arc<T>>().cloned()
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("raspi-mcp", env!("CARGO_PKG_VERSION")).with_title("raspi-mcp");
        info.instructions = Some(INSTRUCTIONS.into());
        info
    }

    /// rmcp reads the input schema of the called tool from here, to check headers that mirror parameters.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let (entry, _) = self.server.pipeline.world.registry.names.resolve(name).ok()?;
        serde_json::from_value(descriptor(entry)).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let world = &self.server.pipeline.world;
        let (entry, _) = world
            .registry
            .names
            .resolve(&request.name)
            .map_err(|_| ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None))?;
        let modern = context.protocol_version().is_some_and(|version| version.as_str() >= MODERN);
        let correlation_id = context.meta.get("correlation_id").and_then(Value::as_str).map(str::to_owned);
        let (progress, reports) = forwarding(context.meta.get_progress_token(), entry.name(), &context);
        let peer = RmcpPeer {
            peer: context.peer.clone(),
            capabilities: json!(context.client_capabilities()),
            input_responses: request.input_responses.map(|responses| json!(responses)),
            request_state: request.request_state,
            log_level: context.meta.get("io.modelcontextprotocol/logLevel").cloned(),
        };
        let cancel = self.cancel(&context);
        let call = Call {
            entry,
            caller,
            dialect: Dialect::Mcp,
            args: Value::Object(request.arguments.unwrap_or_default()),
            request_id: context.id.to_string(),
            correlation_id,
            cancel: cancel.clone(),
            progress,
            peer: Some(Arc::new(peer)),
        };
        let run = self.server.pipeline.run(call);
        // rmcp's token says that the client is gone; the call then ends like any other that is cancelled.
        let gone = async {
            context.ct.cancelled().await;
            cancel.cancel();
            std::future::pending::<Infallible>().await
        };
        let finished = tokio::select! {
            finished = run => finished,
            never = reports => match never {},
            never = gone => match never {},
        };
        let value = ticket::mcp_value(&finished, modern);
        let unfit = |error: serde_json::Error| {
            ErrorData::internal_error(format!("the result of {} is no MCP result: {error}", entry.name()), None)
        };
        if value["resultType"] == "input_required" {
            return serde_json::from_value(value).map(CallToolResponse::InputRequired).map_err(unfit);
        }
        serde_json::from_value(value).map(CallToolResponse::Complete).map_err(unfit)
    }
}

/// Progress that rmcp sends for us, in order and before the answer: reports are forwarded by the very future that waits for
/// the call, so none can be sent once it has ended.
fn forwarding(
    token: Option<ProgressToken>,
    tool: &'static str,
    context: &RequestContext<RoleServer>,
) -> (Progress, impl Future<Output = Infallible> + use<>) {
    let (sender, mut receiver) = mpsc::channel::<ProgressNotificationParam>(4);
    let progress = match token {
        None => Progress::default(),
        Some(token) => {
            let id = context.id.to_string();
            let value = serde_json::to_value(&token).unwrap_or_default();
            Progress::to(Box::new(move |update| {
                let params = crate::registry::progress::params(&value, tool, &id, update);
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
        std::future::pending().await
    };
    (progress, forward)
}
