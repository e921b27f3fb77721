//! `raspi-mcp tls`

use super::say::outln;
use super::{exit::Failure, sources};
use crate::{registry::Registry, tls::shown};
use appliance::certificate::{self, Fingerprint};
use base::{
    error::ToolError,
    os::{Root, addresses},
};
use contract::config::is_loopback;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create a key and a self-signed certificate at tls.key and tls.certificate, and print the fingerprint for clients to pin
    Init {
        /// An additional name or address by which clients reach this machine; may be repeated
        #[arg(long = "name", value_name = "NAME")]
        names: Vec<String>,
        /// Replace an existing key and certificate; clients that pinned the old fingerprint need the new one
        #[arg(long)]
        replace: bool,
    },
    /// Print the fingerprint of the current certificate
    Show,
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let tls = &settings.tls;
    match args.command {
        Command::Show => {
            let chain = shown::chain(&tls.certificate).map_err(ToolError::unavailable)?;
            outln!("{}", Fingerprint::of(&chain[0]));
        }
        Command::Init { names, replace } => {
            let mut all = addresses::names(&Root::system());
            all.extend(names.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
            let made = certificate::init(tls, all, replace)?;
            outln!("certificate  {}\nkey          {}", tls.certificate.display(), tls.key.display());
            outln!("good for     {}\npin          {}\n", made.names.join(", "), made.fingerprint);
            if !tls.enabled || is_loopback(settings.http.listen.ip()) {
                outln!(
                    "To be reached from other machines, with a token from `raspi-mcp token new`:\n\n[tls]\nenabled = true\n\n\
                     [http]\nlisten = \"0.0.0.0:{}\"\n",
                    settings.http.listen.port()
                );
            }
            outln!(
                "Clients: raspi-mcp bridge --url https://{}:{}/mcp --pin {} --token-file FILE",
                made.names.iter().find(|name| name.ends_with(".local")).map_or("HOST", String::as_str),
                settings.http.listen.port(),
                made.fingerprint,
            );
        }
    }
    Ok(())
}
