//! A check of the owner's fails in the trial and in the old system as well: the release is not the cause.

use super::{rounds::late_lines, *};
use ::agent::exec::{CommandPlan, Runner, SimulatedRunner, Started};
use base::error::ToolError;
use futures::future::BoxFuture;
use std::sync::atomic::AtomicBool;
use update::health::Baseline;

/// The program of `update.health_commands`.
pub const PROGRAM: &str = "/usr/bin/owners-check";

/// What [`PROGRAM`] ends with, and how often it ran.
#[derive(Default)]
pub struct OwnersCheck {
    fails: AtomicBool,
    times: AtomicI64,
}

impl OwnersCheck {
    pub fn fails(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    fn times(&self) -> i64 {
        self.times.load(Ordering::SeqCst)
    }
}

/// A simulated machine's programs, and [`PROGRAM`].
pub struct WithOwnersCheck(pub Arc<OwnersCheck>);

impl Runner for WithOwnersCheck {
    fn start<'a>(&'a self, plan: &'a CommandPlan) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move {
            let mut plan = plan.clone();
            if plan.program.ends_with("owners-check") {
                self.0.times.fetch_add(1, Ordering::SeqCst);
                let fails = self.0.fails.load(Ordering::SeqCst);
                plan.program = if fails { "/usr/bin/false" } else { "/usr/bin/true" }.into();
            }
            SimulatedRunner.start(&plan).await
        })
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// A device with that check, whose release waits for the window at 02:00.
async fn with_a_check() -> Device {
    let mut device = Device::at(0, |update| {
        late_lines(update);
        update.health_commands = vec![PROGRAM.into()];
    });
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    device.job_begins().await;
    device.job_stops().await;
    device
}

#[tokio::test(start_paused = true)]
async fn a_check_that_fails_in_both_systems_blocks_nothing_and_the_release_waits_for_it() {
    let mut device = with_a_check().await;
    device.owners_check.fails(true);
    device.restarted(2).await;
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!(status.waits_for, [format!("command {PROGRAM}")], "{status:?}");
    assert!(status.armed().unwrap().reason.contains("the same fails in the old version"), "{status:?}");
    // The channel goes on offering it, nights pass, and power fails: nothing is tried, and nothing blocked.
    for _ in 0..2 {
        device.power_cut().await;
        device.serve();
        let before = device.owners_check.times();
        sleep(30 * HOUR).await;
        let status = device.status().await;
        assert_eq!((device.restarts(), status.waits_for.len(), status.blocked.len()), (0, 1, 0), "{status:?}");
        assert!(device.owners_check.times() > before + 20, "it is looked at each quarter of an hour");
    }
    device.owners_check.fails(false);
    device.restarted(1).await;
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)), "{status:?}");
    assert!(status.waits_for.is_empty() && status.blocked.is_empty(), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_newer_release_replaces_one_that_waits_for_a_check_and_is_held_against_it_too() {
    let mut device = with_a_check().await;
    device.owners_check.fails(true);
    device.restarted(2).await;
    sleep(5 * MINUTE).await;
    device.web.release("1.2.0", 12, "it mends what the check looks at\n");
    device.job_begins().await;
    device.job_stops().await;
    device.restarted(3).await;
    // The new release does better than the old one.
    device.owners_check.fails(false);
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.2.0"), Some(Phase::Committed)), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_check_that_succeeds_in_the_old_system_blocks_the_release() {
    let device = with_a_check().await;
    device.restarted(1).await;
    device.owners_check.fails(true);
    device.restarted(2).await;
    device.owners_check.fails(false);
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!((device.restarts(), status.blocked.len()), (2, 1), "{status:?}");
    assert!(status.blocked[0].reason.contains(PROGRAM), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_check_that_succeeds_a_while_after_the_old_systems_start_does_not_excuse_the_release() {
    let device = with_a_check().await;
    device.restarted(1).await;
    device.owners_check.fails(true);
    device.restarted(2).await;
    // The old system's server reports soon; what is checked there starts more slowly.
    sleep(Duration::from_secs(12)).await;
    device.owners_check.fails(false);
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!((status.waits_for.len(), status.blocked.len()), (0, 1), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_never_answers_blocks_nothing_however_long() {
    let mut device = Device::at(0, |update| {
        late_lines(update);
        // Nothing listens there.
        update.health_urls = vec!["http://127.0.0.1:1/".into()];
    });
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    device.job_begins().await;
    device.job_stops().await;
    device.restarted(2).await;
    sleep(3 * 24 * HOUR).await;
    let status = device.status().await;
    assert_eq!((device.restarts(), status.blocked.len()), (2, 0), "{status:?}");
    assert_eq!(status.waits_for, ["the network"], "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_gone_from_the_old_system_as_well_is_not_needed() {
    let device = with_a_check().await;
    // It was recorded with the release, and ends for good before the restart.
    let file = device.folder().join("baseline.json");
    device.restarted(1).await;
    let before = Baseline::load(&file).unwrap().unwrap();
    Baseline { units: ["cloud.service".to_owned()].into(), ..before }.save(&file).unwrap();
    device.restarted(3).await;
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)), "{status:?}");
}
