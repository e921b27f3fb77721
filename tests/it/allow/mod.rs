//! `raspi-mcp allow`: refusals that name every closed gate, and servers that take a change while they run.

mod files;
mod lists;
pub mod walk;
mod width;
mod write;

use crate::support::served::{Door, Pi, Wire, soon, token};
use agent::operations as op;
use base::error::ToolError;
use contract::{
    access::caller::{Caller, Transport},
    config::{Grant, Sources, fragment_of},
    meta::{Meta, Role},
};
use raspi_mcp::{
    allow::{self, AppliedGrant, GrantChange},
    registry::Registry,
};
use serde_json::{Value, json};

fn meta(tool: &str) -> &'static Meta {
    Registry::new(raspi_mcp::tools::NAMESPACES).resolve(tool).unwrap().0.row().unwrap().meta
}

/// The grant of one tool for these callers.
fn grant(tool: &str, callers: &[&str]) -> Grant {
    let callers = callers.iter().map(|caller| (*caller).to_owned()).collect();
    Grant { tool: tool.into(), callers, by: "tester".into(), ..Grant::default() }
}

fn perform(grant: Grant, way: allow::GrantAction, sources: &Sources) -> Result<AppliedGrant, ToolError> {
    let meta = meta(&grant.tool);
    allow::perform(&GrantChange { grant, policy: None }, way, meta, sources)
}

fn open(grant: Grant, sources: &Sources) -> Result<AppliedGrant, ToolError> {
    perform(grant, allow::GrantAction::Open { ask: false }, sources)
}

fn close(grant: Grant, sources: &Sources) -> Result<AppliedGrant, ToolError> {
    perform(grant, allow::GrantAction::Close, sources)
}

/// Of each gate that a refusal tells, whether it is closed.
fn gates(refusal: &Value) -> Vec<(String, bool)> {
    let gates = refusal["details"]["gates"].as_array().unwrap_or_else(|| panic!("no gates in {refusal:#}"));
    let told = |gate: &Value| (gate["gate"].as_str().unwrap().to_owned(), gate["closed"].as_bool().unwrap());
    gates.iter().map(told).collect()
}

fn high(pin: u8) -> Value {
    json!({ "pin": pin, "value": "high" })
}

