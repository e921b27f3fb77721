//! `raspi-mcp serve`

use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::{
    config::Flag,
    daemon::{self, Serve},
    log,
    registry::{Registry, meta::Role},
};

#[derive(clap::Args)]
pub struct Args {
    /// Serve the client that started this over standard input and output, and nobody else
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Listen for HTTP here instead of 127.0.0.1:8765; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// What callers on this machine may do: read_only (default), ops_rw or admin. For your own PC
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Option<Role>,
    /// Add the tools, resources and prompts that the MCP conformance suite looks for. Never on a real device
    #[cfg(feature = "conformance-fixtures")]
    #[arg(long)]
    conformance: bool,
}

pub fn role(text: &str) -> Result<Role, String> {
    serde_json::from_value(text.into()).map_err(|_| "one of read_only, ops_rw, admin".into())
}

impl Args {
    fn registry(&self) -> Registry {
        #[cfg(feature = "conformance-fixtures")]
        if self.conformance {
            return Registry::with_fixtures();
        }
        Registry::standard()
    }
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let registry = args.registry();
    let flags = args.http.iter().map(|address| Flag {
        key: "http.listen".into(),
        value: address.clone(),
        flag: "--http".into(),
    });
    let mut settings = sources.settings(&registry, flags.collect())?;
    daemon::grant(&mut settings, args.role);
    let ring = log::Ring::new(settings.log.ring_lines);
    log::start(&settings, &ring).map_err(|why| Failure::new(Exit::Config, why))?;
    for reason in &settings.restricted {
        tracing::error!(reason, "part of the configuration was set aside: only the fundamental tier runs");
    }
    // One thread: calls are short, and a Pi's memory is worth more than its second core here.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start: {error}")))?;
    runtime
        .block_on(daemon::serve(Serve { settings, registry, stdio: args.stdio, log: ring }))
        .map_err(|why| Failure::new(Exit::Failed, why))
}
