//! rmcp behind the router: everything of MCP that is not a tool call or a tool list.

pub mod allowed;
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
