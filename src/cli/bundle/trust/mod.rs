//! `raspi-mcp bundle trust`: roots of trust, which define whose signatures count.

mod change;
mod show;

use super::files;
use crate::cli::{exit::Failure, say::outln};
use std::path::PathBuf;
use update::{
    bundle::Digest,
    trust::{MAX_SIGNED, Purpose, RootOfTrust, Signed},
};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create the first root of trust of a product
    Init {
        /// The product identifier
        #[arg(long)]
        product: String,
        #[command(flatten)]
        change: change::Args,
    },
    /// Create the successor of a root of trust; keys and thresholds that are not given are kept
    Rotate {
        /// The root of trust that devices have
        old: PathBuf,
        #[command(flatten)]
        change: change::Args,
    },
    /// Add a signature to a root of trust; a successor needs enough signatures of the old keys and of the new keys
    Sign {
        /// The root of trust to sign
        root: PathBuf,
        /// The secret key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Verify a chain of roots of trust in order, as a device does, and show the last one
    Show {
        /// Roots of trust, each followed by its successor
        #[arg(value_name = "ROOT", required = true)]
        roots: Vec<PathBuf>,
    },
}

pub fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Init { product, change } => change.first(product),
        Command::Rotate { old, change } => change.next(&old),
        Command::Sign { root, key } => {
            let (_, mut signed) = RootOfTrust::unverified(&files::read(&root, MAX_SIGNED as u64)?)?;
            let signature = files::secret_key(&key)?.sign(Purpose::Root, &signed.text);
            signed.signatures.retain(|other| other.key_id != signature.key_id);
            signed.signatures.push(signature);
            // Parse it before replacing the file: a list of signatures that is too long is refused here.
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
