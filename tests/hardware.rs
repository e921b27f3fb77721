//! The contract of pins, buses and cameras, asserted on a board: `hardware [--board NAME] [--list | --ratios] [PART OF A NAME]...`
//!
//! Without `--board` it is the simulated one, so that `cargo test` runs it always. `ci/qemu-hw` runs it in its guests
//! (`virt`, `raspi3b`). A line for each assertion, with its time. `hardware --selftest` is for people with a real board: the package
//! raspi-mcp-selftest has it (docs/hardware.md).

// A test may fail loudly.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "it/contract"]
mod contract {
    pub mod hardware;
}
#[path = "hardware/ratios.rs"]
mod ratios;
#[path = "hardware/selftest.rs"]
mod selftest;
// Made for the conversations of tests/it and tests/tools, which need more of them.
#[allow(dead_code)]
#[path = "support"]
mod support {
    pub mod pi;
    pub mod picture;
    pub mod trees;
}

use contract::hardware::{
    Assertion, Lacking, all, boards,
    hand::kernel_scene::{HOG, hog},
    killed::{VICTIM, victim},
    try_on,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::Instant,
};

fn main() -> ExitCode {
    let (mut board, mut list, mut ratios, mut words) = ("simulated".to_owned(), false, false, Vec::new());
    let mut args = std::env::args().skip(1);
    // Another process that uses a camera is this one, once more.
    if std::env::args().nth(1).as_deref() == Some(HOG) {
        hog(&std::env::args().nth(2).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    // A server that is killed is this one as well.
    if std::env::args().nth(1).as_deref() == Some(VICTIM) {
        let mut told = std::env::args().skip(2);
        victim(&told.next().unwrap_or_default(), &told.next().unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    if std::env::args().nth(1).as_deref() == Some("--selftest") {
        return selftest::run(args.skip(1));
    }
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--board" => board = args.next().unwrap_or_default(),
            "--list" => list = true,
            "--ratios" => ratios = true,
            // What `cargo test` passes on to every test binary.
            flag if flag.starts_with("--") => {}
            word => words.push(word.to_owned()),
        }
    }
    let setup = match boards::setup(&board) {
        Ok(setup) => setup,
        Err(fault) => {
            eprintln!("{fault}");
            return ExitCode::from(2);
        }
    };
    if ratios {
        ratios::print(&setup);
        return ExitCode::SUCCESS;
    }
    let wanted = |assertion: &&Assertion| words.is_empty() || words.iter().any(|word| assertion.name.contains(word));
    if list {
        all().filter(wanted).for_each(|assertion| println!("{}: test", assertion.name));
        return ExitCode::SUCCESS;
    }
    let (mut held, mut failed, mut lacking) = (0, 0, 0);
    let began = Instant::now();
    for assertion in all().filter(wanted) {
        let started = Instant::now();
        // Before it begins, so that one that hangs is the last line (ci/qemu-hw.d/hardware.py).
        println!("tries             {}", assertion.name);
        // An assertion that fails has panicked, and its message is above this line.
        let verdict = match catch_unwind(AssertUnwindSafe(|| try_on(&board, assertion))) {
            Ok(Ok(())) => (held += 1, "ok").1,
            Ok(Err(Lacking)) => (lacking += 1, "not here").1,
            Err(_) => (failed += 1, "FAILED").1,
        };
        println!("{verdict:<8} {:6.1} ms  {}", started.elapsed().as_secs_f64() * 1000.0, assertion.name);
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("hardware: on {board}, {held} held, {failed} failed, {lacking} about what is not here, in {seconds:.1} s");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
