//! `raspi-mcp serve`

use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::{
    daemon::{self, Serve},
    log,
    registry::Registry,
    rpc::mcp::{appliance::Appliance, provider::Provider},
};
use base::os::{ioctl, notify::ServiceManager};
use contract::{
    config::{self, CliFlag, Reload, Settings},
    meta::Role,
};
use std::{sync::Arc, time::Duration};

#[derive(clap::Args)]
pub struct Args {
    /// Serve only the client that started this process, over standard input and output
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Listen for HTTP here instead of 127.0.0.1:8765; port 0 selects a free port
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// The role of callers on this machine: read_only (default), ops_rw or admin. For use on your own PC
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Option<Role>,
}

pub fn role(text: &str) -> Result<Role, String> {
    serde_json::from_value(text.into()).map_err(|_| "one of read_only, ops_rw, admin".into())
}

/// What a server offers to its clients.
pub struct ServerOffer {
    /// The tools.
    pub registry: Registry,
    /// The part of MCP beyond tools.
    pub provider: Arc<dyn Provider>,
    /// Rejects unsuitable settings before anything listens.
    pub check: fn(&Settings) -> Result<(), Failure>,
}

impl ServerOffer {
    /// The offer of the product, with any settings.
    fn standard() -> Self {
        Self {
            registry: Registry::new(crate::tools::NAMESPACES),
            provider: Arc::new(Appliance::default()),
            check: |_| Ok(()),
        }
    }
}

/// How long blocking work may take after everything else has ended, such as syncing a file to a slow card.
const STUCK: Duration = Duration::from_secs(2);

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    serve(args, sources, ServerOffer::standard())
}

/// Serves until the process is told to stop.
///
/// # Errors
/// [`Exit::Config`] for settings that are wrong or that `check` refuses, [`Exit::Failed`] if the server cannot start or
/// fails at its end.
pub fn serve(args: Args, sources: &sources::Args, offer: ServerOffer) -> Result<(), Failure> {
    ioctl::give_large_buffers_back();
    let ServerOffer { registry, provider, check } = offer;
    let flags = args.http.iter().map(|address| CliFlag {
        key: "http.listen".into(),
        value: address.clone(),
        flag: "--http".into(),
    });
    let sources = sources.gather(&registry, flags.collect())?;
    let mut settings = config::load(&sources)?;
    check(&settings)?;
    daemon::grant(&mut settings, args.role);
    let ring = log::Ring::new(settings.log.ring_lines);
    log::start(&settings, &ring).map_err(|why| Failure::new(Exit::Config, why))?;
    for reason in &settings.restricted {
        tracing::error!(reason, "part of the configuration was set aside: only the fundamental tier runs");
    }
    let serve =
        Serve { settings, registry, stdio: args.stdio, log: ring, reload: Reload::of(sources, config::load), provider };
    let runtime = super::runtime()?;
    let ended = runtime.block_on(daemon::serve(serve, ServiceManager::of_process()));
    // Otherwise a thread that hangs in a driver would keep the process alive.
    runtime.shutdown_timeout(STUCK);
    ended.map_err(|why| Failure::new(Exit::Failed, why))
}
