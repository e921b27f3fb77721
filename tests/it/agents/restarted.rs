//! A restart of the device: accepted tools are there, and their program starts at the first call.

use super::{mcp::server, *};

fn starts(machine: &Machine) -> usize {
    machine.runner.plans.lock().unwrap().len()
}

/// What the privileged half keeps in this file beside the hashes.
fn kept(machine: &Machine) -> PathBuf {
    machine.settings.places.agent_state_dir.join("agents-described.json")
}

#[tokio::test]
async fn accepted_tools_are_listed_after_a_restart_and_start_at_the_first_call() {
    let machine = server().await;
    machine.accept("thing").await;
    let before = listed(&mut machine.pi.on(Door::Stdio).await).await;
    let machine = machine.restarted(None, |_| {}).await;
    machine.until_tools("thing", "accepted").await;
    assert_eq!(listed(&mut machine.pi.on(Door::Stdio).await).await, before);
    assert_eq!((starts(&machine), machine.state("thing").await["state"].clone()), (0, json!("stopped")));
    assert_eq!(machine.call("thing.say_hello", json!({})).await.ok()["text"], "hello");
    assert_eq!(starts(&machine), 1);
    // And after one more.
    let machine = machine.restarted(None, |_| {}).await;
    machine.until_tools("thing", "accepted").await;
    assert_eq!(machine.call("thing.number", json!({})).await.ok(), &json!({"n": 1}));
}

/// Its words are others by the time that it is started: the call that starts it is refused, and the tool is off.
#[tokio::test]
async fn what_has_changed_meanwhile_is_not_called() {
    let machine = server().await;
    machine.accept("thing").await;
    let machine = machine.restarted(None, |folder| fs::write(folder.0.join("words"), " Now louder.").unwrap()).await;
    machine.until_tools("thing", "accepted").await;
    let before = machine.pi.server().pipeline.registry.changes();
    let error = machine.call("thing.say_hello", json!({})).await.failed("failed_precondition").clone();
    assert!(error["message"].as_str().unwrap().contains("has changed since it was accepted"), "{error}");
    let heard = fs::read_to_string(machine.dir.path().join("heard")).unwrap();
    assert!(!heard.contains("tools/call"), "nothing was called: {heard}");
    machine.changed(before).await;
    assert_eq!(machine.call("thing.number", json!({})).await.ok(), &json!({"n": 1}), "the others stay");
    let tools = machine.state("thing").await["tools"].as_array().unwrap().clone();
    let state =
        |name: &str| tools.iter().find(|tool| tool["name"].as_str().unwrap().ends_with(name)).unwrap()["state"].clone();
    assert_eq!((state("say_hello"), state("number")), (json!("changed"), json!("accepted")));
    // Accepted as it is now, it stays so.
    machine.accept("thing").await;
    let machine = machine.restarted(None, |_| {}).await;
    machine.until_tools("thing", "accepted").await;
    machine.call("thing.say_hello", json!({})).await.ok();
}

/// A program that another has taken the place of is off before it is started.
#[tokio::test]
async fn another_program_is_not_started() {
    let machine = server().await;
    machine.accept("thing").await;
    let machine =
        machine.restarted(None, |folder| drop(folder.program("server", &format!("{}#", super::mcp::SERVER)))).await;
    machine.until_tools("thing", "changed").await;
    let names = listed(&mut machine.pi.on(Door::Stdio).await).await;
    assert!(!names.iter().any(|name| name.starts_with("thing.")), "{names:?}");
    assert_eq!(starts(&machine), 0);
}

/// Accepted by a release that kept no descriptors, restored from a backup, or with a damaged file: it is started once.
#[tokio::test]
async fn without_its_descriptors_it_is_started_once_to_describe_itself() {
    let mut machine = server().await;
    machine.accept("thing").await;
    let others = ["{\"thing\": 7", "{\"other\": {\"x\": {}}}", "{\"thing\": {\"unnamed\": {}}}"];
    for damaged in [None].into_iter().chain(others.map(Some)) {
        let file = kept(&machine);
        machine = machine
            .restarted(None, |_| match damaged {
                None => fs::remove_file(file).unwrap(),
                Some(text) => fs::write(file, text).unwrap(),
            })
            .await;
        machine.until_tools("thing", "accepted").await;
        machine.call("thing.say_hello", json!({})).await.ok();
        assert_eq!(starts(&machine), 1, "{damaged:?}");
        machine = machine.restarted(None, |_| {}).await;
        machine.until_tools("thing", "accepted").await;
        assert_eq!(starts(&machine), 0, "it is known again");
    }
}

#[tokio::test]
async fn what_is_revoked_is_not_kept() {
    let machine = server().await;
    machine.accept("thing").await;
    assert!(fs::read_to_string(kept(&machine)).unwrap().contains("Says hello."));
    machine.answered(What::Revoke { agent: "thing".into() }, "").await.unwrap();
    assert!(!fs::read_to_string(kept(&machine)).unwrap().contains("Says hello."));
    let machine = machine.restarted(None, |_| {}).await;
    machine.until_tools("thing", "unknown").await;
    assert_eq!(starts(&machine), 0);
}
