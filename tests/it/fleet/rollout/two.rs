//! Two controllers and a person, all at once: whatever they do between each other's operations, no number has two indexes, and no
//! decision is made twice.

use super::{Fuse, SimulatedController, World, fleet::Fate, stages};
use base::error::ErrorCode;
use fleet_protocol::rollout::{RolloutPhase, RolloutRecord};
use raspi_mcp::fleet::rollout::{RolloutClock, Tick};
use std::collections::BTreeMap;

const STOP: &str = "failed_percent = 50\nfailed_count = 3\nsilent_percent = 20";

/// Each number of a decision has one content, whoever wrote it.
fn decided_once(records: &[RolloutRecord]) {
    let mut decisions = BTreeMap::new();
    for record in records {
        let first = decisions.entry(record.last.number).or_insert_with(|| record.last.clone());
        assert_eq!(*first, record.last);
    }
}

async fn tick(controller: &mut SimulatedController, clock: RolloutClock) -> Tick {
    controller.tick(clock).await.unwrap()
}

#[tokio::test]
async fn two_at_once_never_publish_two_indexes_with_one_number() {
    let mut both_acted = 0;
    for seed in 1..=24_u64 {
        let mut world = World::new(60, STOP, &stages(&[(20, 4, 30), (100, 40, 30)]));
        let sick = seed % 2 == 0;
        if sick {
            world.heard.fleet.borrow_mut().sicken(Fate::GoesBack, 8);
        }
        world.web.yields.set(seed * 7919);
        let mut a = world.controller("a", "a", Fuse::default());
        let mut b = world.controller("b", "b", Fuse::default());
        let (one, two) = futures::join!(a.start(world.clock()), b.start(world.clock()));
        // One began it; the other found it, or lost the race.
        assert!(one.is_ok() || two.is_ok());
        let mut state = seed;
        let mut over = false;
        for _ in 0..3000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let clock = world.clock();
            // Each is now and then away for a minute or more, comes back, and believes what it knew.
            over = match state >> 60 {
                0..=4 => tick(&mut a, clock).await == Tick::Over,
                5..=9 => tick(&mut b, clock).await == Tick::Over,
                _ => {
                    let (one, two) = futures::join!(tick(&mut a, clock), tick(&mut b, clock));
                    one == Tick::Over && two == Tick::Over
                }
            };
            if over {
                break;
            }
            world.pass();
        }
        assert!(over, "seed {seed}: {:?}", world.record().last);
        world.web.is_sound();
        decided_once(&world.records.all.borrow());
        let phase = if sick { RolloutPhase::Stopped } else { RolloutPhase::Done };
        assert_eq!(world.record().phase, phase, "seed {seed}");
        let holders: Vec<Option<String>> = world.records.all.borrow().iter().map(|one| one.holder.clone()).collect();
        both_acted += usize::from(["a", "b"].iter().all(|name| holders.contains(&Some((*name).to_owned()))));
    }
    assert!(both_acted > 5, "{both_acted} times one took over from the other");
}

#[tokio::test]
async fn one_acts_and_the_other_follows_after_a_minute() {
    let world = World::new(20, STOP, &stages(&[(100, 20, 600)]));
    let (mut a, mut b) = (world.controller("a", "a", Fuse::default()), world.controller("b", "b", Fuse::default()));
    a.start(world.clock()).await.unwrap();
    b.start(world.clock()).await.unwrap();
    let mut clock = world.clock();
    let mut later = |ms: u64| {
        clock.monotonic_ms += ms;
        clock
    };
    a.tick(later(0)).await.unwrap();
    assert_eq!(b.tick(later(0)).await.unwrap(), Tick::Following { ms: 60_000 });
    for _ in 0..40 {
        // It lives: it writes its name every quarter of a minute.
        a.tick(later(5_000)).await.unwrap();
        assert!(matches!(b.tick(later(0)).await.unwrap(), Tick::Following { ms } if ms > 40_000));
    }
    let Tick::Following { ms } = b.tick(later(0)).await.unwrap() else { panic!("the first one acts") };
    assert_eq!(b.tick(later(ms - 1)).await.unwrap(), Tick::Following { ms: 1 });
    b.tick(later(1)).await.unwrap();
    assert_eq!(world.record().holder.as_deref(), Some("b"));
    // The first comes back, and follows.
    assert!(matches!(a.tick(later(0)).await.unwrap(), Tick::Following { .. }));
    // What is given up is taken at once.
    b.release().await.unwrap();
    a.tick(later(0)).await.unwrap();
    assert_eq!(world.record().holder.as_deref(), Some("a"));
}

#[tokio::test]
async fn a_person_pauses_resumes_and_aborts_while_a_controller_acts() {
    let mut world = World::new(100, STOP, &stages(&[(20, 8, 30), (100, 80, 30)]));
    let mut controller = world.controller("a", "a", Fuse::default());
    let mut desk = world.controller("desk", "desk", Fuse::default());
    controller.start(world.clock()).await.unwrap();
    let run = async |world: &mut World, controller: &mut SimulatedController, minutes: i64| {
        for _ in 0..minutes {
            controller.tick(world.clock()).await.unwrap();
            world.pass();
        }
    };
    run(&mut world, &mut controller, 5).await;
    let paused = desk.order(world.clock(), |record, by| record.paused("lunch", by), |_| ()).await.unwrap();
    assert_eq!((paused.phase, world.web.index().sequence), (RolloutPhase::Paused, 9));
    assert!(world.web.index().paused.is_some());
    run(&mut world, &mut controller, 120).await;
    assert_eq!((world.record().phase, world.web.is_sound()), (RolloutPhase::Paused, vec![7, 8, 9]));
    desk.order(world.clock(), |record, by| record.resumed(by), |_| ()).await.unwrap();
    assert_eq!((world.web.index().sequence, world.web.index().paused), (10, None));
    run(&mut world, &mut controller, 5).await;
    desk.order(world.clock(), |record, by| record.paused("dinner", by), |_| ()).await.unwrap();
    let refused = desk.order(world.clock(), |record, by| record.resumed(by), |_| ()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    desk.order(world.clock(), |record, by| record.aborted("enough", by), |_| ()).await.unwrap();
    assert_eq!(controller.tick(world.clock()).await.unwrap(), Tick::Over);
    assert_eq!(world.web.is_sound(), [7, 8, 9, 10, 11]);
    decided_once(&world.records.all.borrow());
}
