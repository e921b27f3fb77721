//! `raspi-mcp fleet call`: calls one tool of one device, through the broker.

use super::connected;
use crate::{
    cli::{
        call::WhatToCall,
        exit::{Exit, Failure},
        runtime,
    },
    client::checked,
    fleet::{console::call::call_over, tunnel},
};
use appliance::certificate::Fingerprint;
use base::error::ToolError;
use std::{fs, path::PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The device
    name: String,
    #[command(flatten)]
    what: WhatToCall,
    /// A file with a token of this device
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let file = args.token_file.display();
    let usage = |why: String| Failure::new(Exit::Usage, format!("--token-file {file}: {why}"));
    let text = fs::read_to_string(&args.token_file).map_err(|error| usage(error.to_string()))?;
    let token = checked(&text).map_err(|why| usage(why.into()))?;
    args.what.run(|tool, arguments| {
        runtime()?.block_on(async {
            let console = connected(&args.dir).await?;
            let pin =
                console.folder.device(&args.name)?.pin.as_deref().and_then(Fingerprint::parse).ok_or_else(|| {
                    ToolError::precondition(format!("the folder has no fingerprint of {}: it has no TLS", args.name))
                        .hint("switch on tls.enabled there, and enrol it again")
                })?;
            let stream = tunnel::open(&console.broker, &console.subjects, &args.name).await?;
            Ok(call_over(stream, pin, Some(token), tool, &arguments).await?)
        })
    })
}
