//! `[places]`: the paths that must be the same for server and agent. The server reads them from one more source than
//! the agent, the environment.

use crate::config::{declare::section, key::InState, kind::SettingKind};
use std::path::PathBuf;

section! {
    /// Folders and sockets, as full paths.
    [places] pub struct PlaceSettings given places {
        /// Persistent data of the server: samples, audit log, its own fragments.
        state_dir: PathBuf = places.state_dir.clone(), SettingKind::Folder, InState::Never;
        /// The server's socket, and files that may be lost at a restart.
        runtime_dir: PathBuf = places.runtime_dir.clone(), SettingKind::Folder, InState::Never;
        /// Persistent data of the agent.
        agent_state_dir: PathBuf = places.agent_state_dir.clone(), SettingKind::Folder, InState::Never;
        /// The socket on which the agent listens.
        agent_socket: PathBuf = places.agent_socket.clone(), SettingKind::SocketPath, InState::Never;
    }
}

impl PlaceSettings {
    /// The differences between these places, of the server, and the agent's: one sentence per key.
    pub fn differences(&self, agent: &Self) -> Vec<String> {
        let keys = [
            ("state_dir", &self.state_dir, &agent.state_dir),
            ("runtime_dir", &self.runtime_dir, &agent.runtime_dir),
            ("agent_state_dir", &self.agent_state_dir, &agent.agent_state_dir),
            ("agent_socket", &self.agent_socket, &agent.agent_socket),
        ];
        let differ = keys.into_iter().filter(|(_, ours, theirs)| ours != theirs);
        let told = differ.map(|(key, ours, theirs)| {
            format!("places.{key} is {} for the server and {} for the agent", ours.display(), theirs.display())
        });
        told.collect()
    }
}

/// The advice for [`PlaceSettings::differences`].
pub const SAME_PLACES: &str = "set places in the image or in /etc/raspi-mcp, which both halves read, or give both the same \
                               --config and --set; then restart both";
