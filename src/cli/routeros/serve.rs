//! `raspi-mcp routeros serve`: the process that talks to the routers.

use crate::{
    cli::exit::{Exit, Failure},
    daemon, log,
    routeros::{
        configured::{self, Passwords},
        link, serve,
    },
};
use agent::{
    AgentLink, Client,
    operations::routeros::{ListRouters, RouterList},
};
use base::os::{Root, groups, ioctl, notify::ServiceManager};
use contract::config::{Places, ROUTERS_USER, SERVER_USER, Settings};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub struct Args {
    /// Listen on this Unix socket; default: /run/raspi-mcp-routeros/routeros.sock
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Keep plans and snapshots in this folder; default: /var/lib/raspi-mcp-routeros
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The agent's socket; default: the machine's
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    ioctl::limit_allocator();
    // It reads no configuration: parts of it are for the server's user alone. The agent tells it the routers.
    let places = Places::detect()?;
    let settings = Settings::default_for(&places).places;
    let socket = args.socket.clone().unwrap_or_else(|| link::socket(&settings));
    let folder = args.folder.clone().unwrap_or_else(|| settings.state_dir.with_file_name("raspi-mcp-routeros"));
    let agent = AgentLink::Socket(Client::new(args.agent.as_ref().unwrap_or(&settings.agent_socket)));
    let settings = Settings::default_for(&places);
    log::start(&settings, &log::Ring::new(1)).map_err(|why| Failure::new(Exit::Config, why))?;
    super::super::runtime()?.block_on(async {
        let (told, manager) = (daemon::told_to_stop(), ServiceManager::of_process());
        let RouterList { environment, routers } = agent.get::<ListRouters>().await?;
        if routers.is_empty() {
            tracing::info!("no routers are configured; there is nothing to do");
            manager.ready("no routers");
            return Ok(());
        }
        let service = configured::service(&routers, environment, &Passwords::of_process(), folder, agent)
            .map_err(|error| Failure::new(Exit::Config, error.advice()))?;
        let failed = |error| Failure::new(Exit::Failed, format!("cannot listen on {}: {error}", socket.display()));
        let listener = serve::bind(&socket).map_err(failed)?;
        let stop = CancellationToken::new();
        let mut serving = base::task::spawn(serve::serve(listener, service, served_uid(), stop.clone()));
        tracing::info!(routers = routers.len(), "listening on {}", socket.display());
        manager.ready(&format!("{} routers", routers.len()));
        tokio::select! {
            () = told => {
                manager.stopping("finishing the calls in flight");
                stop.cancel();
                let _ = serving.await;
            }
            _ = &mut serving => {}
        }
        let _ = std::fs::remove_file(&socket);
        Ok(())
    })
}

/// Who may connect: on an installed system the server's user, elsewhere the user of this process.
fn served_uid() -> u32 {
    let (root, own) = (Root::system(), rustix::process::getuid().as_raw());
    let is_installed = groups::user_name(&root, own).is_some_and(|name| name == ROUTERS_USER);
    groups::user_id(&root, SERVER_USER).filter(|_| is_installed).unwrap_or(own)
}
