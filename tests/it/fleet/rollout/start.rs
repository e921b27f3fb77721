//! The beginning of a rollout, an index that is not its own, and the log.

use super::{Fuse, World, channel, stages};
use base::{error::ErrorCode, os::lock::Lock};
use fleet_protocol::rollout::{DecisionKind, RolloutPhase};
use raspi_mcp::fleet::rollout::{DecisionLog, Tick, read_log};
use std::fs::{self, File};
use update::channel::{IndexChange, publish, sign};

use crate::update::{NOW, a_key};

const STOP: &str = "failed_percent = 50\nfailed_count = 3\nsilent_percent = 20";

fn world() -> World {
    World::new(20, STOP, &stages(&[(50, 4, 30), (100, 15, 30)]))
}

/// The next index of the channel, as `raspi-mcp channel` makes it.
fn by_hand(world: &World) -> Vec<u8> {
    let index = publish(world.web.index(), IndexChange::Renew, NOW + 60, NOW + 9_000_000).unwrap();
    sign(&index, &[a_key(21)], None).unwrap()
}

#[tokio::test]
async fn it_begins_only_after_the_index_that_was_signed_for() {
    let world = world();
    let other = by_hand(&world);
    world.web.published.borrow_mut().push(other);
    let mut controller = world.controller("a", "log", Fuse::default());
    let refused = controller.start(world.clock()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert_eq!(controller.tick(world.clock()).await.unwrap_err().code, ErrorCode::NotFound);
    assert!(world.records.all.borrow().is_empty() && !world.log("log").exists());
}

#[tokio::test]
async fn one_rollout_of_a_channel_at_a_time() {
    let world = world();
    let mut first = world.controller("a", "a", Fuse::default());
    first.start(world.clock()).await.unwrap();
    // The same again is no new beginning.
    first.start(world.clock()).await.unwrap();
    assert_eq!(world.records.all.borrow().len(), 1);
    let mut second = world.controller("b", "b", Fuse::default());
    second.steps.hash = "0".repeat(64);
    assert_eq!(second.start(world.clock()).await.unwrap_err().code, ErrorCode::FailedPrecondition);
    first.order(world.clock(), |record, by| record.aborted("another one", by), |_| ()).await.unwrap();
    world.web.published.borrow_mut().push(channel());
    second.start(world.clock()).await.unwrap();
    assert_eq!(world.record().plan, second.steps.hash);
    assert_eq!(first.tick(world.clock()).await.unwrap_err().code, ErrorCode::FailedPrecondition);
}

#[tokio::test]
async fn an_index_of_somebody_else_ends_it_and_is_left_alone() {
    let mut world = world();
    let mut controller = world.controller("a", "log", Fuse::default());
    controller.start(world.clock()).await.unwrap();
    for _ in 0..5 {
        controller.tick(world.clock()).await.unwrap();
        world.pass();
    }
    let other = by_hand(&world);
    world.web.published.borrow_mut().push(other.clone());
    // The first look of a minute keeps the lease.
    controller.tick(world.clock()).await.unwrap();
    assert_eq!(controller.tick(world.clock()).await.unwrap(), Tick::Over);
    assert_eq!((world.record().phase, world.record().last.kind), (RolloutPhase::Stopped, DecisionKind::Stop));
    assert_eq!(controller.tick(world.clock()).await.unwrap(), Tick::Over);
    assert_eq!(*world.web.published.borrow().last().unwrap(), other);
    world.is_logged("log");
}

#[tokio::test]
async fn a_page_instead_of_an_index_is_trouble_and_no_end() {
    let mut world = world();
    let mut controller = world.controller("a", "log", Fuse::default());
    controller.start(world.clock()).await.unwrap();
    for _ in 0..3 {
        controller.tick(world.clock()).await.unwrap();
    }
    world.pass();
    world.web.published.borrow_mut().push(b"<html>please log in".to_vec());
    // The first look of a minute keeps the lease.
    controller.tick(world.clock()).await.unwrap();
    assert_eq!(controller.tick(world.clock()).await.unwrap_err().code, ErrorCode::Unavailable);
    world.web.published.borrow_mut().pop();
    controller.tick(world.clock()).await.unwrap();
    assert_eq!(world.record().phase, RolloutPhase::Running);
}

#[tokio::test]
async fn a_log_that_broke_off_goes_on_and_one_that_was_changed_does_not() {
    let world = world();
    let mut controller = world.controller("a", "log", Fuse::default());
    controller.start(world.clock()).await.unwrap();
    controller.tick(world.clock()).await.unwrap();
    let path = world.log("log");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(read_log(&path).unwrap().len(), 1);
    let last = world.record().last;
    let append = || {
        let mut log = DecisionLog::new(path.clone());
        assert!(log.add(&last), "it did not know it");
        log.write()
    };
    append().unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    // Another controller of this machine has written it already.
    append().unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    // One that is held is not waited for, and what waits is written in its order.
    fs::write(&path, "").unwrap();
    let held = Lock::wait(File::options().append(true).open(&path).unwrap()).unwrap();
    let mut log = DecisionLog::new(path.clone());
    let mut first = last.clone();
    first.number -= 1;
    for decision in [&first, &last] {
        log.add(decision);
        let error = log.write().unwrap_err();
        assert!(error.code == ErrorCode::Conflict && error.message.contains("is held by process"), "{error}");
    }
    drop(held);
    log.write().unwrap();
    assert_eq!(read_log(&path).unwrap(), [first, last.clone()]);
    fs::write(&path, [b"{}\n", &whole[..]].concat()).unwrap();
    assert!(append().unwrap_err().message.contains("line 1"));
}
