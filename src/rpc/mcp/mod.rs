//! rmcp behind the router: all of MCP except tool calls and tool lists.

pub mod appliance;
pub mod bridge;
mod call;
pub mod conversation;
mod ear;
pub mod fault;
pub mod handler;
pub mod http;
pub mod listeners;
pub mod peer;
pub mod provider;
pub mod sessions;
pub mod tasks;
pub mod tool_list;
#[cfg(feature = "console")]
pub mod tools_only;
