//! Decides for each message: answer it, run a tool, or pass it to rmcp.

use super::{
    bare_list,
    envelope::{INVALID_PARAMS, Id, METHOD_NOT_FOUND, RpcError},
    listing,
    mcp::{
        fault,
        listeners::Listeners,
        provider::{Provider, has_changes},
    },
    params::{CallParams, ListParams, MODERN, RequestMeta, completed_initialize, meta_of},
    reply,
    ticket::Ticket,
};
use crate::{
    metrics::Metrics,
    registry::{
        compat,
        names::{Dialect, Naming, ToolNameError},
        pipeline::Pipeline,
    },
    resources::{notifier, subscriptions::Subscriptions},
};
use contract::access::caller::Caller;
use serde_json::value::RawValue;
use std::{sync::Arc, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// One server: the state shared by all transports.
pub struct Server {
    pub pipeline: Arc<Pipeline>,
    pub options: RouterOptions,
    /// Cancelled when the server should stop: listeners close, running calls get `options.grace`.
    pub stop: CancellationToken,
    /// Everything that must end before the process does.
    pub tasks: TaskTracker,
    /// The part of MCP beyond tools.
    pub provider: Arc<dyn Provider>,
    /// Clients that listen for changed lists.
    pub listeners: Listeners,
    /// Clients that subscribed to resources or listen to the log.
    pub subscriptions: Arc<Subscriptions>,
    pub metrics: Arc<Metrics>,
}

/// Limits and settings of the router.
#[derive(Clone, Debug)]
pub struct RouterOptions {
    pub naming: Naming,
    /// Deepest accepted nesting of JSON.
    pub max_depth: usize,
    /// Longest accepted message, in bytes.
    pub request_bytes: usize,
    /// How long running calls may continue after the stop.
    pub grace: Duration,
    /// Clients whose elicitation counts as an approval.
    pub elicitation_clients: Vec<String>,
}

/// The caller, and what this conversation supports.
pub struct RequestContext<'a> {
    pub caller: &'a Arc<Caller>,
    /// `clientInfo.name`, once known.
    pub client: Option<&'a str>,
    /// Notifications can precede our own answer. Otherwise rmcp serves calls with a progress token.
    pub notifies: bool,
    /// rmcp can hold a dialogue with this client, in which a tool asks for something.
    pub converses: bool,
}

/// How to handle a request.
pub enum RequestRoute {
    /// Answered directly.
    Answer(Vec<u8>),
    /// Run a tool.
    Call(Box<Ticket>),
    /// The rest of MCP: pass it to rmcp.
    Mcp,
}

/// Methods of MCP that look like a tool's slash form, and everything else that rmcp serves.
const MCP_METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "completion/complete",
    "logging/setLevel",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

