//! The command line. Each subcommand has a file; this one parses arguments and dispatches.

mod accept_gap;
mod agent;
pub mod agents;
mod allow;
mod approval_page;
pub mod approve;
mod approver;
mod audit;
mod backup;
mod bar;
mod bridge;
mod bundle;
mod call;
#[cfg(feature = "console")]
mod channel;
mod claim;
pub mod doctor;
pub mod exit;
mod fleet;
mod grow;
pub mod halt;
mod hidden;
mod notifications;
mod order;
pub mod pins;
mod prepare;
#[cfg(feature = "routeros")]
mod routeros;
mod running;
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

/// MCP server that lets an AI assistant operate a Raspberry Pi safely.
///
/// Start with `raspi-mcp serve`, then `raspi-mcp call system.get_basic_info`. On a machine that is not a Raspberry Pi, the
/// board is simulated, and every answer about it says so.
///
/// Exit codes: 0 done; 1 failed; 2 invalid command line; 3 invalid configuration; 4 the server or the agent does not
/// answer; 5 refused, or waiting for approval.
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
    /// Serve MCP to the client that started this process (--stdio), or over HTTP and a Unix socket
    Serve(serve::Args),
    /// Run the privileged agent, which performs the server's operations on the machine
    Agent(agent::Args),
    /// Call one tool of a running server
    Call(call::Args),
    /// Connect a client on standard input and output to a server on the network
    Bridge(bridge::Args),
    /// Draw the 40-pin header with the current function of each pin
    Pins(pins::Args),
    /// List the tools and their configuration
    Tools(tools::Args),
    /// Print, write or check the JSON Schema files of the tools
    Schema(schema::Args),
    /// Create, list and revoke bearer tokens
    Token(token::Args),
    /// Create a TLS certificate for this server, or show the current one
    Tls(tls::Args),
    /// Build, sign and verify update bundles
    Bundle(bundle::Args),
    /// Publish releases in an update channel, as files for any web space
    #[cfg(feature = "console")]
    Channel(channel::Args),
    /// Query many devices: version, slots, last update, health
    Fleet(fleet::Args),
    /// Claim a machine that has no owner yet, with the code that it shows
    Claim(claim::Args),
    /// Enable a tool for given callers and resources, without a restart. Needs root on an installed system
    Allow(allow::Args),
    /// Revoke what `raspi-mcp allow` granted
    Revoke(allow::RevokeArgs),
    /// List the agents of the configuration, and accept or revoke their tools. Needs root on an installed system
    Agents(agents::Args),
    /// Add, list, test and remove the MikroTik routers that this machine looks after
    #[cfg(feature = "routeros")]
    Routeros(routeros::Args),
    /// Approve or deny a caller's pending request
    Approve(approve::Args),
    /// Serve a page on which approval requests are answered with a phone
    ApprovalPage(approval_page::Args),
    /// Manage the people who may answer approval requests with a key of their own
    Approver(approver::Args),
    /// Halt the machine: refuse every change until it is lifted here. Needs root, or an approver
    Halt(halt::Args),
    /// Verify or show the audit log of all calls
    Audit(audit::Args),
    /// Back up this machine, or one in the network, into one file that only a passphrase opens
    Backup(backup::Args),
    /// Test the webhooks to which news of approvals and of trouble is sent
    Notifications(notifications::Args),
    /// Show the two slots of this machine, install a release, roll back, or commit a trial
    Slot(slot::Args),
    /// Restore the identity of an appliance at boot, and apply the owner's raspi-mcp.toml
    Prepare(prepare::Args),
    /// Extend the data partition to the end of the card, on images with two slots
    Grow(grow::Args),
    /// Supervise a command that the agent runs
    #[cfg(feature = "guard")]
    #[command(hide = true)]
    Guard,
    /// Report what is wrong or missing on this machine, and how to fix it
    Doctor(doctor::Args),
}

/// The whole command line, for generating the man page and the shell completions in dist/.
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
        #[cfg(feature = "console")]
        Command::Channel(args) => channel::run(args),
        Command::Fleet(args) => fleet::run(&args, &cli.sources),
        Command::Claim(args) => claim::run(args, &cli.sources),
        Command::Allow(args) => allow::run(&args, &cli.sources),
        Command::Revoke(args) => allow::revoke(&args, &cli.sources),
        Command::Agents(args) => agents::run(args, &cli.sources),
        #[cfg(feature = "routeros")]
        Command::Routeros(args) => routeros::run(args, &cli.sources),
        Command::Approve(args) => approve::run(&args, &cli.sources),
        Command::ApprovalPage(args) => approval_page::run(&args, &cli.sources),
        Command::Approver(args) => approver::run(args, &cli.sources),
        Command::Halt(args) => halt::run(args, &cli.sources),
        Command::Audit(args) => audit::run(args, &cli.sources),
        Command::Backup(args) => backup::run(&args, &cli.sources),
        Command::Notifications(args) => notifications::run(args, &cli.sources),
        Command::Slot(args) => slot::run(args, &cli.sources),
        Command::Prepare(args) => prepare::run(&args, &cli.sources),
        Command::Grow(args) => grow::run(&args),
        #[cfg(feature = "guard")]
        Command::Guard => ::agent::exec::guard_process::run()
            .map_err(|error| exit::Failure::new(Exit::Failed, format!("the agent starts this, nobody else: {error}"))),
        Command::Doctor(args) => doctor::run(&args, &cli.sources),
    };
    match done.and_then(|()| say::failure()) {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            if !failure.message.is_empty() {
                say::errln!("raspi-mcp: {}", failure.message);
            }
            failure.exit.into()
        }
    }
}

/// Help and versions as clap prints them. An error quotes the command line, so it is printed without colours, and
/// terminal control characters in it are escaped.
fn unparsed(error: &clap::Error) -> std::process::ExitCode {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        crate::terminal::err(format_args!("{}", error.render()));
    } else {
        say::written(error.print());
        if let Err(failure) = say::failure() {
            say::errln!("raspi-mcp: {}", failure.message);
            return failure.exit.into();
        }
    }
    u8::try_from(error.exit_code()).map_or(Exit::Usage.into(), Into::into)
}

/// One thread: calls are short, and memory on a Pi matters more than its second core here.
fn runtime() -> Result<tokio::runtime::Runtime, exit::Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| exit::Failure::new(Exit::Failed, format!("cannot start: {error}")))
}
