//! `raspi-mcp fleet connect`: a local port that leads to a device's own listener.

use super::connected;
use crate::{
    cli::{
        exit::{Exit, Failure},
        runtime,
        say::{errln, outln},
    },
    fleet::local_port::LocalPort,
};
use std::{net::SocketAddr, path::PathBuf, sync::Arc};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The device
    name: String,
    /// The port to open, on this computer only; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let console = connected(&args.dir).await?;
        let pin = console.folder.device(&args.name)?.pin.clone();
        let port = LocalPort::bind(args.listen).await?;
        let url = format!("https://{}", port.address()?);
        outln!("{} is at {url}, until this command is interrupted", args.name);
        if let Some(pin) = pin {
            outln!("raspi-mcp call system.get_basic_info --url {url} --pin {pin} --token-file FILE");
        }
        let name = args.name.clone();
        let ended = port.serve(Arc::new(console), name, |error| errln!("{}", error.advice())).await;
        Err(Failure::new(Exit::Failed, format!("the port ended: {ended}")))
    })
}
