//! Which machine this is, and where its privileged half lives: a process of its own, or, before a simulated board, here.

use crate::{
    agent::{self, AgentLink, AgentSettings},
    config::{AgentChoice, BoardChoice, Settings},
    hw::board::{Board, Choice},
    os::Root,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

impl From<BoardChoice> for Choice {
    fn from(choice: BoardChoice) -> Self {
        match choice {
            BoardChoice::Auto => Self::Auto,
            BoardChoice::RaspberryPi => Self::RaspberryPi,
            BoardChoice::Linux => Self::Linux,
            BoardChoice::Simulated => Self::Simulated,
        }
    }
}

/// Whether the board is a simulated one.
///
/// # Errors
/// When the configuration names a board that this machine is not.
pub fn is_simulated(settings: &Settings) -> Result<bool, String> {
    let board = Board::detect(settings.board.into(), &Root::system()).map_err(|conflict| conflict.to_string())?;
    Ok(board.is_simulated())
}

/// The way to the privileged half. In process, its own socket is opened too, so that `raspi-mcp approve` reaches it.
///
/// # Errors
/// When both halves are to share a process before a real board.
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
    Ok(agent::in_process(AgentSettings::of(settings, true, Root::system()), tasks, stop))
}
