//! One that comes by itself: its name is its registration.

use super::*;

/// Registrations after which everything that is made once is there.
const WARM: u32 = 500;

#[tokio::test]
async fn who_takes_the_name_is_registered_and_who_loses_it_is_gone() {
    if !is_root() {
        return;
    }
    let bus = PrivateBus::shipped();
    let machine = Machine::on(&bus, declared).await;
    assert_eq!(machine.state("thing").await["state"], "stopped");
    let agents = Arc::clone(&machine.pi.server().pipeline.services.agents);
    soon(agents.spawn(&admin(), "thing")).await.unwrap_err();
    let thing = Thing::come(&bus, 0).await;
    until_state(&machine, "running").await;
    machine.accept("thing").await;
    let agent = agents.spawn(&admin(), "thing").await.unwrap();
    let mut events = agents.events();

    let mut wire = machine.pi.on(Door::Stdio).await;
    let names = listed(&mut wire).await;
    assert!(names.contains(&"thing.say_hello".to_owned()) && !names.iter().any(|name| name.contains("unnamed")));
    assert_eq!(wire.call("thing.say_hello", json!({})).await.ok()["text"], "hello");
    assert_eq!(wire.call("thing.number", json!({})).await.ok(), &json!({"n": 1}));
    let task = thing.heard.lock().unwrap()[0].clone();
    let params = json!({"name": "Say-Hello", "arguments": {}, "principal": "stdio", "role": "admin"});
    assert_eq!((&task["type"], &task["params"], &task["timeout"]), (&json!("tool"), &params, &json!(30)));
    machine.pi.audited(|record| record["tool"] == "thing.say_hello" && record["by"] == "agent:thing").await;

    thing.release().await;
    let event = soon(events.recv()).await.unwrap();
    assert_eq!(event, AgentEvent::Died { id: agent.agent_id, exit_code: -1, reason: DeathReason::Exited });
    assert_eq!(machine.state("thing").await["state"], "stopped");
    wire.call("thing.say_hello", json!({})).await.failed("unavailable");
    assert_eq!(thing.take().await.unwrap(), 1);
    until_state(&machine, "running").await;
    assert_eq!(wire.call("thing.say_hello", json!({})).await.ok()["text"], "hello");
    assert!(events.try_recv().is_err(), "one event a death");
    // It is not ours to end.
    let id = agents.list(&admin())[0].agent_id.clone();
    assert!(agents.shutdown(&admin(), &id));
    assert_eq!(wire.call("thing.say_hello", json!({})).await.ok()["text"], "hello");
    assert!(!thing.heard.lock().unwrap().iter().any(|heard| heard.get("shutdown").is_some()));
}

/// The figures are those of the whole process, so it runs alone: ci/parts/tests. REGISTRATIONS=10000 is its long form.
#[tokio::test]
#[ignore = "it measures the whole process: ci/parts/tests runs it"]
async fn a_thousand_registrations_take_no_memory() {
    if !is_root() {
        return;
    }
    let bus = PrivateBus::shipped();
    let machine = Machine::on(&bus, declared).await;
    let thing = Thing::come(&bus, 0).await;
    until_state(&machine, "running").await;
    machine.accept("thing").await;
    let agents = Arc::clone(&machine.pi.server().pipeline.services.agents);
    agents.spawn(&admin(), "thing").await.unwrap();
    let mut events = agents.events();
    let resident = || base::os::own::read(&Root::system()).unwrap().resident;
    let measured: u32 = std::env::var("REGISTRATIONS").map_or(1_000, |count| count.parse().expect("a number"));
    let mut before = 0;
    for round in 0..WARM + measured {
        if round == WARM {
            before = resident();
        }
        thing.release().await;
        assert!(matches!(soon(events.recv()).await.unwrap(), AgentEvent::Died { .. }));
        assert_eq!(thing.take().await.unwrap(), 1);
        while agents.standing("thing") != "running" {
            tokio::task::yield_now().await;
        }
    }
    let after = resident();
    println!("resident after {WARM} registrations {before} bytes, after {measured} more {after} bytes");
    assert!(after.saturating_sub(before) < 512 << 10, "{before} -> {after}");
    machine.call("thing.say_hello", json!({})).await.ok();
}
