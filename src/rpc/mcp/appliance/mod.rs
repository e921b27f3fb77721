//! What the shipped server offers beside tools: the resources and prompts of this crate, in rmcp's words.

mod completions;
mod prompts;
mod resources;
mod subscriptions;

use super::{
    call::is_modern,
    fault::fault as plain,
    provider::{Answer, Asked, Provider},
    tasks::Tasks,
};
use crate::{access::caller::Caller, error::ToolError, rpc::door::Server};
use futures::FutureExt;
use rmcp::{
    ErrorData,
    model::{
        CacheScope, CompleteRequestParams, CompleteResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, SubscriptionFilter,
    },
    service::SubscriptionContext,
};
use std::{any::Any, future::ready, sync::Arc};

/// How long a modern client may keep a list: it changes with the configuration.
const LIST_TTL_MS: u64 = 60_000;

/// Resources with subscriptions, prompts, completions, the server's log, and tasks for updates.
#[derive(Default)]
pub struct Appliance {
    tasks: Tasks,
}

// Logging is deprecated since 2026-07-28, and part of every revision before it.
#[expect(deprecated)]
impl Provider for Appliance {
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build()
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.tasks)
    }

    fn list_resources(&self, asked: Asked, page: Option<PaginatedRequestParams>) -> Answer<'_, ListResourcesResult> {
        ready(only_page(page).map(|()| {
            let mut list = ListResourcesResult::with_all_items(resources::list(&asked));
            (list.ttl_ms, list.cache_scope) = hints(&asked, LIST_TTL_MS);
            list
        }))
        .boxed()
    }
    fn list_resource_templates(
        &self,
        asked: Asked,
        page: Option<PaginatedRequestParams>,
    ) -> Answer<'_, ListResourceTemplatesResult> {
        ready(only_page(page).map(|()| {
            let mut list = ListResourceTemplatesResult::with_all_items(resources::templates(&asked));
            (list.ttl_ms, list.cache_scope) = hints(&asked, LIST_TTL_MS);
            list
        }))
        .boxed()
    }
    fn read_resource(&self, asked: Asked, params: ReadResourceRequestParams) -> Answer<'_, ReadResourceResponse> {
        async move { resources::read(&asked, &params.uri).await.map(Into::into) }.boxed()
    }
    fn subscribe(&self, asked: Asked, uri: String) -> Answer<'_, ()> {
        async move { subscriptions::subscribe(&asked, &uri).await }.boxed()
    }
    fn unsubscribe(&self, asked: Asked, uri: String) -> Answer<'_, ()> {
        asked.server.book.unsubscribe(asked.conversation.number, &uri);
        ready(Ok(())).boxed()
    }
    fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        subscriptions::accept(requested)
    }
    fn listen<'a>(
        &'a self,
        server: &'a Arc<Server>,
        caller: &'a Arc<Caller>,
        subscription: &'a SubscriptionContext,
    ) -> Answer<'a, Box<dyn Any + Send>> {
        subscriptions::listen(server, caller, subscription).boxed()
    }
    fn set_log_level(&self, asked: Asked, level: String) -> Answer<'_, ()> {
        async move { subscriptions::listen_to_log(&asked, &level).await }.boxed()
    }
    fn list_prompts(&self, asked: Asked, page: Option<PaginatedRequestParams>) -> Answer<'_, ListPromptsResult> {
        ready(only_page(page).map(|()| {
            let mut list = ListPromptsResult::with_all_items(prompts::list());
            (list.ttl_ms, list.cache_scope) = hints(&asked, LIST_TTL_MS);
            list
        }))
        .boxed()
    }
    fn get_prompt(&self, asked: Asked, params: GetPromptRequestParams) -> Answer<'_, GetPromptResponse> {
        async move { prompts::get(&asked, &params).await.map(Into::into) }.boxed()
    }
    fn complete(&self, asked: Asked, params: CompleteRequestParams) -> Answer<'_, CompleteResult> {
        async move { completions::complete(&asked, &params).await }.boxed()
    }
}

/// Everything fits one page, so there is no cursor that this server gave out.
fn only_page(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match page.and_then(|page| page.cursor) {
        None => Ok(()),
        Some(_) => Err(plain(ErrorCode::INVALID_PARAMS, "unknown cursor; start again without one")),
    }
}

/// Caching hints of 2026-07-28. What is there depends on the caller's role.
fn hints(asked: &Asked, ttl_ms: u64) -> (Option<u64>, Option<CacheScope>) {
    if is_modern(&asked.context) { (Some(ttl_ms), Some(CacheScope::Private)) } else { (None, None) }
}

/// The JSON-RPC error of a failure that is not a tool's result.
fn fault(error: &ToolError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code.rpc()), error.message.clone(), Some(error.data()))
}
