//! `raspi-mcp serve`

use super::{
    exit::{Exit, Failure},
    sources,
};
#[cfg(feature = "conformance-fixtures")]
use crate::config::Settings;
use crate::{
    config::{self, Flag, Reload},
    daemon::{self, Serve},
    log,
    os::{ioctl, notify::Manager},
    registry::{Registry, meta::Role},
    rpc::mcp::{appliance::Appliance, provider::Provider},
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
    /// The role of callers on this machine: read_only (default), ops_rw or admin. For your own PC
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Option<Role>,
    /// Add the tools, resources and prompts that the MCP conformance suite needs. Never use it on a real device
    #[cfg(feature = "conformance-fixtures")]
    #[arg(long)]
    conformance: bool,
}

pub fn role(text: &str) -> Result<Role, String> {
    serde_json::from_value(text.into()).map_err(|_| "one of read_only, ops_rw, admin".into())
}

impl Args {
    /// The tools, and what of MCP there is beside them.
    fn offer(&self) -> (Registry, Arc<dyn Provider>) {
        #[cfg(feature = "conformance-fixtures")]
        if self.conformance {
            return (Registry::with_fixtures(), Arc::new(crate::rpc::mcp::fixtures::Fixtures::default()));
        }
        (Registry::standard(), Arc::new(Appliance::default()))
    }

    /// Fixtures ask and tell anybody anything: they are for a suite on this very machine.
    #[cfg(feature = "conformance-fixtures")]
    fn stay_local(&self, settings: &Settings) -> Result<(), Failure> {
        let listen = settings.http.listen;
        if self.conformance && settings.http.enabled && !crate::config::is_loopback(listen.ip()) {
            let why = format!(
                "--conformance serves this machine only, and {listen} is not a loopback address; \
                 listen on 127.0.0.1, or leave --conformance out"
            );
            return Err(Failure::new(Exit::Config, why));
        }
        Ok(())
    }
}

/// What blocks when everything else has ended may take so long: a file that is synced to a slow card.
const STUCK: Duration = Duration::from_secs(2);

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    ioctl::give_large_buffers_back();
    let (registry, provider) = args.offer();
    let flags = args.http.iter().map(|address| Flag {
        key: "http.listen".into(),
        value: address.clone(),
        flag: "--http".into(),
    });
    let sources = sources.gather(&registry, flags.collect())?;
    let mut settings = config::load(&sources)?;
    #[cfg(feature = "conformance-fixtures")]
    args.stay_local(&settings)?;
    daemon::grant(&mut settings, args.role);
    let ring = log::Ring::new(settings.log.ring_lines);
    log::start(&settings, &ring).map_err(|why| Failure::new(Exit::Config, why))?;
    for reason in &settings.restricted {
        tracing::error!(reason, "part of the configuration was set aside: only the fundamental tier runs");
    }
    let serve =
        Serve { settings, registry, stdio: args.stdio, log: ring, reload: Reload::of(sources, config::load), provider };
    let runtime = super::runtime()?;
    let ended = runtime.block_on(daemon::serve(serve, Manager::of_process()));
    // Without this, a thread that hangs in an adapter's driver would keep the process; it goes down with it.
    runtime.shutdown_timeout(STUCK);
    ended.map_err(|why| Failure::new(Exit::Failed, why))
}

#[cfg(all(test, feature = "conformance-fixtures"))]
mod tests {
    use super::*;
    use crate::config::Places;

    #[test]
    fn conformance_stays_on_this_machine_even_where_the_configuration_would_not() {
        let mut settings = Settings::default_for(&Places::below(std::path::Path::new("/nowhere")));
        let args = |conformance| Args { stdio: false, http: None, role: None, conformance };
        assert!(args(true).stay_local(&settings).is_ok());
        settings.http.listen = ([192, 0, 2, 1], 8765).into();
        let refusal = args(true).stay_local(&settings).unwrap_err();
        assert!(refusal.exit == Exit::Config && refusal.message.contains("loopback"), "{}", refusal.message);
        assert!(args(false).stay_local(&settings).is_ok());
    }
}
