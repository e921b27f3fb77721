//! A controller that hangs in the middle of what it does: a person's pause is recorded and published all the same.

use super::{Fuse, World, broker::Desk, fleet::Fate, stages};
use crate::support::served::soon;
use base::{error::ErrorCode, os::lock::Lock};
use fleet_protocol::rollout::{DecisionKind, RolloutPhase, record::Decider};
use raspi_mcp::fleet::rollout::{OrderNews, RecordStore, Tick, read_log};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    time::{Duration, Instant},
};
use update::channel::Tree;

fn signalled(child: &tokio::process::Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().unwrap().cast_signed()).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn a_pause_is_published_while_another_process_holds_the_log() {
    let desk = Desk::new().await;
    let hash = desk.sign().await;
    let mut first = desk.start(&hash);
    first.says("2 have to").await;
    let log = desk.path("plan.signed/decisions.jsonl");
    let held = Lock::wait(File::options().append(true).open(&log).unwrap()).unwrap();
    signalled(&first.child, Signal::STOP);
    let (code, said, why) = desk.rollout(&["pause", "lunch"]).await;
    assert!(code == 0 && said.contains("pause: lunch"), "{code} {said}{why}");
    let index = desk.index();
    assert!(index.sequence == 9 && index.paused.is_some(), "{index:?}");
    let pid = std::process::id().to_string();
    assert!(why.contains("decisions.jsonl") && why.contains(&pid), "who holds it: {why}");
    // Once the log is free, a controller completes it.
    drop(held);
    signalled(&first.child, Signal::CONT);
    first.says("pause: lunch").await;
    let kinds: Vec<DecisionKind> = read_log(&log).unwrap().iter().map(|one| one.kind).collect();
    assert_eq!(kinds.last(), Some(&DecisionKind::Pause));
    // The owner's file was changed since: the rollout is looked at and ended all the same, by the plan that was signed.
    for text in ["", "version = \"9.9.9\"\n"] {
        fs::write(desk.path("plan.toml"), text).unwrap();
        let (code, said, why) = desk.rollout(&["status"]).await;
        assert!(code == 0 && said.contains("rollout    1.2.0 of stable, paused"), "{code} {said}{why}");
        assert!(why.contains("plan.toml cannot be read") && why.contains("plan.json"), "{why}");
    }
    fs::remove_file(desk.path("plan.toml")).unwrap();
    let (code, said, why) = desk.rollout(&["abort", "enough"]).await;
    assert!(code == 0 && said.contains("abort: enough"), "{code} {said}{why}");
    assert_eq!(soon(first.child.wait()).await.unwrap().code(), Some(1));
}

#[tokio::test]
#[ignore = "waits half a minute for a place that is held: ci/parts/fleet"]
async fn a_pause_is_published_within_a_lease_while_a_hung_process_holds_the_channel() {
    let desk = Desk::new().await;
    let hash = desk.sign().await;
    let mut first = desk.start(&hash);
    first.says("2 have to").await;
    signalled(&first.child, Signal::STOP);
    // As a controller that hangs between its look and its write: the folder's lock, and the lock file.
    let held = Tree::open(&desk.path("www")).unwrap();
    let lock = desk.path("www/stable/index.lock");
    fs::write(&lock, "").unwrap();
    let began = Instant::now();
    let (code, said, why) = desk.rollout_within(70, &["pause", "lunch"]).await;
    assert!(code == 0 && said.contains("pause: lunch"), "{code} {said}{why}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!(why.contains("recorded") && why.contains(&std::process::id().to_string()), "{why}");
    let index = desk.index();
    assert!(index.sequence == 9 && index.paused.is_some(), "{index:?}");
    drop(held);
    signalled(&first.child, Signal::CONT);
    first.says("pause: lunch").await;
    assert_eq!(desk.index().sequence, 9, "what wakes up publishes nothing older");
}

const STOP: &str = "failed_percent = 50\nfailed_count = 3\nsilent_percent = 20";

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_no_log_and_the_next_stage_does() {
    let mut world = World::new(200, STOP, &stages(&[(20, 4, 0), (100, 150, 0)]));
    let mut controller = world.controller("a", "log", Fuse::default());
    controller.start(world.clock()).await.unwrap();
    for _ in 0..5 {
        controller.tick(world.clock()).await.unwrap();
    }
    assert_eq!(world.web.index().sequence, 8);
    let log = world.log("log");
    let hold = || Lock::wait(File::options().append(true).open(&log).unwrap()).unwrap();
    let held = hold();
    let mut told = 0;
    for _ in 0..240 {
        if let Err(error) = controller.tick(world.clock()).await {
            assert!(error.code == ErrorCode::Unavailable && error.message.contains("is held by process"), "{error}");
            told += 1;
        }
        world.pass();
    }
    assert_eq!((world.web.index().sequence, world.record().stage), (8, 1), "decided, and its evidence is not written");
    assert!(told > 100, "{told}");
    drop(held);
    for _ in 0..5 {
        controller.tick(world.clock()).await.unwrap();
    }
    assert_eq!((world.web.index().sequence, world.record().stage), (12, 1));
    let held = hold();
    world.heard.fleet.borrow_mut().sicken(Fate::GoesBack, 10);
    for _ in 0..240 {
        let _ = controller.tick(world.clock()).await;
        world.pass();
    }
    assert_eq!((world.web.index().sequence, world.record().phase), (13, RolloutPhase::Stopped));
    // What was decided meanwhile is in the log as soon as it is free.
    drop(held);
    assert_eq!(controller.tick(world.clock()).await.unwrap(), Tick::Over);
    world.is_logged("log");
}

#[tokio::test]
async fn a_pause_that_is_only_recorded_is_published_by_who_follows() {
    let world = World::new(20, STOP, &stages(&[(50, 20, 600)]));
    let (mut a, mut b) = (world.controller("a", "a", Fuse::default()), world.controller("b", "b", Fuse::default()));
    a.start(world.clock()).await.unwrap();
    for _ in 0..4 {
        a.tick(world.clock()).await.unwrap();
    }
    assert!(matches!(b.tick(world.clock()).await.unwrap(), Tick::Following { .. }));
    assert_eq!(world.web.index().sequence, 8);
    // The order was killed after it had changed the record, and the one that holds it hangs.
    let (revision, record) = world.records.get().await.unwrap().unwrap();
    let paused = record.paused("lunch", Decider { name: "desk", now_ms: world.clock().now_ms }).unwrap();
    world.records.put(revision, &paused).await.unwrap();
    assert!(matches!(b.tick(world.clock()).await.unwrap(), Tick::Following { .. }), "it takes nothing over yet");
    assert_eq!((world.web.index().sequence, world.record().holder.as_deref()), (9, Some("a")));
    // Nobody is there: whoever asks for the pause again gets it published, and told that it was paused before.
    let (revision, record) = world.records.get().await.unwrap().unwrap();
    let resumed = record.resumed(Decider { name: "desk", now_ms: world.clock().now_ms }).unwrap();
    let again = resumed.paused("dinner", Decider { name: "desk", now_ms: world.clock().now_ms }).unwrap();
    world.records.put(revision, &again).await.unwrap();
    let mut desk = world.controller("desk", "desk", Fuse::default());
    let mut recorded = 0;
    let told = |news: OrderNews<'_>| recorded += usize::from(matches!(news, OrderNews::Recorded(_)));
    let refused = desk.order(world.clock(), |record, by| record.paused("dinner", by), told).await.unwrap_err();
    assert_eq!((refused.code, recorded, world.web.index().sequence), (ErrorCode::FailedPrecondition, 0, 11));
}
