//! What the agent is told at start: from the image, /etc and its own folder, never from the server's.

use super::policy::AgentPolicy;
use std::path::PathBuf;

/// Everything the agent needs to know.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The agent's own folder, out of the server's reach.
    pub state_dir: PathBuf,
    pub socket: PathBuf,
    /// The user the network half runs as; `None` when there is no such user on this machine.
    pub server_uid: Option<u32>,
    /// Members may answer asks.
    pub approver_group: String,
    /// The machine behind is a simulated one: nothing here touches the real one.
    pub simulated: bool,
    pub policy: AgentPolicy,
    /// Where the root file system is, for `/etc/passwd`, `/etc/group` and `/proc`.
    pub root: PathBuf,
}
