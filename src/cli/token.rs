//! `raspi-mcp token`

use super::exit::{Exit, Failure};
use super::say::outln;
use crate::{access::token, registry::meta::Role};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make a token, print it once, and print the lines that make a server accept it
    New {
        /// Who or what will use it, e.g. laptop
        #[arg(long)]
        name: String,
        /// read_only, ops_rw or admin
        #[arg(long, value_parser = super::serve::role)]
        role: Role,
        /// When it stops working, e.g. 2027-01-01T00:00:00Z; never, unless told
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
}

pub fn run(args: Args) -> Result<(), Failure> {
    let Command::New { name, role, expires } = args.command;
    let expires = expires.map(|text| OffsetDateTime::parse(&text, &Rfc3339)).transpose().map_err(|error| {
        Failure::new(Exit::Usage, format!("--expires: {error}; write it like 2027-01-01T00:00:00Z"))
    })?;
    outln!("{}", token::run_new(&name, role, expires)?.trim_end());
    Ok(())
}
