//! A controller that is killed before or after any change it makes, and the one that follows it.

use super::{Fuse, World, fleet::Fate, stages};
use fleet_protocol::rollout::{DecisionKind, RolloutPhase};

const STOP: &str = "failed_percent = 50\nfailed_count = 3\nsilent_percent = 20";

/// How the rollout ends when the first controller is killed at change `fuse`; `None`: it did not make so many.
async fn ends(fate: Fate, fuse: u32, same_log: bool) -> Option<(RolloutPhase, Vec<u64>)> {
    let mut world = World::new(60, STOP, &stages(&[(30, 8, 30), (100, 45, 30)]));
    // It keeps its lease every three minutes, not four times a minute: fewer changes that are all the same.
    world.pace_ms = 5_000;
    world.heard.fleet.borrow_mut().sicken(fate, 8);
    let mut first = world.controller("a", "log", Fuse::of(fuse));
    let killed = world.until_over(&mut first).await.is_err();
    drop(first);
    let log = if same_log { "log" } else { "other" };
    let mut second = world.controller("b", log, Fuse::default());
    // Before the first had begun anything, this begins it; otherwise it waits for its minute, and follows.
    world.until_over(&mut second).await.unwrap();
    let numbers = world.web.is_sound();
    if same_log {
        world.is_logged("log");
    }
    let takes = world.records.all.borrow().iter().filter(|record| record.last.kind == DecisionKind::Takeover).count();
    assert!(takes >= 1, "one of them held it");
    killed.then(|| (world.record().phase, numbers))
}

#[tokio::test]
async fn another_one_finishes_whatever_it_began() {
    for (fate, phase, numbers) in
        [(Fate::Well, RolloutPhase::Done, vec![7, 8, 12]), (Fate::GoesBack, RolloutPhase::Stopped, vec![7, 8, 12, 13])]
    {
        let mut fuse = 0;
        while let Some(ended) = ends(fate, fuse, fuse % 2 == 0).await {
            assert_eq!(ended, (phase, numbers.clone()), "{fate:?}, killed at change {fuse}");
            fuse += 1;
        }
        // Each change can fail before and after its effect.
        assert!(fuse > 40, "only {fuse} changes");
    }
}
