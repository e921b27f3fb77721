//! Cuts the power at every point of a recorded update, and starts what is left.
//!
//! ```text
//! replay --log WRITES --before DISK.img --new BOOT.img ROOT.img [--new …] [--chain uboot|tryboot] [--torn 8] [--seed 1] [--ignore-flushes]
//! ```
//!
//! WRITES is what QEMU's `blklogwrites` recorded, DISK.img the disk before it. After every write, and for a number of states in which
//! some of what was not flushed is lost or torn, a model of the firmware has to start a slot that is whole (as it was before, or as one of the
//! new versions is), and the agent's record has to explain it. Exit code 1 when not; with --ignore-flushes when there is no such state.

mod cuts;
mod log;
mod overlay;

use clap::{Parser, ValueEnum};
use cuts::{Chain, Counts, Plan, cut};
use raspi_mcp::update::{disk::Layout, firmware::Generation};
use std::{error::Error, fs::File, io::BufReader, path::PathBuf, process::ExitCode};

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    log: PathBuf,
    #[arg(long)]
    before: PathBuf,
    /// Images of a version that the update may leave behind.
    #[arg(long, num_args = 2, value_names = ["BOOT", "ROOT"])]
    new: Vec<PathBuf>,
    #[arg(long, value_enum, default_value = "uboot")]
    chain: Firmware,
    /// Torn states for each stretch between two flushes.
    #[arg(long, default_value_t = 8)]
    torn: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// As if nothing had been flushed: there have to be bad states.
    #[arg(long)]
    ignore_flushes: bool,
    /// Another layout than the one that is built in.
    #[arg(long)]
    layout: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Firmware {
    Uboot,
    Tryboot,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(counts) => {
            show(&counts);
            if (counts.bad_count > 0) == arguments.ignore_flushes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("replay: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<Counts, Box<dyn Error>> {
    let layout = arguments.layout.as_deref().map_or_else(Layout::shipped, Layout::read)?;
    let disk = overlay::Overlay::of(&arguments.before, &layout)?;
    let (versions, []) = arguments.new.as_chunks::<2>() else { return Err("--new takes two files".into()) };
    for (number, [boot, root]) in versions.iter().enumerate() {
        for area in overlay::WHOLE {
            let image = if matches!(area, raspi_mcp::update::disk::Area::Boot(_)) { boot } else { root };
            disk.know(area, &format!("new {}", number + 1), image)?;
        }
    }
    let mut log = log::Log::of(BufReader::new(File::open(&arguments.log)?))?;
    let chain = match arguments.chain {
        Firmware::Uboot => Chain::Uboot,
        Firmware::Tryboot => Chain::Tryboot(Generation::Walks),
    };
    let plan = Plan { chain, torn: arguments.torn, seed: arguments.seed, ignore_flushes: arguments.ignore_flushes };
    Ok(cut(&disk, &layout, plan, || log.event())?)
}

fn show(counts: &Counts) {
    println!(
        "{} writes, {} flushes: {} cuts, {} torn states",
        counts.writes, counts.flushes, counts.whole, counts.torn
    );
    for (outcome, times) in &counts.outcomes {
        println!("{times:>8}  {outcome}");
    }
    println!("{:>8}  bad", counts.bad_count);
    for (why, (times, first)) in &counts.bad {
        println!("{times:>8}  {why}; first at {first}");
    }
}
