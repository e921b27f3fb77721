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
            let pin = console.folder.pin(&args.name)?;
            let stream = tunnel::open(&console.broker, &console.subjects, &args.name).await?;
            Ok(call_over(stream, pin, Some(token), tool, &arguments).await?)
        })
    })
}
