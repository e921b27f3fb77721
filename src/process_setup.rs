//! Sets up the machine and the link to the agent: a process of its own or, on a simulated board, in this process.

use crate::owner;
#[cfg(feature = "routeros")]
use crate::routeros::{
    configured::{self, Passwords},
    link::{self, RouterosLink, RoutersSocket},
    serve,
};
use agent::{
    self, AgentLink, AgentSettings,
    operations::{status::GetStatus, throttled::ReadThrottled},
};
use base::os::Root;
use contract::config::{self, AgentChoice, PlaceSettings, Reload, Settings, Sources};
use futures::FutureExt;
use hw::{
    board::Board,
    firmware::{Mailbox, VCIO},
    machine::Machine,
};
use std::{io, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The board of the machine under `root`, from the configuration and the device tree.
///
/// # Errors
/// If the configuration names another board than this machine's.
pub fn board(settings: &Settings, root: &Root) -> Result<Board, String> {
    Board::detect(settings.board, root).map_err(|conflict| conflict.to_string())
}

/// This machine, with the board from the configuration and the device tree.
///
/// # Errors
/// If the configuration names another board than this machine's.
pub fn machine(settings: &Settings) -> Result<Arc<Machine>, String> {
    let root = Root::system();
    let board = board(settings, &root)?;
    // Not opened here: /dev/vcio can set tryboot and write OTP, so only the agent may use it.
    let mailbox = root.has(VCIO).then(|| {
        let agent = AgentLink::Socket(agent::Client::new(&settings.places.agent_socket));
        let ask = move || {
            let agent = agent.clone();
            async move { agent.get::<ReadThrottled>().await.map_err(|error| io::Error::other(error.into_message())) }
                .boxed()
        };
        Box::new(ask) as Mailbox
    });
    Ok(Arc::new(Machine::new(root, board, mailbox)))
}

/// The link to the agent.
///
/// # Errors
/// If both would share a process on a real board.
pub fn link(
    settings: &Settings,
    board: &Board,
    reload: &Reload,
    stop: &CancellationToken,
) -> Result<AgentLink, String> {
    let simulated = board.is_simulated();
    let in_process = match settings.agent {
        AgentChoice::Auto => simulated,
        AgentChoice::Inprocess => true,
        AgentChoice::Socket => false,
    };
    if in_process && !simulated {
        return Err("agent = \"inprocess\" would give the half that talks to the network power over a real machine; \
                    set agent = \"socket\" and start raspi-mcp agent, or board = \"simulated\""
            .into());
    }
    if !in_process {
        return Ok(AgentLink::Socket(agent::Client::new(&settings.places.agent_socket)));
    }
    let settings = AgentSettings {
        reload: reload.clone(),
        site: owner::site(reload),
        ..AgentSettings::of(settings, simulated, Root::system())
    };
    Ok(agent::in_process(settings, board, stop.clone()))
}

/// The way to the routers' process, or `None` without routers: in this process where the agent is, with its socket served so
/// that `raspi-mcp routeros test` reaches it.
///
/// # Errors
/// In this process, for a router whose password or authorities cannot be read.
#[cfg(feature = "routeros")]
pub fn routers(
    settings: &Settings,
    agent: &AgentLink,
    stop: &CancellationToken,
) -> Result<Option<RouterosLink>, String> {
    if settings.routeros.is_empty() {
        return Ok(None);
    }
    let places = &settings.places;
    if let AgentLink::InProcess(_) = agent {
        let folder = places.state_dir.join("routeros");
        let service =
            configured::service(&settings.routeros, settings.environment, &Passwords::Files, folder, agent.clone());
        let service = service.map_err(|error| error.advice())?;
        let path = link::socket(places);
        match serve::bind(&path) {
            Ok(listener) => {
                let own = rustix::process::getuid().as_raw();
                drop(base::task::spawn(serve::serve(listener, Arc::clone(&service), own, stop.clone())));
            }
            // Tools work; `raspi-mcp routeros test` does not.
            Err(error) => tracing::error!("cannot listen on {}: {error}", path.display()),
        }
        return Ok(Some(RouterosLink::InProcess(service)));
    }
    let devices = settings.routeros.iter().map(|router| router.name.clone()).collect();
    Ok(Some(RouterosLink::Socket(Arc::new(RoutersSocket { path: link::socket(places), devices }))))
}

/// Logs once, when a server with a separate agent starts, which places differ between them. An agent that does not
/// answer yet is compared later, by `manage.get_server_status` and `raspi-mcp doctor`.
pub async fn compare(agent: AgentLink, ours: PlaceSettings, stop: CancellationToken) {
    for (variable, _) in Sources::process_env() {
        if let Some(key) = config::place_of(&variable) {
            tracing::warn!(
                target: "raspi_mcp::halves",
                hint = config::SAME_PLACES,
                "the agent does not read {variable}, which sets {key} for the server alone"
            );
        }
    }
    let status = tokio::select! {
        status = agent.get::<GetStatus>() => status,
        () = stop.cancelled() => return,
    };
    for difference in status.map(|status| status.differences(&ours)).unwrap_or_default() {
        tracing::error!(target: "raspi_mcp::halves", hint = config::SAME_PLACES, "{difference}");
    }
}
