//! `[socket]`: the unix socket of the server.

use crate::config::{
    declare::section,
    key::InState,
    kind::{SettingKind, count},
};
use std::path::PathBuf;

section! {
    /// The unix socket; callers are known by their user and group.
    [socket] pub struct Socket given places {
        /// Whether to listen on the unix socket.
        enabled: bool = true, SettingKind::Bool, InState::Off;
        /// Where it is. By default `mcp.sock` in `places.runtime_dir`.
        path: PathBuf = places.runtime_dir.join("mcp.sock"), SettingKind::SocketPath, InState::Never;
        /// Connections at once, half of them for one caller.
        max_connections: usize = 32, count(1, 1024), InState::Lower;
    }
}
