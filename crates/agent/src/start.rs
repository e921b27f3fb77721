//! Starts the agent: as a separate process, or inside the server on a simulated board.

use super::{
    client::Client,
    context::Agent,
    doors,
    link::AgentLink,
    platform::Platform,
    server::{bind, serve, serve_all},
    settings::AgentSettings,
};
use base::error::{ErrorCode, ToolError};
use hw::board::Board;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Serves the agent's socket until `stop`. `ready` is called once peers can connect.
///
/// # Errors
/// `conflict` when another agent has the folder or the socket; `unavailable` when either cannot be used.
pub async fn run(
    settings: AgentSettings,
    board: &Board,
    stop: CancellationToken,
    ready: impl FnOnce(),
) -> Result<(), ToolError> {
    // On a simulated board only the agent's own user connects, unless the server is installed with a user of its own.
    let (path, open) = (settings.socket.clone(), !settings.simulated || settings.serves_another_user());
    let platform = Platform::of(&settings, board);
    if !settings.simulated && settings.server_uid.is_none() {
        tracing::warn!(target: "agent", "{}", settings.without_server());
    }
    let agent = Agent::start(settings, platform)?;
    if agent.settings.exec.is_on() || !agent.settings.agents.is_empty() {
        agent.runner.sweep().await;
    }
    let mut listeners = vec![bind(&path, open)?];
    // Where only this user connects, nobody else fills the queue.
    let doors = if open { doors::of(&agent.settings) } else { Vec::new() };
    listeners.extend(base::os::doors::open_all(&path, &doors));
    ready();
    // Not on a simulated machine, where they would be the host's connections.
    let keeping = (!agent.settings.simulated).then(|| {
        let agent = Arc::clone(&agent);
        base::task::spawn(async move { agent.keep_connections().await })
    });
    serve_all(listeners, agent, stop).await;
    keeping.iter().for_each(tokio::task::JoinHandle::abort);
    // Only tidies up: the next agent would replace a stale socket anyway.
    let _ = std::fs::remove_file(&path);
    base::os::doors::close(&path, &doors);
    Ok(())
}

/// Starts an agent in this process, on its board, with its socket served so that `raspi-mcp approve` reaches it. Must
/// be called inside the runtime.
///
/// If another process is this folder's agent already, the link goes to its socket. On any other error the server still
/// runs: the link then reports why there is no agent.
pub fn in_process(settings: AgentSettings, board: &Board, stop: CancellationToken) -> AgentLink {
    if !settings.simulated {
        return AgentLink::Offline(
            ToolError::precondition("the agent runs inside the server only before a simulated board")
                .hint("start it as a service of its own: systemctl start raspi-mcp-agent"),
        );
    }
    let path = settings.socket.clone();
    let platform = Platform::of(&settings, board);
    let agent = match Agent::start(settings, platform) {
        Ok(agent) => agent,
        Err(error) if error.code == ErrorCode::Conflict => return AgentLink::Socket(Client::new(&path)),
        Err(error) => {
            tracing::error!(target: "agent", %error, "no agent in this process");
            return AgentLink::Offline(error);
        }
    };
    match bind(&path, false) {
        Ok(listener) => drop(base::task::spawn(serve(listener, Arc::clone(&agent), stop))),
        // The agent still works, but no person can answer: asks will expire.
        Err(error) => tracing::error!(target: "agent", %error, "approvals cannot be answered"),
    }
    AgentLink::InProcess(agent)
}
