//! The protocol: bytes to frames, frames to messages, messages to calls. The only folder that names rmcp types.

pub mod bare_list;
pub mod batch;
pub mod connection;
pub mod envelope;
pub mod frame;
pub mod listing;
pub mod mcp;
pub mod modern;
pub mod outbox;
pub mod params;
pub mod quote;
pub mod reply;
pub mod router;
pub mod running;
pub mod session;
pub mod soon;
mod subscribe;
pub mod ticket;
