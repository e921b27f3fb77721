//! Which machine this is, and where its privileged half lives: a process of its own, or, before a simulated board, here.

use crate::{
    agent::{self, Agent, AgentLink, AgentPolicy, AgentSettings},
    config::{AgentChoice, Settings},
    hw::board::Board,
    machine::Machine,
    os::Root,
};
use std::{path::PathBuf, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// This machine, to be read.
///
/// # Errors
/// When the configuration names a board that this machine is not.
pub fn machine(settings: &Settings) -> Result<Machine, String> {
    let root = Root::system();
    let board = Board::detect(settings.board, &root).map_err(|conflict| conflict.to_string())?;
    tracing::info!(model = board.model, reason = board.reason, "board");
    // The mailbox is the other half's: this one has no rights on /dev/vcio beyond those of the group video.
    Ok(Machine::new(root, board, None))
}

/// The way to the privileged half. In process, its own socket is opened too, so that `raspi-mcp approve` reaches it.
///
/// # Errors
/// When both halves are to share a process before a real board, or the in-process agent cannot start.
pub fn link(
    settings: &Settings,
    simulated: bool,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<AgentLink, String> {
    let in_process = match settings.agent {
        AgentChoice::Auto => simulated,
        AgentChoice::Inprocess => true,
        AgentChoice::Socket => false,
    };
    if !in_process {
        return Ok(AgentLink::Socket(agent::Client::new(&settings.places.agent_socket)));
    }
    if !simulated {
        return Err("agent = \"inprocess\" would give the half that talks to the network power over a real machine; \
                    set agent = \"socket\" and start raspi-mcp agent, or board = \"simulated\""
            .into());
    }
    let settings = agent_settings(settings, true, None);
    let socket = settings.socket.clone();
    let world = agent::World::of(&settings);
    let agent = Agent::start(settings, world).map_err(|error| error.to_string())?;
    let listener = agent::bind(&socket, false).map_err(|error| error.to_string())?;
    tasks.spawn(agent::serve(listener, std::sync::Arc::clone(&agent), stop.clone()));
    Ok(AgentLink::InProcess(agent))
}

/// What the agent is told.
pub fn agent_settings(settings: &Settings, simulated: bool, server_uid: Option<u32>) -> AgentSettings {
    AgentSettings {
        state_dir: settings.places.agent_state_dir.clone(),
        socket: settings.places.agent_socket.clone(),
        server_uid,
        approver_group: settings.access.approver_group.clone(),
        simulated,
        policy: AgentPolicy {
            modes: settings.policy.clone(),
            namespaces: settings.tools.enable.clone(),
            disabled: settings.tools.disable.clone(),
            ask_expiry: Duration::from_secs(settings.approval.expire_seconds),
            ..AgentPolicy::default()
        },
        root: PathBuf::from("/"),
    }
}
