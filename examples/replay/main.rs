//! Cuts the power at every point of a recorded update, and starts what is left.
//!
//! ```text
//! replay --log WRITES --before DISK.img --new BOOT.img ROOT.img [--new …] [--chain uboot|tryboot] [--torn 8] [--seed 1] [--ignore-flushes]
//! ```
//!
//! WRITES is what QEMU's `blklogwrites` recorded, DISK.img the disk before it. After every write, and for a number of states in which
//! some of what was not flushed is lost or torn, a model of the firmware has to start a slot that is whole (as it was before, or as one of the
//! new versions is), and the agent's record has to explain it. Exit code 1 when not; with --ignore-flushes when there is no such state.
//!
//! ```text
//! replay --start --before DISK.img [--chain uboot|tryboot]
//! ```
//!
//! Says what the model starts from that disk, and what U-Boot's two copies hold afterwards: the bench compares that with what the real one does.

mod cuts;
mod log;
mod overlay;

use clap::{Parser, ValueEnum};
use cuts::{Chain, Counts, Plan, cut};
use std::{
    error::Error,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    process::ExitCode,
};
use update::{
    Slot,
    disk::{Access, Area, Disk, Layout},
    firmware::{Generation, TrybootFirmware, UbootFirmware},
};

#[derive(Parser)]
struct Arguments {
    #[arg(long, required_unless_present = "start")]
    log: Option<PathBuf>,
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
    /// Only starts the disk as it is.
    #[arg(long, conflicts_with = "log")]
    start: bool,
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
    let ran = match &arguments.log {
        Some(log) => run(&arguments, log).map(Some),
        None => start(&arguments).map(|()| None),
    };
    match ran {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(counts)) => {
            show(&counts);
            if (counts.bad_count > 0) == arguments.ignore_flushes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("replay: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let layout = arguments.layout.as_deref().map_or_else(Layout::shipped, Layout::read)?;
    let disk = overlay::Overlay::of(&arguments.before, &layout)?;
    let outcome = match arguments.chain {
        Firmware::Uboot => UbootFirmware.boot(&disk),
        Firmware::Tryboot => TrybootFirmware::new(layout, Generation::Walks).boot(&disk),
    };
    println!("{}", outcome.slot().map_or("nothing", Slot::name));
    for copy in 0..2 {
        let mut bytes = [0; overlay::SECTOR];
        disk.open(Area::UbootCopy(copy), Access::Read)?.read(0, &mut bytes)?;
        println!("{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
    Ok(())
}

fn run(arguments: &Arguments, log: &Path) -> Result<Counts, Box<dyn Error>> {
    let layout = arguments.layout.as_deref().map_or_else(Layout::shipped, Layout::read)?;
    let disk = overlay::Overlay::of(&arguments.before, &layout)?;
    let (versions, []) = arguments.new.as_chunks::<2>() else { return Err("--new takes two files".into()) };
    for (number, [boot, root]) in versions.iter().enumerate() {
        for area in overlay::WHOLE {
            let image = if matches!(area, Area::Boot(_)) { boot } else { root };
            disk.know(area, &format!("new {}", number + 1), image)?;
        }
    }
    let mut log = log::Log::of(BufReader::new(File::open(log)?))?;
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
