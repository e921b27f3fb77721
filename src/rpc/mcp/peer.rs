//! The client's end of a conversation, for tools and approvals that ask it something.

use crate::{
    error::{ErrorCode, ToolError},
    registry::context::Peer as Port,
};
use futures::future::BoxFuture;
use rmcp::{
    Peer, RoleServer,
    model::{ServerNotification, ServerRequest},
    service::ServiceError,
};
use serde_json::{Value, json};

/// rmcp's peer behind our port.
pub struct RmcpPeer {
    pub peer: Peer<RoleServer>,
    pub capabilities: Value,
    pub input_responses: Option<Value>,
    pub request_state: Option<String>,
    pub log_level: Option<Value>,
}

impl Port for RmcpPeer {
    fn client_name(&self) -> Option<String> {
        self.peer.peer_info().map(|info| info.client_info.name.clone())
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

    fn log_level(&self) -> Option<&str> {
        self.log_level.as_ref()?.as_str()
    }

    fn ask<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let request: ServerRequest = serde_json::from_value(json!({ "method": method, "params": params }))
                .map_err(|error| ToolError::internal(format!("{method} cannot be asked like this: {error}")))?;
            let answer = self.peer.send_request(request).await.map_err(|error| refused(method, &error))?;
            serde_json::to_value(answer).map_err(|error| ToolError::internal(format!("answer to {method}: {error}")))
        })
    }

    fn tell<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match serde_json::from_value::<ServerNotification>(json!({ "method": method, "params": params })) {
                Ok(notification) => drop(self.peer.send_notification(notification).await),
                Err(error) => tracing::error!(method, %error, "a notification of ours does not fit its method"),
            }
        })
    }
}

fn refused(method: &str, error: &ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(refusal) => {
            ToolError::new(ErrorCode::CapabilityMissing, format!("the client refused {method}: {}", refusal.message))
        }
        other => ToolError::unavailable(format!("the client did not answer {method}: {other}")),
    }
}
