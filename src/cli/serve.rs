//! `raspi-mcp serve`

use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::{
    daemon::{self, Prepare, Serve},
    log,
    registry::Registry,
    rpc::mcp::{appliance::Appliance, provider::Provider},
};
use base::os::{ioctl, notify::ServiceManager};
use contract::{
    config::{self, CliFlag, NewsKind, Reload, Settings, Sources, Webhook},
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

impl Args {
    /// The settings that these options set.
    pub fn flags(&self) -> Vec<CliFlag> {
        let listen =
            |address: &String| CliFlag { key: "http.listen".into(), value: address.clone(), flag: "--http".into() };
        self.http.iter().map(listen).collect()
    }
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
    /// Prepares the server before anything listens.
    pub prepare: Option<Prepare>,
}

impl ServerOffer {
    /// The offer of the product, with any settings.
    fn standard() -> Self {
        Self {
            registry: Registry::new(crate::tools::NAMESPACES),
            provider: Arc::new(Appliance::default()),
            check: |_| Ok(()),
            prepare: None,
        }
    }
}

/// How long blocking work may take after everything else has ended, such as syncing a file to a slow card.
const STUCK: Duration = Duration::from_secs(2);

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let offer = ServerOffer::standard();
    let sources = sources.gather(&offer.registry, args.flags())?;
    serve(&args, sources, offer)
}

/// Serves until the process is told to stop.
///
/// # Errors
/// [`Exit::Config`] for settings that are wrong or that `check` refuses, [`Exit::Failed`] if the server cannot start or
/// fails at its end.
pub fn serve(args: &Args, sources: Sources, offer: ServerOffer) -> Result<(), Failure> {
    ioctl::limit_allocator();
    let ServerOffer { registry, provider, check, prepare } = offer;
    let mut settings = config::load(&sources)?;
    check(&settings)?;
    daemon::grant(&mut settings, args.role);
    let ring = log::Ring::new(settings.log.ring_lines);
    log::start(&settings, &ring).map_err(|why| Failure::new(Exit::Config, why))?;
    for reason in &settings.restricted {
        tracing::error!(
            reason,
            "part of the configuration was set aside: only the fundamental tier runs, and updates if only sections were"
        );
    }
    let of_fleet = |kind: &NewsKind| matches!(kind, NewsKind::DeviceSilent | NewsKind::DeviceTwins);
    let wants = |webhook: &Webhook| webhook.events.iter().flatten().any(of_fleet);
    if prepare.is_none() && settings.notifications.webhooks.iter().any(wants) {
        tracing::warn!(
            "device_silent and device_twins are told by `raspi-mcp fleet serve`, and never by a device's own server"
        );
    }
    if prepare.is_none() && settings.tools.enable.contains("fleet") {
        tracing::warn!("tools.enable has \"fleet\": those tools are of `raspi-mcp fleet serve`, and of no device");
    }
    let reload = Reload::of(sources, config::load);
    let serve = Serve { settings, registry, stdio: args.stdio, log: ring, reload, provider, prepare };
    let runtime = super::runtime()?;
    let ended = runtime.block_on(daemon::serve(serve, ServiceManager::of_process()));
    // Otherwise a thread that hangs in a driver would keep the process alive.
    runtime.shutdown_timeout(STUCK);
    ended.map_err(|why| Failure::new(Exit::Failed, why))
}