async fn listed(wire: &mut Wire) -> Vec<String> {
    let answer = wire.request("tools/list", json!({})).await;
    let tools = answer.result()["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["_meta"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The next message, which has to be the news of another list.
async fn news(wire: &mut Wire) {
    let message = soon(wire.next()).await.expect("the connection lasts").message;
    assert_eq!(message["method"], "notifications/tools/list_changed", "{message:#}");
}

#[tokio::test]
async fn a_refusal_names_every_closed_gate_and_the_one_command_that_opens_them() {
    let (pi, _) = Pi::of_site(&[("10-site.toml", "[policy]\n\"gpio.set_pwm\" = \"deny\"\n")]).await;
    let mut api = pi.on(Door::Api).await;
    let answer = api.call("gpio.write_pin", high(17)).await;
    let refusal = answer.failed("permission_denied");
    let told = [("role", true), ("namespace", true), ("list", false), ("policy", false)];
    assert_eq!(gates(refusal), told.map(|(gate, closed)| (gate.to_owned(), closed)));
    let (message, hint) = (refusal["message"].as_str().unwrap(), refusal["hint"].as_str().unwrap());
    assert!(message.starts_with("gpio.write_pin needs role ops_rw"), "{message}");
    assert!(message.contains("namespace gpio is not enabled"), "{message}");
    assert!(hint.contains("`raspi-mcp allow gpio.write_pin --pin 17 --for loopback`"), "{hint}");
    assert_eq!(refusal["details"]["required_role"], "ops_rw", "what was told before is told still");

    let pwm = json!({ "pin": 18, "frequency_hz": 50, "duty_cycle_percent": 5 });
    let answer = api.call("gpio.set_pwm", pwm).await;
    let refusal = answer.failed("permission_denied");
    assert!(gates(refusal).contains(&("policy".to_owned(), true)), "{refusal:#}");
    assert!(refusal["hint"].as_str().unwrap().contains("--for loopback --ask"), "{refusal:#}");

    // Over stdio there are no tokens, and no hint speaks of one.
    let mut stdio = pi.stdio(Caller::new("stdio", Role::ReadOnly, Transport::Stdio));
    let answer = stdio.call("gpio.write_pin", high(17)).await;
    let refusal = answer.failed("permission_denied").clone();
    let hint = refusal["hint"].as_str().unwrap();
    assert!(hint.contains("--pin 17 --for stdio`") && !hint.contains("token"), "{hint}");
    assert_eq!(refusal["details"]["gates"][0]["by"], "access.stdio_role");

    // Who has the role is not offered it.
    let mut admin = pi.stdio(Caller::new("token:desk", Role::Admin, Transport::Http));
    let answer = admin.call("service.restart", json!({ "service_name": "web; reboot" })).await;
    let hint = answer.failed("permission_denied")["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`raspi-mcp allow service.restart`") && !hint.contains("reboot"), "{hint}");
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_opened_counts_on_the_same_connection_and_ends_with_revoke() {
    let (pi, sources) = Pi::of_site(&[]).await;
    let mut stdio = pi.stdio(Caller::new("stdio", Role::ReadOnly, Transport::Stdio));
    stdio.initialize("2025-11-25", "a client").await.result();
    // The server knows of the conversation once it has answered in it after "initialized".
    stdio.request("ping", json!({})).await.result();
    let mut api = pi.on(Door::Api).await;
    api.call("gpio.write_pin", high(17)).await.failed("permission_denied");
    assert!(!listed(&mut api).await.contains(&"gpio.write_pin".to_owned()));

    let mut for_both = grant("gpio.write_pin", &["loopback", "stdio"]);
    for_both.pins.insert(17);
    let done = open(for_both, &sources).unwrap();
    assert_eq!(done.path, fragment_of(&sources.places.site_dir, "gpio"));
    api.call("gpio.write_pin", high(17)).await.ok();
    assert!(listed(&mut api).await.contains(&"gpio.write_pin".to_owned()));
    news(&mut stdio).await;
    // One tool, and no other of its namespace.
    let answer = stdio.call("gpio.configure_pin", json!({ "pin": 17, "mode": "input" })).await;
    assert_eq!(answer.failed("permission_denied")["details"]["required_role"], "ops_rw");
    let status = stdio.call("manage.get_server_status", json!({})).await;
    assert_eq!(status.ok()["config_summary"]["tools"]["allow"][0]["tool"], "gpio.write_pin");

    close(grant("gpio.write_pin", &["loopback"]), &sources).unwrap();
    api.call("gpio.write_pin", high(17)).await.failed("permission_denied");
    news(&mut stdio).await;
    close(grant("gpio.write_pin", &[]), &sources).unwrap();
    assert!(!done.path.exists(), "a fragment that says nothing goes");
    news(&mut stdio).await;
    stdio.call("gpio.write_pin", high(17)).await.failed("permission_denied");
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn the_half_with_root_takes_it_as_well() {
    let (pi, sources) = Pi::of_site(&[]).await;
    let (mut api, web) = (pi.on(Door::Api).await, json!({ "service_name": "web" }));
    api.call("service.restart", web.clone()).await.failed("permission_denied");
    open(grant("service.restart", &["loopback"]), &sources).unwrap();
    api.call("service.restart", web.clone()).await.ok();
    // The agent has its own judgement: with the server's alone, nothing would be done.
    let agent = &pi.server().pipeline.services.agent;
    assert_eq!(agent.get::<op::status::GetStatus>().await.unwrap().faults, [""; 0]);
    close(grant("service.restart", &[]), &sources).unwrap();
    api.call("service.restart", web).await.failed("permission_denied");
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_fragment_that_is_not_understood_changes_nothing_and_is_reported() {
    let (pi, sources) = Pi::of_site(&[]).await;
    let mut api = pi.on(Door::Api).await;
    let done = open(grant("service.restart", &["loopback"]), &sources).unwrap();
    let web = json!({ "service_name": "web" });
    api.call("service.restart", web.clone()).await.ok();
    let good = std::fs::read_to_string(&done.path).unwrap();
    std::fs::write(&done.path, good.replace("service.restart", "service.rest")).unwrap();
    api.call("service.restart", web.clone()).await.ok();
    let status = api.call("manage.get_server_status", json!({})).await;
    let faults = status.ok()["config_faults"].to_string();
    assert!(faults.contains("50-allow-service.toml") && faults.contains("did you mean"), "{faults}");
    let faults = pi.server().pipeline.services.agent.get::<op::status::GetStatus>().await.unwrap().faults;
    assert!(faults.iter().any(|fault| fault.contains("50-allow-service.toml")), "{faults:?}");
    // Nor is anything written over it.
    let refused = open(grant("service.stop", &["loopback"]), &sources).unwrap_err();
    assert!(refused.message.contains("nothing was written"), "{refused:?}");
    std::fs::write(&done.path, good).unwrap();
    api.call("service.restart", web).await.ok();
    let status = api.call("manage.get_server_status", json!({})).await;
    assert_eq!(status.ok()["config_faults"], json!([]));
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_person_is_warned_of_a_release_in_the_other_slot_that_would_not_understand_it() {
    let (pi, _) = Pi::of_site(&[]).await;
    let services = &pi.server().pipeline.services;
    let folder = &services.settings.places.agent_state_dir;
    let mut status = services.agent.get::<op::update::GetUpdateStatus>().await.unwrap();
    let at = |running| move |slot: &update::status::SlotStatus| slot.running == running;
    let (ours, other) =
        (status.slots.iter().position(at(true)).unwrap(), status.slots.iter().position(at(false)).unwrap());
    // The release that runs has said it.
    let file = |slot: usize| folder.join(format!("known-settings-{}.json", status.slots[slot].slot));
    let (mine, theirs) = (file(ours), file(other));
    let kept = async {
        while !mine.exists() {
            tokio::task::yield_now().await;
        }
    };
    soon(kept).await;
    assert_eq!(agent::knows(folder, &status.slots[ours], "tools.allow"), Some(true));
    status.slots[other].version = None;
    assert_eq!(agent::other_release_warning(&status, folder, &agent::GRANTS), None, "there is no other release");
    status.slots[other].version = Some("1.0.0".into());
    assert!(agent::other_release_warning(&status, folder, &agent::GRANTS).unwrap().contains("1.0.0, has not said"));
    let says = |version: &str, keys: &[&str]| {
        std::fs::write(&theirs, json!({ "version": version, "keys": keys }).to_string()).unwrap();
        agent::other_release_warning(&status, folder, &agent::GRANTS)
    };
    assert!(says("1.0.0", &["tools.enable"]).unwrap().contains("does not know"));
    assert!(says("0.9.0", &["tools.allow"]).unwrap().contains("has not said"), "that one was there before");
    assert_eq!(says("1.0.0", &["tools.allow"]), None);
    // Of a section that it does not know as well.
    let fleet = agent::other_release_warning(&status, folder, &agent::FLEET).unwrap();
    assert!(fleet.contains("1.0.0, does not know fleet.name"), "{fleet}");
    says("1.0.0", &["fleet.name"]);
    assert_eq!(agent::other_release_warning(&status, folder, &agent::FLEET), None);
    assert_eq!(agent::knows(folder, &status.slots[ours], "fleet.name"), Some(true));
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_grant_for_one_token_is_for_no_other() {
    let ((_, one), (_, other)) = (token("one", Role::ReadOnly), token("other", Role::OpsRw));
    let (pi, sources) = Pi::of_site(&[]).await;
    open(grant("service.restart", &["token:one"]), &sources).unwrap();
    let web = json!({ "service_name": "web" });
    let caller = |name: &str, role| Caller::new(format!("token:{name}"), role, Transport::Http);
    pi.stdio(caller(&one.name, one.role)).call("service.restart", web.clone()).await.ok();
    let mut stranger = pi.stdio(caller(&other.name, other.role));
    let answer = stranger.call("service.restart", web.clone()).await;
    assert_eq!(gates(answer.failed("permission_denied"))[..2], [("role".into(), false), ("namespace".into(), true)]);
    // For everybody, it is for whoever has the role.
    open(grant("service.restart", &[]), &sources).unwrap();
    stranger.call("service.restart", web.clone()).await.ok();
    pi.stdio(caller("third", Role::ReadOnly)).call("service.restart", web).await.failed("permission_denied");
    pi.stop().await.unwrap();
}
