//! `manage.*`: the server itself.

mod capabilities;
mod server_status;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] =
    &[Entry::of::<server_status::GetServerStatus>(), Entry::of::<capabilities::GetCapabilities>()];
