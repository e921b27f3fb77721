//! `network.*`: connectivity, connection profiles, and changes that revert by themselves.

mod activate_connection;
mod change;
mod confirm_connection;
mod list_connections;
mod ping;
mod status;
mod target;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<status::GetStatus>(),
    Entry::of::<list_connections::ListConnections>(),
    Entry::of::<ping::Ping>(),
    Entry::of::<activate_connection::ActivateConnection>(),
    Entry::of::<confirm_connection::ConfirmConnection>(),
];
