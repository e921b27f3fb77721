//! The command line. Each subcommand is a file; this one parses, loads the settings, and picks.

mod accept_gap;
mod agent;
mod allow;
pub mod approve;
mod audit;
mod bridge;
mod bundle;
mod call;
mod channel;
mod claim;
pub mod doctor;
pub mod exit;
mod fleet;
mod grow;
pub mod pins;
mod prepare;
mod say;
pub mod schema;
pub mod serve;
mod slot;
pub mod sources;
mod target;
mod tls;
pub mod token;
pub mod tools;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use exit::Exit;

/// Turns a Raspberry Pi into an appliance that an AI assistant can operate safely, over MCP.
///
/// Start with `raspi-mcp serve`, then `raspi-mcp call system.get_basic_info`. On a machine that is no Raspberry Pi the
/// board is simulated and every answer about it says so.
///
/// Exit codes: 0 done; 1 it failed; 2 the command line is wrong; 3 the configuration is wrong; 4 the server or the
/// agent does not answer; 5 it was refused, or waits for a person.
#[derive(Parser)]
#[command(name = "raspi-mcp", version, max_term_width = 110)]
struct Cli {
    #[command(flatten)]
    sources: sources::Args,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP: to the client that started this (--stdio), or over HTTP and a unix socket
    Serve(serve::Args),
    /// Run the privileged half, which changes the machine for the server
    Agent(agent::Args),
    /// Call one tool of a running server
    Call(call::Args),
    /// Join a client on standard input and output to a server in the network
    Bridge(bridge::Args),
    /// Draw the 40-pin header, with what each pin does now
    Pins(pins::Args),
    /// List the tools, with what the configuration says about each
    Tools(tools::Args),
    /// Print, write or check the JSON Schema files of the tools
    Schema(schema::Args),
    /// Make bearer tokens
    Token(token::Args),
    /// Make a certificate for this server, or show the one it has
    Tls(tls::Args),
    /// Make, sign and check bundles, which updates are delivered as
    Bundle(bundle::Args),
    /// Publish which release is for whom, as files for any web space
    Channel(channel::Args),
    /// Ask many devices how they are: version, slots, last update, health
    Fleet(fleet::Args),
    /// Make a machine that has no owner yet your own, by the code that it shows
    Claim(claim::Args),
    /// Open a tool, and say for whom and for what; it counts at once. On an installed system as root
    Allow(allow::Args),
    /// Close again what `raspi-mcp allow` opened
    Revoke(allow::RevokeArgs),
    /// Say yes or no to what a caller wants to do
    Approve(approve::Args),
    /// Check or show the record of all calls
    Audit(audit::Args),
    /// Show the two systems of this machine, install one, go back, or keep the new one
    Slot(slot::Args),
    /// At the start of an appliance: bring up whose machine it is, and take the owner's raspi-mcp.toml
    Prepare(prepare::Args),
    /// Give the data partition the rest of the card, on images with two slots
    Grow(grow::Args),
    /// Stand between the agent and a command it runs
    #[cfg(feature = "guard")]
    #[command(hide = true)]
    Guard,
    /// Say what is wrong or missing on this machine, and how to mend it
    Doctor(doctor::Args),
}

/// The whole command line, for those who describe it: the man page and the shells' completions in dist/.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process.
pub fn run() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    let done = match cli.command {
        Command::Serve(args) => serve::run(args, &cli.sources),
        Command::Agent(args) => agent::run(&args, &cli.sources),
        Command::Call(args) => call::run(args, &cli.sources),
        Command::Bridge(args) => bridge::run(args),
        Command::Pins(args) => pins::run(&args, &cli.sources),
        Command::Tools(args) => tools::run(&args, &cli.sources),
        Command::Schema(args) => schema::run(&args),
        Command::Token(args) => token::run(args, &cli.sources),
        Command::Tls(args) => tls::run(args, &cli.sources),
        Command::Bundle(args) => bundle::run(args),
        Command::Channel(args) => channel::run(args),
        Command::Fleet(args) => fleet::run(&args),
        Command::Claim(args) => claim::run(args, &cli.sources),
        Command::Allow(args) => allow::run(&args, &cli.sources),
        Command::Revoke(args) => allow::revoke(&args, &cli.sources),
        Command::Approve(args) => approve::run(&args, &cli.sources),
        Command::Audit(args) => audit::run(args, &cli.sources),
        Command::Slot(args) => slot::run(args, &cli.sources),
        Command::Prepare(args) => prepare::run(&args, &cli.sources),
        Command::Grow(args) => grow::run(&args),
        #[cfg(feature = "guard")]
        Command::Guard => crate::guard::run()
            .map_err(|error| exit::Failure::new(Exit::Failed, format!("the agent starts this, nobody else: {error}"))),
        Command::Doctor(args) => doctor::run(&args, &cli.sources),
    };
    match done {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            if !failure.message.is_empty() {
                say::errln!("raspi-mcp: {}", failure.message);
            }
            failure.exit.into()
        }
    }
}

/// Help and versions as clap shows them. A complaint quotes the command line: without colours, so that whatever else a
/// terminal would obey can be told from them.
fn unparsed(error: &clap::Error) -> std::process::ExitCode {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        crate::terminal::err(format_args!("{}", error.render()));
    } else {
        // A terminal that is gone is told nothing.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(Exit::Usage.into(), Into::into)
}

/// One thread: calls are short, and a Pi's memory is worth more than its second core here.
fn runtime() -> Result<tokio::runtime::Runtime, exit::Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| exit::Failure::new(Exit::Failed, format!("cannot start: {error}")))
}
