//! `raspi-mcp routeros`: the routers that this machine looks after, and the process that talks to them (docs/routeros.md).

mod add;
mod password;
mod serve;
mod test;

use super::{
    exit::{Exit, Failure},
    say::outln,
    sources,
};
use crate::{owner::routers, registry::Registry, terminal::printable};
use contract::config::{RouterSetting, Sources};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add a router: show its certificate, ask for the password, check that it answers. Needs root on an installed system
    Add(add::Args),
    /// List the configured routers
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that a router answers, and what its user may do there
    Test {
        /// The router's name
        name: String,
    },
    /// Remove a router and its password
    Remove {
        /// The router's name
        name: String,
    },
    /// Run the process that talks to the routers, which keeps their passwords from the server
    Serve(serve::Args),
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    match args.command {
        Command::Serve(args) => serve::run(&args),
        Command::Add(args) => add::run(args, &gathered(sources)?),
        Command::List { json: true } => {
            outln!("{}", routers::shown(&routers::all(&gathered(sources)?)?));
            Ok(())
        }
        Command::List { json: false } => {
            list(&routers::all(&gathered(sources)?)?);
            Ok(())
        }
        Command::Test { name } => {
            let sources = gathered(sources)?;
            let router = routers::find(&name, &sources)?;
            super::runtime()?.block_on(test::run(&router, &routers::socket(&sources)?))
        }
        Command::Remove { name } => {
            routers::remove(&name, &gathered(sources)?)?;
            outln!("{} is removed; it is no longer used after: {}", printable(&name), routers::RESTART);
            Ok(())
        }
    }
}

fn gathered(sources: &sources::Args) -> Result<Sources, Failure> {
    let gathered = sources.gather(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    match &gathered.file {
        None => Ok(gathered),
        Some(file) => Err(Failure::new(
            Exit::Usage,
            format!("with --config {} the configuration is one file that you write; leave it out", file.display()),
        )),
    }
}

fn list(all: &[RouterSetting]) {
    if all.is_empty() {
        outln!("no routers are configured; `raspi-mcp routeros add` adds one");
        return;
    }
    outln!("{:<20} {:<24} {:<9} {:<14} {:<22} tags", "name", "address", "env", "user", "may be changed by");
    for router in all {
        let environment = serde_json::json!(router.environment);
        let tags: Vec<String> = router.tags.iter().map(|(tag, value)| format!("{tag}={value}")).collect();
        let open = match (router.allow_advanced, router.allow_professional) {
            (false, false) => "nothing",
            (true, false) => "single changes",
            (false, true) => "plans",
            (true, true) => "single changes, plans",
        };
        let environment = environment.as_str().unwrap_or_default();
        let (name, address, user, tags) = (&router.name, &router.address, printable(&router.user), tags.join(" "));
        outln!("{name:<20} {address:<24} {environment:<9} {user:<14} {open:<22} {}", printable(&tags));
    }
}
