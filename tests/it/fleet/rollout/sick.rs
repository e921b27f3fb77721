//! Sick devices: a rollout stops by its condition, names them, and the next stage is never touched.

use super::{World, fleet::Fate, stages};
use fleet_protocol::rollout::{DecisionKind, DeviceOutcome, RolloutPhase};
use raspi_mcp::fleet::rollout::{Tick, read_log};

const STOP: &str = "failed_percent = 50\nfailed_count = 3\nsilent_percent = 20";

/// Ten percent, forty, all; of eight hundred.
fn three() -> String {
    stages(&[(10, 60, 60), (40, 280, 60), (100, 750, 60)])
}

#[tokio::test]
async fn a_good_release_goes_to_everybody_in_three_stages() {
    let mut world = World::new(300, STOP, &stages(&[(10, 20, 60), (40, 100, 60), (100, 300, 60)]));
    let mut controller = world.controller("a", "log", super::Fuse::default());
    world.until_over(&mut controller).await.unwrap();
    assert_eq!(world.record().phase, RolloutPhase::Done);
    let fleet = world.heard.fleet.borrow();
    assert_eq!(fleet.count(|device| device.outcome() == DeviceOutcome::Committed), 300);
    // The stages' own indexes, and no pause.
    assert_eq!(world.web.is_sound(), [7, 8, 12, 16]);
    world.is_logged("log");
    assert!(world.minute > 180, "three soaks of an hour: {}", world.minute);
}

async fn one_percent(fate: Fate) {
    let mut world = World::new(800, STOP, &three());
    world.heard.fleet.borrow_mut().sicken(fate, 100);
    let mut controller = world.controller("a", "log", super::Fuse::default());
    world.until_over(&mut controller).await.unwrap();
    let in_flight = world.heard.fleet.borrow().count(|device| device.is_trying());
    assert_eq!(world.record().phase, RolloutPhase::Stopped);
    assert!(world.web.index().paused.unwrap().contains(&controller.steps.hash));
    // Days later it is the same: what had begun has ended, and nothing else began.
    for _ in 0..2 * 24 * 60 {
        world.pass();
        assert_eq!(controller.tick(world.clock()).await.unwrap(), Tick::Over);
    }
    let fleet = world.heard.fleet.borrow();
    let failed = fleet.count(|device| matches!(device.outcome(), DeviceOutcome::Failed(_)));
    assert!((3..=3 + in_flight).contains(&failed), "{failed} failed, {in_flight} were in flight");
    let touched = |device: &super::fleet::Device| device.outcome() != DeviceOutcome::Untouched;
    assert_eq!(fleet.count(|device| touched(device) && device.place() >= 4000), 0, "a device of the third stage");
    assert!(fleet.count(touched) > 100, "it went through the first stage");
    // Who, and why: in the record and in the log.
    let decision = read_log(&world.log("log")).unwrap().pop().unwrap();
    assert_eq!((decision.kind, decision.stage), (DecisionKind::Stop, 2));
    assert_eq!(decision.devices.len(), decision.evidence.unwrap().failed);
    assert!(decision.devices.len() >= 3 && decision.why.contains("failed_count is 3"), "{decision:?}");
    for failed in &decision.devices {
        assert_ne!(fleet.0.iter().find(|device| device.name == failed.name).unwrap().fate, Fate::Well);
        assert!(failed.why.contains("cameras stay dark") || failed.why.contains("silent"), "{failed:?}");
    }
    world.is_logged("log");
    drop(fleet);
    world.web.is_sound();
}

#[tokio::test]
async fn one_percent_that_go_back_stop_it_in_the_second_stage() {
    one_percent(Fate::GoesBack).await;
}

#[tokio::test]
async fn one_percent_that_die_without_a_word_stop_it_in_the_second_stage() {
    one_percent(Fate::Dies).await;
}

#[tokio::test]
async fn nobody_is_heard_and_nothing_goes_on() {
    let mut world = World::new(100, STOP, &stages(&[(10, 5, 0), (100, 90, 0)]));
    let mut controller = world.controller("a", "log", super::Fuse::default());
    controller.start(world.clock()).await.unwrap();
    // The broker is gone: statuses stay what they were, and the controller knows that it does not listen.
    for _ in 0..600 {
        world.minute += 1;
        world.heard.since_ms.set(world.clock().now_ms);
        controller.tick(world.clock()).await.unwrap();
    }
    assert_eq!((world.record().phase, world.record().stage), (RolloutPhase::Running, 0));
    assert_eq!(world.web.is_sound(), [7, 8]);
    // It is back, and the devices report again; the rollout goes on.
    world.until_over(&mut controller).await.unwrap();
    assert_eq!(world.record().phase, RolloutPhase::Done);
}
