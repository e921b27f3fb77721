//! The way from the server to what does the calls.

use super::{call::RouterCall, service::RouterService};
use base::error::ToolError;
use serde_json::Value;
use std::sync::Arc;

/// The way to the routers' process.
#[derive(Clone)]
pub enum RouterosLink {
    /// On a simulated board, and in tests.
    InProcess(Arc<RouterService>),
}

impl RouterosLink {
    /// # Errors
    /// See [`RouterService::call`].
    pub async fn call(&self, call: RouterCall) -> Result<Value, ToolError> {
        match self {
            Self::InProcess(service) => service.call(call).await,
        }
    }

    /// # Errors
    /// See [`RouterService::subject`].
    pub async fn subject(&self, call: &RouterCall) -> Result<Value, ToolError> {
        match self {
            Self::InProcess(service) => service.subject(call).await,
        }
    }

    /// The ids of the configured routers.
    pub fn devices(&self) -> Vec<String> {
        match self {
            Self::InProcess(service) => service.routers.all().map(|router| router.id().to_owned()).collect(),
        }
    }
}
