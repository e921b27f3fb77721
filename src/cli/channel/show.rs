//! `raspi-mcp channel show`

use crate::{
    cli::{bundle::files, exit::Failure, say::outln},
    terminal::printable,
};
use std::path::PathBuf;
use update::{
    channel::{ChannelIndex, INDEX},
    trust::{MAX_SIGNED, Purpose, Signed},
};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the channel's files, or an index file
    place: PathBuf,
    /// The channel's name
    #[arg(long, default_value = "stable", value_name = "NAME")]
    channel: String,
    /// The root of trust to verify with, and its successors; without it, nothing is verified
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trust: Vec<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let path = if args.place.is_dir() { args.place.join(&args.channel).join(INDEX) } else { args.place.clone() };
    let signed = Signed::parse(&files::read(&path, MAX_SIGNED as u64)?, Purpose::Channel)?;
    let verified = if args.trust.is_empty() {
        "no: name the root of trust with --trust".to_owned()
    } else {
        let roots = files::chain(&args.trust)?;
        roots.verify_channel(&signed.text, &signed.signatures)?;
        format!("yes, by version {} of the root of trust", roots.version())
    };
    let index = ChannelIndex::parse(&signed.text)?;
    outln!("channel   {} {}, index {}", index.product, index.channel, index.sequence);
    outln!("verified  {verified}");
    outln!("created   {}", files::shown(index.created));
    let late = if index.expires <= files::now() { " (it has)" } else { "" };
    outln!("expires   {}{late}", files::shown(index.expires));
    if let Some(reason) = &index.paused {
        outln!("paused    {}", printable(reason));
    }
    for offer in &index.releases {
        let revoked = index
            .revocation(&offer.manifest)
            .map(|reason| format!(", REVOKED: {}", printable(reason)))
            .unwrap_or_default();
        outln!("\n{} (counter {}){revoked}", offer.version, offer.counter);
        outln!("  for       {} %{}", offer.rollout.percent, of_rings(&offer.rings));
        if let Some(from) = offer.min_counter {
            outln!("  from      counter {from} on");
        }
        outln!("  bundle    {}, {} bytes", offer.url, offer.size);
        outln!("  manifest  {}", offer.manifest);
        outln!("  hardware  {} on {}", offer.hardware.join(" "), offer.layout);
        for line in offer.notes.lines() {
            outln!("  | {}", printable(line));
        }
    }
    Ok(())
}

fn of_rings(rings: &[String]) -> String {
    if rings.is_empty() { String::new() } else { format!(" of the rings {}", rings.join(", ")) }
}