/// Methods removed in 2026-07-28.
const LEGACY_METHODS: &[&str] =
    &["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Whether rmcp serves this method.
pub fn is_mcp(method: &str) -> bool {
    MCP_METHODS.contains(&method)
}

impl Server {
    /// Routes one request.
    pub fn route(
        &self,
        context: &RequestContext<'_>,
        id: &Id,
        method: &str,
        params: Option<&RawValue>,
    ) -> RequestRoute {
        if let Err(error) = self.pipeline.services.ownership.check() {
            let data = error.data();
            return RequestRoute::Answer(reply::error(Some(id), error.code.rpc(), &error.message, Some(&data)));
        }
        let routed = match method {
            "tools/call" => self.tools_call(context, id, params),
            "tools/list" => self.tools_list(context, id, params),
            "tools.list" => bare_list::page(id, &self.pipeline, context.caller, params)
                .map(|page| RequestRoute::Answer(reply::success(id, &page))),
            _ if LEGACY_METHODS.contains(&method) && Self::is_modern(params) => {
                Ok(RequestRoute::Answer(removed(id, method)))
            }
            // rmcp would refuse it too, but without `data`.
            "subscriptions/listen" if Self::is_modern(params) && !has_changes(&self.provider.capabilities()) => {
                Ok(RequestRoute::Answer(not_offered(id, method)))
            }
            _ if is_mcp(method) => return RequestRoute::Mcp,
            _ => self.bare(context, id, method, params),
        };
        routed.unwrap_or_else(|fault| RequestRoute::Answer(fault.reply()))
    }

    fn tools_call(
        &self,
        context: &RequestContext<'_>,
        id: &Id,
        params: Option<&RawValue>,
    ) -> Result<RequestRoute, RpcError> {
        let call = CallParams::of_tools_call(id, params)?;
        let Some(modern) = era(&call.meta) else { return Ok(RequestRoute::Mcp) };
        let (entry, _) = self.pipeline.registry.resolve(&call.name).map_err(|unknown| {
            let error = unknown_tool(id, &call.name, &unknown);
            let is_dbus_mcp = self.pipeline.services.settings.has_dbus_mcp();
            if is_dbus_mcp { error.with("dbus_mcp_code", compat::UNKNOWN_TOOL) } else { error }
        })?;
        let target = self.pipeline.unwrap(context.caller, &call.name, entry, call.args);
        let entry = &target.0;
        // A long call may become a task, if the client supports them (2026-07-28).
        let may_become_task = entry.meta().long && entry.meta().effect.is_write() && call.meta.has_tasks();
        let asks_client = context.converses
            && (entry.meta().interactive
                || may_become_task
                || (modern && call.meta.log_level.is_some())
                || self.elicits(context.client, &call.meta));
        if asks_client || (call.meta.progress_token.is_some() && !context.notifies) {
            return Ok(RequestRoute::Mcp);
        }
        Ok(RequestRoute::Call(Box::new(Ticket::new(id, target, Dialect::Mcp, modern, call.meta))))
    }

    /// Whether approvals for this client may come by elicitation, which needs a conversation through rmcp.
    fn elicits(&self, client: Option<&str>, meta: &RequestMeta) -> bool {
        let client = client.or(meta.client_info.as_ref().map(|info| info.name.as_str()));
        client.is_some_and(|name| self.options.elicitation_clients.iter().any(|listed| listed == name))
    }

    fn tools_list(
        &self,
        context: &RequestContext<'_>,
        id: &Id,
        params: Option<&RawValue>,
    ) -> Result<RequestRoute, RpcError> {
        let list = ListParams::parse(id, params)?;
        let meta = list.meta.as_ref();
        let Some(modern) = meta.map_or(Some(false), era) else { return Ok(RequestRoute::Mcp) };
        let client =
            context.client.or_else(|| meta.and_then(|meta| meta.client_info.as_ref()).map(|info| info.name.as_str()));
        let naming = self.options.naming.settle(client);
        let tools = self.pipeline.listings.get(&self.pipeline.services, context.caller, naming);
        let page = listing::page(id, &tools, &list, modern)?;
        Ok(RequestRoute::Answer(reply::success(id, &page)))
    }

    fn bare(
        &self,
        context: &RequestContext<'_>,
        id: &Id,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<RequestRoute, RpcError> {
        let (entry, dialect) = match self.pipeline.registry.resolve(method) {
            Ok(found) => found,
            Err(unknown) => return Ok(RequestRoute::Answer(unknown_method(id, method, &unknown))),
        };
        let mut call = CallParams::of_bare(id, method, params)?;
        if !context.notifies {
            call.meta.progress_token = None;
        }
        let target = self.pipeline.unwrap(context.caller, method, entry, call.args);
        Ok(RequestRoute::Call(Box::new(Ticket::new(id, target, dialect, false, call.meta))))
    }

    /// Starts the notifier of subscriptions, if the newest one found none running.
    pub fn employ_notifier(&self, start: bool) {
        if start {
            let (services, subscriptions) = (Arc::clone(&self.pipeline.services), Arc::clone(&self.subscriptions));
            base::task::spawn_on(&self.tasks, notifier::run(services, subscriptions, self.stop.clone()));
        }
    }

    /// `initialize` completed for a client of dbus-mcp, if this server has its names (`compat`).
    pub fn completed(&self, method: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        self.pipeline.services.settings.has_dbus_mcp().then(|| completed_initialize(method, bytes)).flatten()
    }

    /// Whether `params` declare the modern era. Parses only the metadata.
    pub fn is_modern(params: Option<&RawValue>) -> bool {
        meta_of(params).is_some_and(|meta| meta.protocol_version.is_some())
    }
}

/// `Some(true)` for a complete 2026-07-28 request, `Some(false)` for an earlier one, `None` for what rmcp must judge:
/// another version, or incomplete metadata.
fn era(meta: &RequestMeta) -> Option<bool> {
    match (&meta.protocol_version, &meta.client_capabilities) {
        (None, None) => Some(false),
        (Some(version), Some(capabilities)) if version == MODERN && capabilities.is_object() => Some(true),
        _ => None,
    }
}

fn unknown_tool(id: &Id, name: &str, unknown: &ToolNameError) -> RpcError {
    let message = format!("Unknown tool: {}", unknown.explain(name));
    RpcError::new(Some(id.clone()), INVALID_PARAMS, message).with("unknown_tool", cut(name))
}

fn unknown_method(id: &Id, method: &str, unknown: &ToolNameError) -> Vec<u8> {
    let message = format!("Method not found: {}", unknown.explain(method));
    RpcError::new(Some(id.clone()), METHOD_NOT_FOUND, message).with("method", cut(method)).reply()
}

fn not_offered(id: &Id, method: &str) -> Vec<u8> {
    RpcError::new(Some(id.clone()), METHOD_NOT_FOUND, fault::why_not_offered(method)).with("method", method).reply()
}

fn removed(id: &Id, method: &str) -> Vec<u8> {
    let message = format!("Method not found: {method}; revision {MODERN} has no such method");
    RpcError::new(Some(id.clone()), METHOD_NOT_FOUND, message).with("method", method).reply()
}

fn cut(text: &str) -> String {
    text.chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::names;

    #[test]
    fn no_added_tool_can_have_the_name_of_a_method() {
        for method in MCP_METHODS {
            let namespace = method.split('/').next().unwrap();
            assert!(names::check(&format!("{namespace}.anything")).is_err(), "{method}");
        }
    }
}
