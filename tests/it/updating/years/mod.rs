//! Two years of devices that nobody visits: releases of which some are sick, rotations, resets, outages, nights without power, moves, wrong clocks. At
//! the end every device runs the newest good release, and no good release is blocked anywhere.
//!
//! Each device has its own publisher, clock and runtime; the seed decides all that happens to it, and is in the report. CI lives one of them. More:
//!
//! ```sh
//! RASPI_MCP_YEARS=200 cargo test --profile long-tests --test it -- updating::years --nocapture          # the seeds 1 to 200
//! RASPI_MCP_YEARS=10 RASPI_MCP_YEARS_FROM=7000 cargo test --profile long-tests --test it -- updating::years --nocapture
//! ```

mod life;
mod plan;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// Devices of CI's short form: a minute each. They live one after the other, since other tests run beside them and some keep time.
const FEW: u64 = 1;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect(name))
}

#[test]
fn a_fleet_that_nobody_visits_for_two_years_runs_the_newest_good_release() {
    let from = number("RASPI_MCP_YEARS_FROM", 1);
    let count = number("RASPI_MCP_YEARS", FEW);
    let (next, end) = (AtomicU64::new(from), from + count);
    let side_by_side = if count > FEW { thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let reports = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..side_by_side {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= end {
                        return;
                    }
                    let lived = thread::scope(|one| one.spawn(|| life::lived(seed)).join());
                    let report = lived.unwrap_or_else(|_| Err("it panicked: see above".into()));
                    println!("seed {seed}: {}", report.as_ref().unwrap_or_else(|why| why));
                    reports.lock().unwrap().push((seed, report));
                }
            });
        }
    });
    let failed: Vec<_> = reports.into_inner().unwrap().into_iter().filter(|(_, report)| report.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
