//! `network.*`: connectivity, connection profiles, and changes that revert by themselves.

mod activate_connection;
mod change;
mod confirm_connection;
mod list_connections;
mod ping;
mod status;
mod target;

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<status::GetStatus>(),
    ToolRow::of::<list_connections::ListConnections>(),
    ToolRow::of::<ping::Ping>(),
    ToolRow::of::<activate_connection::ActivateConnection>(),
    ToolRow::of::<confirm_connection::ConfirmConnection>(),
];
