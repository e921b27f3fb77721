//! Bringing the agent up: as a process of its own, or inside the server before a simulated board.

use super::{
    client::Client,
    context::Agent,
    link::AgentLink,
    platform::Platform,
    server::{bind, serve},
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
    // Before a simulated board its own user is enough, unless the server is installed with one of its own.
    let (path, open) = (settings.socket.clone(), !settings.simulated || settings.serves_another_user());
    let platform = Platform::of(&settings, board);
    let agent = Agent::start(settings, platform)?;
    if agent.settings.exec.is_on() {
        agent.runner.sweep().await;
    }
    let listener = bind(&path, open)?;
    ready();
    // The connections of a simulated machine's host are nobody's business.
    let keeping = (!agent.settings.simulated).then(|| {
        let agent = Arc::clone(&agent);
        base::task::spawn(async move { agent.keep_connections().await })
    });
    serve(listener, agent, stop).await;
    keeping.iter().for_each(tokio::task::JoinHandle::abort);
    // The next agent would take the file for a socket that nobody answers, and does; this only tidies up.
    let _ = std::fs::remove_file(&path);
    Ok(())
}

/// An agent in this process and on its board, with its socket served so that `raspi-mcp approve` reaches it. Must be called inside the
/// runtime.
///
/// Where another process already is this folder's agent, the link goes to that one's socket. Whatever goes wrong, the
/// server runs on: the link then says why it has no agent.
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
        // Still an agent, but one that no person can answer: those who ask will see their asks expire.
        Err(error) => tracing::error!(target: "agent", %error, "approvals cannot be answered"),
    }
    AgentLink::InProcess(agent)
}
