//! `raspi-mcp token`: creates, lists and revokes bearer tokens, at the machine or signed from elsewhere. A running server
//! detects changes by itself.

use super::exit::{Exit, Failure};
use super::order::{self, Device};
use super::say::{errln, outln};
use super::{runtime, sources};
use crate::{owner::tokens, registry::Registry};
use agent::{
    AgentLink, Client, REVOKED,
    operations::approvals::{RecordRevokedTokens, TokensRevoked},
};
use base::{dns_label::is_label, error::ToolError};
use contract::{
    access::token::{self, Token},
    config::{self, Sha256, Sources, TokenSetting},
    meta::Role,
};
use serde_json::json;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct What {
    /// The token's name, e.g. of the device that will use it: laptop
    #[arg(long)]
    name: String,
    /// The token's role: read_only, ops_rw or admin
    #[arg(long, value_parser = super::serve::role)]
    role: Role,
    /// The token's owner. Credentials of one owner share pin leases and limits
    #[arg(long)]
    owner: Option<String>,
    /// When it expires, e.g. 2027-01-01T00:00:00Z; default: never
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// A router that the token is good for; may be repeated; default: all routers
    #[arg(long = "router", value_name = "NAME", value_parser = router)]
    routers: Vec<String>,
}

fn router(text: &str) -> Result<String, String> {
    match is_label(text) {
        true => Ok(text.to_owned()),
        false => Err("a router's name is 1 to 63 of a-z, 0-9 and \"-\", with no \"-\" at either end".into()),
    }
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create a token and print it once; a running server accepts it immediately
    Make {
        #[command(flatten)]
        what: What,
        #[command(flatten)]
        device: Device,
    },
    /// Create a token and print it once, with the configuration lines that make a server accept it
    New(What),
    /// List the configured tokens by name; the tokens themselves are not stored
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        device: Device,
    },
    /// Remove a token from the configuration; a running server closes its connections immediately
    Revoke {
        /// The token's name, as in `raspi-mcp token list`
        name: String,
        #[command(flatten)]
        device: Device,
    },
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let gather = || sources.gather(&Registry::new(crate::tools::NAMESPACES), Vec::new());
    match args.command {
        Command::Make { what, device } => make(what, |setting| {
            if device.url.is_some() {
                let done = order::performed(&device, "make_token", &json!(setting))?;
                return Ok(order::text(&done));
            }
            let file = tokens::make(setting, &gather()?)?;
            Ok(format!("{} has its hash. A running server accepts it from now on.", file.display()))
        }),
        Command::New(what) => {
            let expires = what.expires()?;
            outln!(
                "{}",
                token::run_new(&what.name, what.role, what.owner.as_deref(), expires, what.routers)?.trim_end()
            );
            Ok(())
        }
        Command::List { json, device } => {
            let elsewhere = device.url.is_some();
            let listed = if elsewhere {
                order::performed(&device, "list_tokens", &json!({}))?
            } else {
                tokens::list(&gather()?)?
            };
            match json {
                true => outln!("{:#}", listed["tokens"]),
                false => outln!("{}", order::text(&listed)),
            }
            Ok(())
        }
        Command::Revoke { name, device } => {
            if device.url.is_some() {
                return order::send(&device, "revoke_token", &json!({ "name": name }));
            }
            let sources = gather()?;
            let (done, hashes) = match tokens::revoke(&name, &sources) {
                Ok((text, hashes)) => (Ok(text), hashes),
                Err(error) => {
                    let hashes = error.details.get(REVOKED).cloned().unwrap_or_default();
                    (Err(error), serde_json::from_value(hashes).unwrap_or_default())
                }
            };
            record(hashes, &sources);
            outln!("{}", done?);
            Ok(())
        }
    }
}

/// Tells the agent what was revoked, so that a backup from before does not bring it back on this machine.
fn record(tokens: Vec<Sha256>, sources: &Sources) {
    if tokens.is_empty() {
        return;
    }
    let configured = config::load(sources).map(|settings| settings.places.agent_socket);
    let agent = AgentLink::Socket(Client::new(&configured.unwrap_or_else(|_| sources.places.agent_socket.clone())));
    let told = runtime().map_err(|failure| failure.message).and_then(|runtime| {
        let told = agent.call::<RecordRevokedTokens>(TokensRevoked { tokens });
        runtime.block_on(told).map_err(ToolError::into_message)
    });
    // Only a machine with an identity of its own is restored from a backup.
    if let Err(why) = told
        && sources.places.identity_dir.exists()
    {
        errln!("a backup from before this would bring the token back on this machine: the agent was not told ({why})");
    }
}

impl What {
    fn expires(&self) -> Result<Option<OffsetDateTime>, Failure> {
        let parsed = self.expires.as_ref().map(|text| OffsetDateTime::parse(text, &Rfc3339)).transpose();
        parsed.map_err(|error| {
            Failure::new(Exit::Usage, format!("--expires: {error}; write it like 2027-01-01T00:00:00Z"))
        })
    }
}

/// Mints a token; `keep` stores its hash. Prints the token afterwards, this one time.
fn make(what: What, keep: impl FnOnce(&TokenSetting) -> Result<String, Failure>) -> Result<(), Failure> {
    let token = Token::mint()?;
    let expires = what.expires()?;
    let What { name, role, owner, routers: devices, .. } = what;
    let text = keep(&TokenSetting { name, sha256: token.sha256(), role, owner, expires, devices })?;
    outln!(
        "This is the token. It is shown only now; give it to whoever will use it, and to nobody else:\n\n    {}\n\n{text}",
        token.reveal()
    );
    Ok(())
}
