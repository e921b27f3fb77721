//! `network.*`: connectivity, connection profiles, and changes that revert by themselves.

mod activate_connection;
mod add_connection;
mod change;
mod confirm_connection;
mod edit;
mod list_connections;
mod ping;
mod scan_wifi;
mod status;
mod target;
mod update_connection;

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<status::GetStatus>(),
    ToolRow::of::<list_connections::ListConnections>(),
    ToolRow::of::<scan_wifi::ScanWifi>(),
    ToolRow::of::<ping::Ping>(),
    ToolRow::of::<activate_connection::ActivateConnection>(),
    ToolRow::of::<add_connection::AddConnection>(),
    ToolRow::of::<update_connection::UpdateConnection>(),
    ToolRow::of::<confirm_connection::ConfirmConnection>(),
];
