//! `raspi-mcp notifications`

use super::say::outln;
use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::{
    notifications::{
        Event,
        message::Message,
        post::{Outcome, Post},
    },
    registry::Registry,
};
use base::{clock::Wall, os::Root};
use contract::config::{Webhook, nearest};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Send a test message to the configured webhooks, once, and print each answer
    Test {
        /// Only to the webhook with this name
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
    },
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?.notifications;
    let Command::Test { to } = args.command;
    let chosen: Vec<&Webhook> =
        settings.webhooks.iter().filter(|webhook| to.as_ref().is_none_or(|to| *to == webhook.name)).collect();
    if chosen.is_empty() {
        return Err(match to {
            Some(to) => {
                let near = nearest(&to, settings.webhooks.iter().map(|webhook| webhook.name.as_str()));
                let near = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
                Failure::new(Exit::Usage, format!("no webhook is called {to}{near}"))
            }
            None => Failure::new(
                Exit::Config,
                "no webhook is configured; add one as [[notifications.webhooks]] to a file in /etc/raspi-mcp (docs/notifications.md)",
            ),
        });
    }
    let (root, now_ms) = (Root::system(), Wall::system().now_ms());
    let message = Message::new(Event::Test, now_ms, None)?;
    let failed = super::runtime()?.block_on(async {
        let mut failed = 0;
        for webhook in chosen {
            let (name, origin) = (&webhook.name, webhook.origin());
            match Post::to(webhook, &settings.page, &root).send(&message, 0, now_ms).await {
                Outcome::Taken(status) => outln!("{name}: {origin} took it ({status})"),
                Outcome::Refused(why) | Outcome::Later(why) => {
                    failed += 1;
                    outln!("{name}: {origin} did not take it: {why}");
                }
            }
        }
        failed
    });
    match failed {
        0 => Ok(()),
        // Already reported.
        _ => Err(Failure::new(Exit::Failed, "")),
    }
}
