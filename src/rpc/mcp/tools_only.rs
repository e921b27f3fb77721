//! A server that offers tools, and nothing else of MCP.

use super::provider::Provider;
use rmcp::model::ServerCapabilities;

/// Tools alone, with their own introduction.
pub struct ToolsOnly {
    /// What a model is told about this server.
    pub instructions: &'static str,
}

impl Provider for ToolsOnly {
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build()
    }

    fn instructions(&self) -> &'static str {
        self.instructions
    }
}
