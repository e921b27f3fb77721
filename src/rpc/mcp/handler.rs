//! The handler that rmcp calls: server information and the methods of MCP.

use super::{
    call::{self, With, is_modern},
    conversation::Conversation,
    fault,
    provider::{self, McpRequest},
};
use crate::{
    registry::{compat, listing::descriptor},
    rpc::{
        router::Server,
        running::{Entered, OpenRequests},
    },
};
use base::error::ToolError;
use contract::access::caller::Caller;
#[expect(deprecated)] // As the handler's methods below.
use rmcp::model::SetLevelRequestParams;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskMethod, CancelTaskParams, CompleteRequestParams,
        CompleteResult, ConstString, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskMethod,
        GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ServerConfig, SetLevelRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams, UpdateTaskMethod, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
    task_manager::TaskManager,
};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One per conversation.
#[derive(Clone)]
pub struct McpHandler {
    server: Arc<Server>,
    /// Set on a stream; over HTTP each request brings its own caller.
    caller: Option<Arc<Caller>>,
    /// The open requests of a stream, by the ids that the connection tracks.
    running: OpenRequests,
    conversation: Arc<Conversation>,
    /// The client receives only answers to its requests and messages that belong to them.
    answers_only: bool,
}

impl McpHandler {
    /// For HTTP: each request carries its caller.
    pub fn new(server: Arc<Server>) -> Self {
        let conversation = Arc::new(Conversation::new(&server.subscriptions));
        Self { server, caller: None, running: OpenRequests::default(), conversation, answers_only: false }
    }

    /// For the plain HTTP endpoint, which sends one answer for each request.
    pub fn plain(server: Arc<Server>) -> Self {
        Self { answers_only: true, ..Self::new(server) }
    }

    /// For a conversation over a stream.
    pub fn on_stream(server: Arc<Server>, caller: Arc<Caller>, running: OpenRequests) -> Self {
        Self { caller: Some(caller), running, ..Self::new(server) }
    }

    /// The token that cancels this call. Not rmcp's own: rmcp does not answer a request cancelled by that, but this
    /// server answers every request.
    fn cancel(&self, context: &RequestContext<RoleServer>) -> CancellationToken {
        let brought = || Some(brought::<Entered>(context)?.cancel.clone());
        self.running.token(&context.id.to_string()).or_else(brought).unwrap_or_default()
    }

    fn asked(&self, context: RequestContext<RoleServer>) -> Result<McpRequest, ErrorData> {
        Ok(McpRequest {
            server: Arc::clone(&self.server),
            caller: self.caller(&context)?,
            conversation: Arc::clone(&self.conversation),
            cancel: self.cancel(&context),
            context,
        })
    }

    /// The manager of the task. Tasks of other callers count as not existing.
    fn task<M: ConstString>(&self, id: &str, context: &RequestContext<RoleServer>) -> Result<&TaskManager, ErrorData> {
        let tasks = self.server.provider.tasks().ok_or_else(fault::not_offered::<M>)?;
        tasks.of(id, &self.caller(context)?.principal).ok_or_else(|| {
            fault::fault(ErrorCode::INVALID_PARAMS, "there is no such task (it ended a while ago, or never was yours)")
        })
    }

    /// The log level the client wants: since 2026-07-28 each request states it, or wants no messages.
    fn log_level(&self, context: &RequestContext<RoleServer>) -> Option<String> {
        if is_modern(context) {
            let level = context.meta.get("io.modelcontextprotocol/logLevel")?;
            return level.as_str().map(str::to_owned);
        }
        Some(self.conversation.log_level())
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Caller>, ErrorData> {
        self.caller
            .clone()
            .or_else(|| brought(context))
            .ok_or_else(|| fault::fault(ErrorCode::INTERNAL_ERROR, "the request came without a caller"))
    }
}

/// rmcp's own choice of a revision, for a server with this configuration.
struct Announcing(ServerConfig);

impl ServerHandler for Announcing {
    fn get_info(&self) -> ServerConfig {
        self.0.clone()
    }
}

fn refused(error: &ToolError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code.rpc()), error.message.clone(), Some(error.data()))
}

/// What the HTTP transport attached to this request.
fn brought<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<Arc<T>> {
    context.extensions.get::<axum::http::request::Parts>()?.extensions.get::<Arc<T>>().cloned()
}

// Logging and resources/subscribe are deprecated since 2026-07-28, but part of every earlier revision.
#[expect(deprecated)]
impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = self.server.provider.capabilities();
        info.server_info = Implementation::new("raspi-mcp", env!("CARGO_PKG_VERSION")).with_title("raspi-mcp");
        info.instructions = Some(self.server.provider.instructions().into());
        info
    }

    /// In the revisions with `initialize`, log messages and updates arrive between requests. They are not announced
    /// where nothing can be sent then.
    fn negotiate_initialize(&self, request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData> {
        let mut info = self.get_info();
        if self.answers_only {
            info.capabilities.logging = None;
            if let Some(resources) = &mut info.capabilities.resources {
                resources.subscribe = None;
            }
        }
        Announcing(info).negotiate_initialize(request)
    }

    /// rmcp reads the called tool's input schema from here, to check headers that mirror parameters.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let (entry, _) = self.server.pipeline.registry.resolve(name).ok()?;
        let descriptor =
            compat::find(name).map_or_else(|| descriptor(&entry), |alias| compat::descriptor(alias, &entry));
        serde_json::from_value(descriptor).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let with =
            With { caller: self.caller(&context)?, cancel: self.cancel(&context), log_level: self.log_level(&context) };
        call::run(&self.server, with, request, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.task::<GetTaskMethod>(&request.task_id, &context)?.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.task::<UpdateTaskMethod>(&request.task_id, &context)?
            .update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.task::<CancelTaskMethod>(&request.task_id, &context)?.cancel_task(&request.task_id)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if provider::lists_change(&self.server.provider.capabilities()) {
            self.server.listeners.add(context.peer);
        }
    }

    /// rmcp narrows the result to the announced capabilities.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // A server without changing resources or lists accepts no subscriptions.
        let provider = &self.server.provider;
        provider::has_changes(&provider.capabilities()).then(|| provider.accept(requested))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let caller = self.caller(subscription.request_context())?;
        let _place = self.server.listeners.place(&caller).map_err(|error| refused(&error))?;
        let _held = self.server.provider.listen(&self.server, &caller, &subscription).await?;
        // When the server stops, the request ends with a result, to show that this is no failure.
        self.server.stop.run_until_cancelled(self.server.listeners.hold(subscription)).await;
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.server.provider.capabilities().logging.is_none() {
            return Err(fault::not_offered::<SetLevelRequestMethod>());
        }
        let level = json!(request.level).as_str().unwrap_or_default().to_owned();
        self.server.provider.set_log_level(self.asked(context)?, level.clone()).await?;
        self.conversation.set_log_level(level);
        Ok(())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.server.provider.list_resources(self.asked(context)?, request).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.server.provider.list_resource_templates(self.asked(context)?, request).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.server.provider.read_resource(self.asked(context)?, request).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.provider.subscribe(self.asked(context)?, request.uri).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.provider.unsubscribe(self.asked(context)?, request.uri).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.server.provider.list_prompts(self.asked(context)?, request).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.server.provider.get_prompt(self.asked(context)?, request).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.server.provider.complete(self.asked(context)?, request).await
    }
}
