//! What a server offers besides tools: resources, prompts, completions, log messages, changes to listen for.
//!
//! A method is offered by implementing it and announced by [`Provider::capabilities`]; the two must agree. All other
//! methods are answered with "method not found", as MCP requires for undeclared capabilities.

use super::{conversation::Conversation, fault, http::Endpoint, tasks::Tasks};
use crate::rpc::router::Server;
use contract::access::caller::Caller;
use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString, GetPromptRequestMethod,
        GetPromptRequestParams, GetPromptResponse, ListPromptsRequestMethod, ListPromptsResult,
        ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
        ListResourcesResult, PaginatedRequestParams, ReadResourceRequestMethod, ReadResourceRequestParams,
        ReadResourceResponse, ServerCapabilities, SubscribeRequestMethod, SubscriptionFilter, UnsubscribeRequestMethod,
    },
    service::{RequestContext, SubscriptionContext},
};
use std::{any::Any, convert::Infallible, sync::Arc};
use tokio_util::sync::CancellationToken;

const INSTRUCTIONS: &str = "Operates the machine this server runs on, usually a Raspberry Pi. Start with \
system.get_basic_info and system.get_health_snapshot. The list has the usual tools; tools.search finds the others, which \
tools.run_read and tools.run call, and says why one is off. Writes are off \
until the owner enables them; risky ones wait for a person's approval, which only the owner can give, outside this \
conversation. Errors carry a hint: follow it.";

/// The answer of a method.
pub type MethodFuture<'a, T> = BoxFuture<'a, Result<T, ErrorData>>;

/// The caller and its conversation.
pub struct McpRequest {
    pub server: Arc<Server>,
    pub caller: Arc<Caller>,
    pub conversation: Arc<Conversation>,
    /// Cancelled with the request. rmcp's own token, in `context`, signals that the client is gone.
    pub cancel: CancellationToken,
    pub context: RequestContext<RoleServer>,
}

impl McpRequest {
    /// Whether anything can be sent to this client later. The plain endpoint keeps no connection.
    pub fn converses(&self) -> bool {
        let parts = self.context.extensions.get::<axum::http::request::Parts>();
        parts.is_none_or(|parts| parts.extensions.get::<Endpoint>() != Some(&Endpoint::Plain))
    }
}

/// Runs `work` to its end; a client that disconnects cancels it like any other cancellation.
pub async fn until_gone<T>(
    context: &RequestContext<RoleServer>,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    let gone = async {
        context.ct.cancelled().await;
        cancel.cancel();
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        done = work => done,
        never = gone => match never {},
    }
}

/// The part of MCP beyond tools. Shared by all conversations of the server.
pub trait Provider: Send + Sync {
    /// The capabilities announced by `initialize` and `server/discover`. Always has `tools`. `listChanged` and
    /// `resources.subscribe` are what `subscriptions/listen` accepts.
    fn capabilities(&self) -> ServerCapabilities;

    /// What a model is told about this server when it connects.
    fn instructions(&self) -> &'static str {
        INSTRUCTIONS
    }

    fn list_resources(
        &self,
        _asked: McpRequest,
        _page: Option<PaginatedRequestParams>,
    ) -> MethodFuture<'_, ListResourcesResult> {
        not_offered::<ListResourcesRequestMethod, _>()
    }
    fn list_resource_templates(
        &self,
        _asked: McpRequest,
        _page: Option<PaginatedRequestParams>,
    ) -> MethodFuture<'_, ListResourceTemplatesResult> {
        not_offered::<ListResourceTemplatesRequestMethod, _>()
    }
    fn read_resource(
        &self,
        _asked: McpRequest,
        _params: ReadResourceRequestParams,
    ) -> MethodFuture<'_, ReadResourceResponse> {
        not_offered::<ReadResourceRequestMethod, _>()
    }
    /// Until 2025-11-25; later clients listen with `subscriptions/listen`.
    fn subscribe(&self, _asked: McpRequest, _uri: String) -> MethodFuture<'_, ()> {
        not_offered::<SubscribeRequestMethod, _>()
    }
    /// As [`Provider::subscribe`].
    fn unsubscribe(&self, _asked: McpRequest, _uri: String) -> MethodFuture<'_, ()> {
        not_offered::<UnsubscribeRequestMethod, _>()
    }
    /// The accepted part of a `subscriptions/listen` (2026-07-28); rmcp narrows it to the announced capabilities.
    fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        requested.clone()
    }
    /// A `subscriptions/listen` was accepted. The returned value is dropped when it ends.
    ///
    /// # Errors
    /// An error ends the subscription at once.
    fn listen<'a>(
        &'a self,
        _server: &'a Arc<Server>,
        _caller: &'a Arc<Caller>,
        _subscription: &'a SubscriptionContext,
    ) -> MethodFuture<'a, Box<dyn Any + Send>> {
        Box::pin(std::future::ready(Ok(Box::new(()) as _)))
    }
    /// Until 2025-11-25: the client wants log messages of this severity (a word of MCP) and above.
    ///
    /// # Errors
    /// If the client may not read them.
    fn set_log_level(&self, _asked: McpRequest, _level: String) -> MethodFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
    fn list_prompts(
        &self,
        _asked: McpRequest,
        _page: Option<PaginatedRequestParams>,
    ) -> MethodFuture<'_, ListPromptsResult> {
        not_offered::<ListPromptsRequestMethod, _>()
    }
    fn get_prompt(&self, _asked: McpRequest, _params: GetPromptRequestParams) -> MethodFuture<'_, GetPromptResponse> {
        not_offered::<GetPromptRequestMethod, _>()
    }
    /// The tasks, if supported (2026-07-28, tasks extension).
    fn tasks(&self) -> Option<&Tasks> {
        None
    }
    fn complete(&self, _asked: McpRequest, _params: CompleteRequestParams) -> MethodFuture<'_, CompleteResult> {
        not_offered::<CompleteRequestMethod, _>()
    }
}

/// Tools only.
pub struct ToolsOnly;

impl Provider for ToolsOnly {
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::builder().enable_tools().build()
    }
}

/// Whether these capabilities announce that a list can change.
pub fn lists_change(capabilities: &ServerCapabilities) -> bool {
    let said = |flag: Option<bool>| flag == Some(true);
    capabilities.tools.as_ref().is_some_and(|tools| said(tools.list_changed))
        || capabilities.prompts.as_ref().is_some_and(|prompts| said(prompts.list_changed))
        || capabilities.resources.as_ref().is_some_and(|all| said(all.list_changed))
}

/// Whether these capabilities announce anything to listen for.
pub fn has_changes(capabilities: &ServerCapabilities) -> bool {
    lists_change(capabilities) || capabilities.resources.as_ref().is_some_and(|all| all.subscribe == Some(true))
}

fn not_offered<M: ConstString, T: Send + 'static>() -> MethodFuture<'static, T> {
    Box::pin(std::future::ready(Err(fault::not_offered::<M>())))
}
