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

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<server_status::GetServerStatus>(),
    Entry::of::<capabilities::GetCapabilities>(),
    Entry::of::<check_for_updates::CheckForUpdates>(),
    Entry::of::<update_server::UpdateServer>(),
    Entry::of::<get_update_status::GetUpdateStatus>(),
    Entry::of::<preview_os_updates::PreviewOsUpdates>(),
    Entry::of::<apply_os_updates::ApplyOsUpdates>(),
    Entry::of::<rollback::Rollback>(),
    Entry::of::<mark_good::MarkGood>(),
];
