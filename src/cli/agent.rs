//! `raspi-mcp agent`

use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::{daemon, log, owner, process_setup, registry::Registry};
use agent::{self, AgentSettings};
use base::{
    error::ToolError,
    os::{Root, ioctl, notify::ServiceManager},
};
use contract::config::{self, Reload, Sources};
use hw::board::Board;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    ioctl::limit_allocator();
    // Image, /etc and the agent's own folder: nothing that the server can write, and not the environment.
    let sources = sources.gather(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let settings = config::load_agent(&sources)?;
    let board = process_setup::board(&settings, &Root::system()).map_err(|why| Failure::new(Exit::Config, why))?;
    let simulated = board.is_simulated();
    if !simulated && !rustix::process::geteuid().is_root() {
        return Err(Failure::new(
            Exit::Config,
            "the agent acts on this machine and has to run as root\n  start it as a service: systemctl start \
             raspi-mcp-agent; or set board = \"simulated\" to try things out",
        ));
    }
    log::start(&settings, &log::Ring::new(settings.log.ring_lines)).map_err(|why| Failure::new(Exit::Config, why))?;
    for reason in &settings.restricted {
        tracing::error!(
            reason,
            "part of the agent's configuration was set aside: it refuses what changes the machine, but for updates if only sections were"
        );
    }
    for (variable, _) in &sources.env {
        match config::place_of(variable) {
            Some(key) => tracing::error!(
                hint = config::SAME_PLACES,
                "{variable} is not read: the agent takes no setting from the environment, so {key} may be another one for the server"
            ),
            None => tracing::warn!(
                "{variable} is not read: the agent takes no setting from the environment; set it in /etc/raspi-mcp"
            ),
        }
    }
    let reload = Reload::of(Sources { env: Vec::new(), ..sources }, config::load_agent);
    let settings =
        AgentSettings { site: owner::site(&reload), reload, ..AgentSettings::of(&settings, simulated, Root::system()) };
    let (runtime, manager) = (super::runtime()?, ServiceManager::of_process());
    runtime.block_on(async {
        // On the thread that does all the work: if it hangs, the watchdog notifications stop.
        tokio::select! {
            served = serve(settings, &board, &manager) => served,
            never = manager.watchdog() => match never {},
        }
    })?;
    Ok(())
}

/// Serves until this process receives a signal to stop.
async fn serve(settings: AgentSettings, board: &Board, manager: &ServiceManager) -> Result<(), ToolError> {
    let (stop, told) = (CancellationToken::new(), daemon::told_to_stop());
    let socket = settings.socket.clone();
    let ready = || {
        tracing::info!("agent listening on {}", socket.display());
        manager.ready(&format!("listening on {}", socket.display()));
    };
    let serve = agent::run(settings, board, stop.clone(), ready);
    tokio::pin!(serve);
    tokio::select! {
        done = &mut serve => return done,
        () = told => {
            manager.stopping("closing");
            stop.cancel();
        }
    }
    serve.await
}
