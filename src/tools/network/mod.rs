//! `network.*`: connectivity, connection profiles, and changes that revert by themselves.

mod activate_connection;
mod change;
mod confirm_connection;
mod list_connections;
mod ping;
mod status;
mod target;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[
    Row::of::<status::GetStatus>(),
    Row::of::<list_connections::ListConnections>(),
    Row::of::<ping::Ping>(),
    Row::of::<activate_connection::ActivateConnection>(),
    Row::of::<confirm_connection::ConfirmConnection>(),
];
