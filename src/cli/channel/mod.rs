//! `raspi-mcp channel`: publishes which release is for which device, as static files for any web server
//! (docs/channel.md). For the publisher's computer; needs no configuration, server or Raspberry Pi.

mod add;
mod show;

use super::{bundle::files, exit::Failure, say::outln};
use std::path::PathBuf;
use update::{
    AHEAD,
    channel::{ChannelIndex, IndexChange, Tree, publish},
};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Publish a release, or renew the index before it expires
    Publish {
        #[command(flatten)]
        tree: Place,
        #[command(flatten)]
        release: add::Args,
    },
    /// Set the share of devices that get a release
    Rollout {
        #[command(flatten)]
        tree: Place,
        /// The release's version
        version: String,
        /// The percentage of devices, 0 to 100
        percent: u8,
    },
    /// Pause the channel: devices install nothing until it is resumed
    Pause {
        #[command(flatten)]
        tree: Place,
        /// The reason, which devices report
        reason: String,
    },
    /// End a pause
    Resume {
        #[command(flatten)]
        tree: Place,
    },
    /// Revoke a release: devices that do not have it never install it
    Revoke {
        #[command(flatten)]
        tree: Place,
        /// The release's version
        version: String,
        /// The reason
        reason: String,
    },
    /// Show the index of a channel
    Show(show::Args),
}

/// Which channel, whose keys, and when.
#[derive(clap::Args)]
struct Place {
    /// The folder of the channel's files
    dir: PathBuf,
    /// The channel's name
    #[arg(long, default_value = "stable", value_name = "NAME")]
    channel: String,
    /// A secret key of the root of trust's channel role; give as many as the threshold requires
    #[arg(long = "key", value_name = "FILE", required = true)]
    keys: Vec<PathBuf>,
    /// The root of trust that devices have, and its successors; an index that devices would not accept is refused
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trust: Vec<PathBuf>,
    /// The time of creation, as seconds since 1970 or like 2027-01-01T00:00:00Z; default: SOURCE_DATE_EPOCH or now
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    created: Option<u64>,
    /// Days until the index expires; renew it before
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let simple = |place: &Place, change: IndexChange| {
        let tree = Tree::open(&place.dir)?;
        let last = tree.last(&place.channel)?.ok_or_else(|| nothing_there(place))?;
        place.next(&tree, last, change)
    };
    match args.command {
        Command::Publish { tree, release } => add::run(&tree, release),
        Command::Rollout { tree, version, percent } => simple(&tree, IndexChange::Rollout { version, percent }),
        Command::Pause { tree, reason } => simple(&tree, IndexChange::Pause { reason }),
        Command::Resume { tree } => simple(&tree, IndexChange::Resume),
        Command::Revoke { tree, version, reason } => simple(&tree, IndexChange::Revoke { version, reason }),
        Command::Show(args) => show::run(&args),
    }
}

fn nothing_there(place: &Place) -> Failure {
    files::failed(&place.dir, format!("has no channel {} yet; `raspi-mcp channel publish` begins it", place.channel))
}

impl Place {
    fn created(&self) -> u64 {
        files::created(self.created).unwrap_or_else(|_| files::now())
    }

    /// Publishes the index that follows `last`, and prints it.
    fn next(&self, tree: &Tree, last: ChannelIndex, change: IndexChange) -> Result<(), Failure> {
        let created = self.created();
        let index = publish(last, change, created, created.saturating_add(self.days * 86_400))?;
        let keys = self.keys.iter().map(|path| files::secret_key(path)).collect::<Result<Vec<_>, _>>()?;
        let roots = (!self.trust.is_empty()).then(|| files::chain(&self.trust)).transpose()?;
        roots.as_ref().map_or(Ok(()), |roots| roots.fresh(created))?;
        let now = files::now();
        if created > now.saturating_add(AHEAD) {
            return Err(files::usage(format!(
                "an index made at {} lies in the future, and no device believes it: it is {} here",
                files::shown(created),
                files::shown(now)
            )));
        }
        let path = tree.write(&index, &keys, roots.as_ref())?;
        outln!("index    {} of {} {}", index.sequence, index.product, index.channel);
        outln!("expires  {}", files::shown(index.expires));
        outln!("written  {}", path.display());
        Ok(())
    }
}
