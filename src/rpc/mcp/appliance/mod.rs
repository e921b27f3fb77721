//! What the full server offers besides tools: the resources and prompts of this crate, in rmcp's types.

mod completions;
mod prompts;
mod resources;
mod subscriptions;

use super::{
    call::is_modern,
    fault::fault as plain,
    provider::{McpRequest, MethodFuture, Provider},
    tasks::Tasks,
};
use crate::rpc::{listing, router::Server};
use base::error::ToolError;
use contract::access::caller::Caller;
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
use std::{any::Any, future::ready, ops::Range, sync::Arc};

/// How long a modern client may cache a list, in milliseconds: it changes with the configuration.
const LIST_TTL_MS: u64 = 60_000;
/// Resources, templates or prompts per page. As for tools, all that exist today fit into one, for clients without
/// support for pagination.
const PAGE: usize = 100;

/// Resources with subscriptions, prompts, completions, the server's log, and tasks for updates.
#[derive(Default)]
pub struct Appliance {
    tasks: Tasks,
}

// Logging is deprecated since 2026-07-28, but part of every earlier revision.
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

    fn list_resources(
        &self,
        asked: McpRequest,
        page: Option<PaginatedRequestParams>,
    ) -> MethodFuture<'_, ListResourcesResult> {
        ready(paged(resources::list(&asked), page, PAGE).map(|(items, next)| {
            let mut list = ListResourcesResult::with_all_items(items);
            list.next_cursor = next;
            (list.ttl_ms, list.cache_scope) = hints(&asked, LIST_TTL_MS);
            list
        }))
        .boxed()
    }
    fn list_resource_templates(
        &self,
        asked: McpRequest,
        page: Option<PaginatedRequestParams>,
    ) -> MethodFuture<'_, ListResourceTemplatesResult> {
        ready(paged(resources::templates(&asked), page, PAGE).map(|(items, next)| {
            let mut list = ListResourceTemplatesResult::with_all_items(items);
            list.next_cursor = next;
            (list.ttl_ms, list.cache_scope) = hints(&asked, LIST_TTL_MS);
            list
        }))
        .boxed()
    }
    fn read_resource(
        &self,
        asked: McpRequest,
        params: ReadResourceRequestParams,
    ) -> MethodFuture<'_, ReadResourceResponse> {
        async move { resources::read(&asked, &params.uri).await.map(Into::into) }.boxed()
    }
    fn subscribe(&self, asked: McpRequest, uri: String) -> MethodFuture<'_, ()> {
        async move { subscriptions::subscribe(&asked, &uri).await }.boxed()
    }
    fn unsubscribe(&self, asked: McpRequest, uri: String) -> MethodFuture<'_, ()> {
        asked.server.subscriptions.unsubscribe(asked.conversation.number, &uri);
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
    ) -> MethodFuture<'a, Box<dyn Any + Send>> {
        subscriptions::listen(server, caller, subscription).boxed()
    }
    fn set_log_level(&self, asked: McpRequest, level: String) -> MethodFuture<'_, ()> {
        async move { subscriptions::listen_to_log(&asked, &level).await }.boxed()
    }
    fn list_prompts(
        &self,
        asked: McpRequest,
        page: Option<PaginatedRequestParams>,
    ) -> MethodFuture<'_, ListPromptsResult> {
        ready(paged(prompts::list(&asked), page, PAGE).map(|(items, next)| {
            let mut list = ListPromptsResult::with_all_items(items);
            list.next_cursor = next;
            (list.ttl_ms, list.cache_scope) = hints(&asked, LIST_TTL_MS);
            list
        }))
        .boxed()
    }
    fn get_prompt(&self, asked: McpRequest, params: GetPromptRequestParams) -> MethodFuture<'_, GetPromptResponse> {
        async move { prompts::get(&asked, &params).await.map(Into::into) }.boxed()
    }
    fn complete(&self, asked: McpRequest, params: CompleteRequestParams) -> MethodFuture<'_, CompleteResult> {
        async move { completions::complete(&asked, &params).await }.boxed()
    }
}

/// The page of `size` items that a client requests, and the cursor of the next.
///
/// # Errors
/// -32602 for a cursor that this server did not issue.
fn paged<T>(
    items: Vec<T>,
    page: Option<PaginatedRequestParams>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let cursor = page.and_then(|page| page.cursor);
    let given_out = |range: &Range<usize>| {
        cursor.is_none() || (range.start > 0 && !range.is_empty() && range.start.is_multiple_of(size))
    };
    let Some((range, next)) = listing::cut(items.len(), cursor.as_deref(), size).filter(|(range, _)| given_out(range))
    else {
        return Err(plain(ErrorCode::INVALID_PARAMS, "unknown cursor; start again without one"));
    };
    Ok((items.into_iter().skip(range.start).take(range.len()).collect(), next))
}

/// Caching hints of 2026-07-28. The contents depend on the caller's role.
fn hints(asked: &McpRequest, ttl_ms: u64) -> (Option<u64>, Option<CacheScope>) {
    if is_modern(&asked.context) { (Some(ttl_ms), Some(CacheScope::Private)) } else { (None, None) }
}

/// The JSON-RPC error for a failure outside a tool's result.
fn fault(error: &ToolError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code.rpc()), error.message.clone(), Some(error.data()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_given_out_page_by_page_and_only_by_cursors_that_were_given_out() {
        let page = |cursor: Option<&str>| {
            let params = PaginatedRequestParams::default().with_cursor(cursor.map(str::to_owned));
            paged(vec![1, 2, 3, 4, 5], Some(params), 2)
        };
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let (items, next) = page(cursor.as_deref()).unwrap();
            assert!((1..=2).contains(&items.len()));
            all.extend(items);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(all, [1, 2, 3, 4, 5]);
        assert_eq!(paged(vec![1, 2], None, 2).unwrap(), (vec![1, 2], None), "a full page is the last");
        for bad in ["after-1", "after-6", "after-5", "2", ""] {
            assert_eq!(page(Some(bad)).unwrap_err().code, ErrorCode::INVALID_PARAMS, "{bad}");
        }
        // The place before the first page is never given out.
        assert!(page(Some("after-0")).is_err());
    }
}
