//! `raspi-mcp bundle trust`: roots of trust, which say whose signatures count.

mod change;
mod show;

use super::files;
use crate::{
    cli::{exit::Failure, say::outln},
    update::{
        bundle::Digest,
        trust::{MAX_SIGNED, Purpose, Roots, Signed},
    },
};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make the first root of a product
    Init {
        /// What images it is for
        #[arg(long)]
        product: String,
        #[command(flatten)]
        change: change::Args,
    },
    /// Make the root after this one: what is not named stays
    Rotate {
        /// The root that devices hold
        old: PathBuf,
        #[command(flatten)]
        change: change::Args,
    },
    /// Add a signature to a root; one that follows another needs enough keys of both
    Sign {
        root: PathBuf,
        /// The secret key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Check roots in their order, as a device does, and show the last
    Show {
        #[arg(value_name = "ROOT", required = true)]
        roots: Vec<PathBuf>,
    },
}

pub fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Init { product, change } => change.first(product),
        Command::Rotate { old, change } => change.next(&old),
        Command::Sign { root, key } => {
            let (_, mut signed) = Roots::unverified(&files::read(&root, MAX_SIGNED as u64)?)?;
            let signature = files::secret_key(&key)?.sign(Purpose::Root, &signed.text);
            signed.signatures.retain(|other| other.key_id != signature.key_id);
            signed.signatures.push(signature);
            // Read back before it takes the other's place: a list that grew too long is refused here.
            let bytes = signed.encode();
            Signed::parse(&bytes, Purpose::Root)?;
            files::replace(&root, &bytes)?;
            outln!("root       {}", Digest::of(&signed.text));
            signed.signatures.iter().for_each(|signature| outln!("signed by  {}", signature.key_id));
            Ok(())
        }
        Command::Show { roots } => show::run(&roots),
    }
}
