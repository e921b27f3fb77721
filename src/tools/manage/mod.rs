//! `manage.*`: the server itself, and its updates.

mod apply_os_updates;
mod capabilities;
mod check_for_updates;
mod export_settings;
mod get_update_status;
mod halt;
mod mark_good;
mod preview_os_updates;
mod rollback;
mod server_status;
mod under_way;
mod update_args;
mod update_server;

use crate::registry::row::ToolRow;
use contract::{access::caller::Caller, meta::Role};

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<server_status::GetServerStatus>(),
    ToolRow::of::<capabilities::GetCapabilities>(),
    ToolRow::of::<check_for_updates::CheckForUpdates>(),
    ToolRow::of::<update_server::UpdateServer>(),
    ToolRow::of::<get_update_status::GetUpdateStatus>(),
    ToolRow::of::<preview_os_updates::PreviewOsUpdates>(),
    ToolRow::of::<apply_os_updates::ApplyOsUpdates>(),
    ToolRow::of::<rollback::Rollback>(),
    ToolRow::of::<mark_good::MarkGood>(),
    ToolRow::of::<halt::Halt>(),
    ToolRow::of::<export_settings::ExportSettings>(),
];

/// Whether the caller sees which arguments the commands of `exec.run` may get: somebody known who may run them.
fn sees_commands(caller: &Caller) -> bool {
    caller.role >= Role::Admin && !caller.is_anonymous()
}
