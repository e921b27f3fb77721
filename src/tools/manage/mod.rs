//! `manage.*`: the server itself, and its updates.

mod apply_os_updates;
mod capabilities;
mod check_for_updates;
mod get_update_status;
mod mark_good;
mod preview_os_updates;
mod rollback;
mod server_status;
mod under_way;
mod update_args;
mod update_server;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[
    Row::of::<server_status::GetServerStatus>(),
    Row::of::<capabilities::GetCapabilities>(),
    Row::of::<check_for_updates::CheckForUpdates>(),
    Row::of::<update_server::UpdateServer>(),
    Row::of::<get_update_status::GetUpdateStatus>(),
    Row::of::<preview_os_updates::PreviewOsUpdates>(),
    Row::of::<apply_os_updates::ApplyOsUpdates>(),
    Row::of::<rollback::Rollback>(),
    Row::of::<mark_good::MarkGood>(),
];
