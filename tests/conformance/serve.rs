//! `raspi-mcp serve` with what the official conformance suite looks for: `conformance serve --http 127.0.0.1:0`. For `ci/parts/conformance`.

#[cfg(not(schemas_from_types))]
compile_error!("a release carries the schemas of the product's tools only: build this program without --release");

mod fixtures;

use clap::{Parser, Subcommand};
use raspi_mcp::cli::{
    serve::{self, ServerOffer},
    sources,
};
use std::{process::ExitCode, sync::Arc};

/// Serves the tools, resources and prompts that the MCP conformance suite looks for, beside the product's tools.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    sources: sources::Args,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// As raspi-mcp serve, on loopback addresses only
    Serve(serve::Args),
}

fn main() -> ExitCode {
    let Cli { sources, command: Command::Serve(args) } = Cli::parse();
    let provider = Arc::new(fixtures::Fixtures::default());
    let offer = ServerOffer { registry: fixtures::registry(), provider, check: fixtures::stay_local, prepare: None };
    let served = match sources.gather(&offer.registry, args.flags()) {
        Ok(sources) => serve::serve(&args, sources, offer),
        Err(failure) => Err(failure),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("conformance: {}", failure.message);
            failure.exit.into()
        }
    }
}
