//! When an MCP server is started: at boot, again after a death, and not any more after five.

use super::{
    mcp::{SERVER, server},
    *,
};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use raspi_mcp::agents::{AgentEvent, DeathReason};
use std::time::Duration;
use tokio::{sync::broadcast, time};

pub(super) fn admin() -> Caller {
    Caller::new("stdio", Role::Admin, Transport::Stdio)
}

/// Time stands still until it is moved by hand, also while nothing happens. Child processes go on.
pub(super) struct StoppedClock(Option<std::sync::mpsc::Sender<()>>);

impl StoppedClock {
    #[expect(clippy::disallowed_methods, reason = "it blocks until the clock goes on: that is what it is for")]
    pub(super) fn new() -> Self {
        time::pause();
        // tokio moves a paused clock when all its tasks wait, unless a blocking one runs.
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::task::spawn_blocking(move || receiver.recv().unwrap_err());
        Self(Some(sender))
    }

    /// A little more: tokio's timers have a resolution of a millisecond.
    pub(super) async fn advance(&self, seconds: u64) {
        time::advance(Duration::from_secs(seconds) + Duration::from_millis(2)).await;
    }
}

impl Drop for StoppedClock {
    fn drop(&mut self) {
        self.0.take();
        time::resume();
    }
}

/// Waits for this state, without a limit of time: the clock may stand still.
pub(super) async fn becomes(machine: &Machine, agent: &str, state: &str) {
    while machine.pi.server().pipeline.services.agents.standing(agent) != state {
        tokio::task::yield_now().await;
    }
}

async fn next_death(events: &mut broadcast::Receiver<AgentEvent>) -> i32 {
    match events.recv().await.unwrap() {
        AgentEvent::Died { exit_code, .. } => exit_code,
        other => panic!("{other:?}"),
    }
}

fn starts(machine: &Machine) -> usize {
    machine.runner.plans.lock().unwrap().len()
}

/// It is started again after 1, 2, 4 and 8 s, never after the fifth death, and by `agents.spawn` nevertheless.
#[tokio::test]
async fn one_that_dies_five_times_in_a_row_is_held_until_it_is_spawned() {
    let machine = server().await;
    machine.accept("thing").await;
    let agents = Arc::clone(&machine.pi.server().pipeline.services.agents);
    agents.spawn(&admin(), "thing").await.unwrap();
    let mut events = agents.events();
    fs::write(machine.dir.path().join("broken"), "").unwrap();
    let clock = StoppedClock::new();
    let before = starts(&machine);
    machine.runner.kill_newest();
    assert_eq!(next_death(&mut events).await, 137);
    for (number, pause) in [1, 2, 4, 8].into_iter().enumerate() {
        becomes(&machine, "thing", "restarting").await;
        let error = machine.call("thing.say_hello", json!({})).await.failed("unavailable").clone();
        assert_eq!(error["details"]["agent"], "thing", "{error}");
        clock.advance(pause - 1).await;
        assert_eq!((events.try_recv().is_err(), starts(&machine)), (true, before + number), "not before {pause} s");
        clock.advance(1).await;
        assert_eq!(next_death(&mut events).await, 9);
        assert_eq!(starts(&machine), before + number + 1);
    }
    becomes(&machine, "thing", "held").await;
    clock.advance(3600).await;
    let error = machine.call("thing.say_hello", json!({})).await.failed("unavailable").clone();
    assert!(error["hint"].as_str().unwrap().contains("agents.spawn"), "{error}");
    assert_eq!((events.try_recv().is_err(), starts(&machine)), (true, before + 4));
    // Its owner has repaired it.
    fs::remove_file(machine.dir.path().join("broken")).unwrap();
    agents.spawn(&admin(), "thing").await.unwrap();
    assert_eq!(machine.call("thing.say_hello", json!({})).await.ok()["text"], "hello");
    assert_eq!(starts(&machine), before + 5);
}

/// The deaths of one that has lived for a minute are not counted.
#[tokio::test]
async fn who_lives_for_a_minute_has_recovered() {
    let machine = server().await;
    machine.accept("thing").await;
    let agents = Arc::clone(&machine.pi.server().pipeline.services.agents);
    agents.spawn(&admin(), "thing").await.unwrap();
    let mut events = agents.events();
    let clock = StoppedClock::new();
    for _ in 0..7 {
        becomes(&machine, "thing", "running").await;
        clock.advance(60).await;
        machine.runner.kill_newest();
        assert_eq!(next_death(&mut events).await, 137);
        becomes(&machine, "thing", "restarting").await;
        clock.advance(1).await;
    }
    becomes(&machine, "thing", "running").await;
    assert_eq!(machine.call("thing.say_hello", json!({})).await.ok()["text"], "hello");
}

/// One death with its own word; then nothing runs, nothing is told, and nothing is held against the agent.
#[tokio::test]
async fn without_the_privileged_half_it_waits_and_is_not_held() {
    let machine = server().await;
    machine.accept("thing").await;
    let agents = Arc::clone(&machine.pi.server().pipeline.services.agents);
    let id = agents.spawn(&admin(), "thing").await.unwrap().agent_id;
    let mut events = agents.events();
    let clock = StoppedClock::new();
    machine.lose_the_privileged_half().await;
    let lost = AgentEvent::Died { id, exit_code: -1, reason: DeathReason::Lost };
    assert_eq!(events.recv().await.unwrap(), lost);
    for _ in 0..10 {
        becomes(&machine, "thing", "restarting").await;
        machine.call("thing.say_hello", json!({})).await.failed("unavailable");
        clock.advance(3).await;
        while agents.standing("thing") == "starting" {
            tokio::task::yield_now().await;
        }
    }
    assert!(events.try_recv().is_err(), "one event a death");
    machine.has_the_privileged_half();
    clock.advance(3).await;
    becomes(&machine, "thing", "running").await;
    assert_eq!(machine.call("thing.say_hello", json!({})).await.ok()["text"], "hello");
}

/// `boot` starts with the server, before anybody has accepted or called anything; `demand` and a command do not.
#[tokio::test]
async fn what_starts_at_boot_runs_before_the_first_call() {
    let machine = Machine::new(|folder| {
        let tools = json!({"say_hello": {"tier": "fundamental"}});
        let program = folder.program("server", SERVER);
        let agent = |name: &str, start: &str| {
            json!({"type": name, "kind": "mcp", "program": program, "start": start, "tools": tools})
        };
        let say = json!({"say": {"tier": "fundamental", "description": "Say.", "input": {"type": "object"}}});
        vec![agent("early", "boot"), agent("late", "demand"), command("once", folder.program("x", "#!/bin/sh\n"), say)]
    })
    .await;
    soon(becomes(&machine, "early", "running")).await;
    let late = machine.pi.server().pipeline.services.agents.standing("late");
    assert_eq!((late, starts(&machine), machine.runner.alive()), ("stopped", 1, 1));
    let said = soon(async {
        loop {
            let state = machine.state("early").await["tools"][0]["state"].clone();
            if state != "unknown" {
                return state;
            }
        }
    });
    assert_eq!(said.await, "new", "it runs, and nobody has accepted it");
    machine.accept("early").await;
    assert_eq!(machine.call("early.say_hello", json!({})).await.ok()["text"], "hello");
    assert_eq!(starts(&machine), 1);
    let ended = machine.runner;
    machine.pi.stop().await.unwrap();
    soon(async {
        while ended.alive() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
