//! rmcp behind the front door: everything of MCP that is not a tool call or a tool list.

pub mod bridge;
pub mod handler;
pub mod http;
pub mod peer;
pub mod sessions;
