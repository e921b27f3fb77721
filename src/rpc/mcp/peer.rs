//! The client as peer, for tools and approvals that ask it something.

use crate::{
    log::rank,
    registry::context::{ClientPeer, ListChange, Work},
    rpc::router::Server,
};
use base::error::{ErrorCode, ToolError};
use contract::access::caller::Caller;
use futures::future::BoxFuture;
use rmcp::{
    Peer, RoleServer,
    model::{ServerNotification, ServerRequest, TASKS_EXTENSION_ID},
    service::ServiceError,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// rmcp's peer as an implementation of [`ClientPeer`].
pub struct RmcpPeer {
    pub server: Arc<Server>,
    pub caller: Arc<Caller>,
    pub peer: Peer<RoleServer>,
    /// `clientInfo.name`: of the request since 2026-07-28, of the session before.
    pub client: Option<String>,
    /// Whether the request follows the rules of 2026-07-28.
    pub modern: bool,
    pub capabilities: Value,
    pub input_responses: Option<Value>,
    pub request_state: Option<String>,
    pub log_level: Option<String>,
}

impl ClientPeer for RmcpPeer {
    fn client_name(&self) -> Option<String> {
        self.client.clone()
    }

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn input_responses(&self) -> Option<&Value> {
        self.input_responses.as_ref()
    }

    fn request_state(&self) -> Option<&str> {
        self.request_state.as_deref()
    }

    fn is_asked_in_results(&self) -> bool {
        self.modern
    }

    fn log_level(&self) -> Option<&str> {
        self.log_level.as_deref()
    }

    fn ask<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let request: ServerRequest = serde_json::from_value(json!({ "method": method, "params": params }))
                .map_err(|error| ToolError::internal(format!("{method} cannot be asked like this: {error}")))?;
            let answer = self.peer.send_request(request).await.map_err(|error| refused(method, &error))?;
            serde_json::to_value(answer).map_err(|error| ToolError::internal(format!("answer to {method}: {error}")))
        })
    }

    fn log<'a>(&'a self, severity: &'a str, logger: &'a str, data: Value) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if !self.log_level().is_some_and(|least| reaches(severity, least)) {
                return;
            }
            let params = json!({ "level": severity, "logger": logger, "data": data });
            let message = json!({ "method": "notifications/message", "params": params });
            match serde_json::from_value::<ServerNotification>(message) {
                Ok(notification) => drop(self.peer.send_notification(notification).await),
                Err(error) => tracing::error!(severity, logger, %error, "a log message does not fit MCP"),
            }
        })
    }

    fn announce(&self, change: ListChange) -> BoxFuture<'_, ()> {
        Box::pin(self.server.listeners.announce(change))
    }

    fn takes_tasks(&self) -> bool {
        self.server.provider.tasks().is_some() && !self.capabilities["extensions"][TASKS_EXTENSION_ID].is_null()
    }

    fn start_task(&self, work: Work) -> Result<Value, ToolError> {
        match self.server.provider.tasks() {
            Some(tasks) if self.takes_tasks() => tasks.start(&self.caller, work),
            _ => Err(ToolError::missing("this needs tasks, and the client or this server has none")
                .hint("declare the extension io.modelcontextprotocol/tasks with the request")),
        }
    }
}

/// Whether `severity` is at least `least`; false for words unknown to MCP.
fn reaches(severity: &str, least: &str) -> bool {
    matches!((rank(severity), rank(least)), (Some(severity), Some(least)) if severity >= least)
}

fn refused(method: &str, error: &ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(refusal) => {
            ToolError::new(ErrorCode::CapabilityMissing, format!("the client refused {method}: {}", refusal.message))
        }
        other => ToolError::unavailable(format!("the client did not answer {method}: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_hears_of_what_is_at_least_as_severe_as_it_asked_for() {
        assert!(reaches("error", "warning") && reaches("info", "info") && reaches("emergency", "debug"));
        assert!(!reaches("info", "warning") && !reaches("loud", "debug") && !reaches("error", "loud"));
    }
}
