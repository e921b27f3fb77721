//! `raspi-mcp bridge`

use super::{exit::Failure, target::pin};
use crate::{bridge, client::Remote, transport::stdio};
use appliance::certificate::Fingerprint;
use base::error::ToolError;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The server's address, e.g. https://pi.local:8765/mcp
    #[arg(long)]
    url: String,
    /// The fingerprint of the server's certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts
    #[arg(long, value_name = "PIN", value_parser = pin)]
    pin: Option<Fingerprint>,
    /// A file that contains the bearer token; default: the variable RASPI_MCP_TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let remote = Remote::new(&args.url, "/mcp", args.pin, args.token_file)?;
    super::runtime()?.block_on(async {
        let (reader, writer) = stdio::ends()
            .map_err(|error| ToolError::unavailable(format!("standard input or output cannot be used: {error}")))?;
        Ok(bridge::run(remote, reader, writer).await?)
    })
}
