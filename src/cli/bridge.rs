//! `raspi-mcp bridge`

use super::{exit::Failure, target::pin};
use crate::{bridge, client::Remote, error::ToolError, tls::Fingerprint, transport::stdio};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The server's address, e.g. https://pi.local:8765/mcp
    #[arg(long)]
    url: String,
    /// The server's certificate, by its fingerprint (sha256:...); without it, an authority this machine trusts must vouch for it
    #[arg(long, value_name = "PIN", value_parser = pin)]
    pin: Option<Fingerprint>,
    /// A file that holds the bearer token; without it, the variable RASPI_MCP_TOKEN
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
