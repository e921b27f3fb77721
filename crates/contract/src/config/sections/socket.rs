//! `[socket]`: the unix socket of the server.

use crate::config::{
    declare::section,
    key::InState,
    kind::{SettingKind, count},
};
use std::path::PathBuf;

section! {
    /// The Unix socket. Callers are identified by their user and group.
    [socket] pub struct Socket given places {
        /// Whether to listen on the Unix socket.
        enabled: bool = true, SettingKind::Bool, InState::Off;
        /// Path of the socket. By default `mcp.sock` in `places.runtime_dir`.
        path: PathBuf = places.runtime_dir.join("mcp.sock"), SettingKind::SocketPath, InState::Never;
        /// Maximum number of connections; one caller can have half of them.
        max_connections: usize = 32, count(1, 1024), InState::Lower;
    }
}
