//! `raspi-mcp fleet serve`: one MCP endpoint for all devices of a fleet.

use crate::{
    cli::{
        exit::{Exit, Failure},
        serve::{self, ServerOffer},
        sources,
    },
    daemon::Prepare,
    fleet::{
        console::FleetFolder,
        serve::{FleetNews, FleetServer, ServedFolder, SilentDevices},
    },
    fleet_port::callers::FleetCallers,
    registry::Registry,
    rpc::{mcp::tools_only::ToolsOnly, router::Server},
    tools,
};
use contract::config::{CliFlag, Places};
use std::{fs, path::PathBuf, sync::Arc};

#[derive(clap::Args)]
pub struct ServeArgs {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// A device is silent if its last status is older than this; devices report every 10 to 20 minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 45, value_parser = clap::value_parser!(i64).range(1..=525_600))]
    silent_after: i64,
    #[command(flatten)]
    serve: serve::Args,
}

const INSTRUCTIONS: &str = "Operates a fleet of machines, usually Raspberry Pis, from their owner's console. Start with \
fleet.get_summary; fleet.list_devices has each device, and fleet.call calls a tool of one: its own roles, policy and approvals \
decide. A release reaches the fleet by fleet.plan_rollout and fleet.apply_rollout, in stages that a person signed. Writes are off \
until the owner enables them. Errors carry a hint: follow it.";

/// This machine is none of the fleet: what the server needs of one is simulated and has no tool.
const FLAGS: [(&str, &str); 5] = [
    ("board", "simulated"),
    ("agent", "inprocess"),
    ("metrics.default_job", "false"),
    ("socket.enabled", "false"),
    ("http.page", "false"),
];

pub fn run(args: &ServeArgs, sources: &sources::Args) -> Result<(), Failure> {
    let failed = |error| Failure::new(Exit::Config, format!("{}: {error}", args.dir.display()));
    let dir = fs::canonicalize(&args.dir).map_err(failed)?;
    // Before anything else, so that the exit code tells.
    let (folder, callers) = (FleetFolder::read(&dir)?, FleetCallers::read(&dir)?);
    let served = ServedFolder { dir, silent_after_ms: args.silent_after * 60_000 };
    let registry = Registry::new(&[tools::fleet::TOOLS, tools::tools::TOOLS]);
    let flag =
        |(key, value): (&str, &str)| CliFlag { key: key.into(), value: value.into(), flag: "fleet serve".into() };
    let flags = FLAGS.into_iter().map(flag).chain(args.serve.flags()).collect();
    let sources = sources.gather_at(places(&served), &registry, flags);
    let offer = ServerOffer {
        registry,
        provider: Arc::new(ToolsOnly { instructions: INSTRUCTIONS }),
        check: |_| Ok(()),
        prepare: Some(prepare(served, folder, callers)),
    };
    serve::serve(&args.serve, sources, offer)
}

/// All below the folder of the fleet: a device's server on the same machine has nothing to do with it.
fn places(served: &ServedFolder) -> Places {
    let folder = served.state();
    Places {
        image_dir: folder.join("image"),
        identity_dir: folder.join("identity"),
        state_dir: folder.join("state"),
        runtime_dir: folder.join("run"),
        agent_state_dir: folder.join("agent"),
        agent_socket: folder.join("run/agent.sock"),
        policy_owner: None,
        site_dir: folder,
    }
}

/// Connects, and follows the fleet until the server stops.
fn prepare(served: ServedFolder, folder: FleetFolder, callers: FleetCallers) -> Prepare {
    Box::new(|server: Arc<Server>| {
        Box::pin(async move {
            let (tasks, stop) = (server.tasks.clone(), server.stop.clone());
            let (fleet, served) = FleetServer::start(served, folder, callers, tasks, stop.clone())
                .await
                .map_err(|error| error.advice())?;
            let services = Arc::clone(&server.pipeline.services);
            services.fleet.set(served).map_err(|_| "the fleet is served already".to_owned())?;
            let tell = move |news| match news {
                FleetNews::Silent(SilentDevices { names, count, broker_away }) => {
                    tracing::warn!(target: "fleet", devices = names.join(" "), count, "devices became silent");
                    services.notifications.devices_silent(names, count, broker_away);
                }
                FleetNews::Twins { name, what } => {
                    tracing::error!(target: "fleet", device = name, "{what}");
                    services.notifications.device_twins(name, what);
                }
            };
            base::task::spawn(stop.run_until_cancelled_owned(fleet.run(tell)));
            Ok(())
        })
    })
}
