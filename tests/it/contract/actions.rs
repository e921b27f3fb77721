//! What tools do, and that a policy is about that: the table is complete, and a word about one name holds for the others.

use agent::AgentPolicy;
use contract::{
    access::policy::Policy,
    actions::{ACTIONS, DOES, Does, of_call},
    meta::{Meta, Mode},
};
use raspi_mcp::registry::Registry;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Reads that show a room, a person's files or what somebody did: they have an action, too.
const PRIVATE: &[&str] = &[
    "camera.get_photo",
    "files.read",
    "files.list",
    "logs.query_journal",
    "logs.get_recent_app_logs",
    "logs.get_recent_audit_logs",
    "process.get_process_details",
    "i2c.read",
    "i2c.identify",
    "i2c.scan_bus",
    "gpio.read_pin",
    "gpio.wait_for_edge",
];

/// A call of every kind that a tool has.
fn calls(tool: &str) -> Vec<Value> {
    match tool {
        "service.control_service" => {
            ["start", "stop", "restart", "reload"].map(|action| json!({ "action": action })).into()
        }
        "service.set_enabled" => [true, false].map(|enabled| json!({ "enabled": enabled })).into(),
        "gpio.configure_pin" => ["input", "output"].map(|mode| json!({ "mode": mode })).into(),
        "i2c.transfer" => [json!({ "data": [] }), json!({ "data": [1] })].into(),
        _ => vec![json!({})],
    }
}

fn meta(tool: &str) -> &'static Meta {
    Registry::new(raspi_mcp::tools::NAMESPACES).rows().find(|entry| entry.name() == tool).unwrap().meta
}

/// A server's policy with that one line, everything enabled.
fn server(name: &str, mode: Mode) -> Policy {
    let mut policy = Policy::read_only();
    policy
        .enabled
        .extend(Registry::new(raspi_mcp::tools::NAMESPACES).rows().map(|entry| entry.meta.namespace().to_owned()));
    policy.modes.insert(name.into(), mode);
    policy
}

fn agent(name: &str, mode: Mode) -> AgentPolicy {
    let mut policy = AgentPolicy::default();
    policy
        .namespaces
        .extend(Registry::new(raspi_mcp::tools::NAMESPACES).rows().map(|entry| entry.meta.namespace().to_owned()));
    policy.modes.insert(name.into(), mode);
    policy
}

#[test]
fn every_tool_that_changes_something_says_what_it_does_and_so_does_every_private_read() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    for entry in registry.rows() {
        let declared = Does::of(entry.name()).is_some_and(|does| !does.own.is_empty());
        // What runs another tool does what that one does.
        let needed = entry.meta.effect.is_write() && !entry.carries() || PRIVATE.contains(&entry.name());
        assert!(declared || !needed, "{} is not in crates/contract/src/actions/table.rs", entry.name());
    }
    let known: BTreeSet<&str> = ACTIONS.iter().map(|(action, _)| *action).collect();
    let done: BTreeSet<&str> = DOES.iter().flat_map(|does| does.own).copied().collect();
    assert_eq!(known, done, "every action has a tool that is there for it, and a meaning");
    assert!(ACTIONS.windows(2).all(|pair| pair[0].0 < pair[1].0), "sorted, none twice");
    for does in DOES {
        assert_eq!(registry.rows().filter(|entry| entry.name() == does.tool).count(), 1, "{}", does.tool);
        assert_eq!(DOES.iter().filter(|other| other.tool == does.tool).count(), 1, "{} twice", does.tool);
        let (all, kinds) = (does.all(), does.kinds());
        assert!(all.iter().all(|action| known.contains(action)), "{}", does.tool);
        let of_kinds: BTreeSet<&str> = kinds.iter().flatten().copied().collect();
        assert_eq!(of_kinds, all.iter().copied().collect(), "{}", does.tool);
        let made: BTreeSet<Vec<&str>> = calls(does.tool).iter().map(|args| of_call(does.tool, args)).collect();
        assert_eq!(made, kinds.into_iter().collect(), "{}: the calls of this test", does.tool);
        // What nobody understands counts as everything.
        for odd in [json!(null), json!({ "action": 7, "enabled": "yes", "mode": null, "data": "x" }), json!([])] {
            assert_eq!(of_call(does.tool, &odd), all, "{}", does.tool);
        }
    }
}

#[test]
fn a_word_about_a_tool_or_an_action_holds_for_every_call_that_does_it() {
    let mut pairs = 0;
    for does in DOES {
        let names: Vec<(&str, &[&str])> = [(does.tool, does.own)]
            .into_iter()
            .chain(does.own.iter().map(|one| (*one, std::slice::from_ref(one))))
            .collect();
        for (name, means) in names {
            for mode in [Mode::Deny, Mode::Ask] {
                let (server, agent) = (server(name, mode), agent(name, mode));
                for other in DOES {
                    for args in calls(other.tool) {
                        let shared = other.tool == name
                            || of_call(other.tool, &args).iter().any(|action| means.contains(action));
                        let judged = server.judge(meta(other.tool), &args).unwrap_or(Mode::Deny);
                        let before = meta(other.tool).mode;
                        let expected = match (shared, other.tool == name) {
                            (true, true) => mode,
                            (true, false) => mode.max(before),
                            (false, _) => before,
                        };
                        // A word about all that a tool does stands for one about the tool: shutting down may ask.
                        let all = of_call(other.tool, &args).iter().all(|action| *action == name);
                        let expected = if shared && all { mode } else { expected };
                        assert_eq!(judged, expected, "{name} = {mode:?}: {} {args}", other.tool);
                        if shared {
                            pairs += usize::from(other.tool != does.tool);
                            assert!(
                                agent.ruling(other.tool, &args).mode >= judged.min(mode),
                                "agent, {name}: {} {args}",
                                other.tool
                            );
                            if mode == Mode::Deny {
                                assert!(
                                    agent.check_call(other.tool, &args).is_err(),
                                    "agent, {name}: {} {args}",
                                    other.tool
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{pairs} calls of another tool were judged by a word about the first");
    assert!(pairs > 20);
}

#[test]
fn the_strictest_word_wins_and_an_allow_takes_none_away() {
    for (lines, tool, args, expected) in [
        (
            vec![("camera.capture", Mode::Ask), ("camera.take_photo", Mode::Allow)],
            "camera.take_photo",
            json!({}),
            Mode::Ask,
        ),
        (
            vec![("camera:capture", Mode::Deny), ("camera.capture", Mode::Allow)],
            "camera.capture",
            json!({}),
            Mode::Deny,
        ),
        (vec![("manage.update_server", Mode::Allow)], "manage.apply_os_updates", json!({}), Mode::Ask),
        (
            vec![("manage.update_server", Mode::Allow), ("system.reboot", Mode::Ask)],
            "manage.update_server",
            json!({}),
            Mode::Ask,
        ),
        (vec![("system:shutdown", Mode::Ask)], "system.shutdown", json!({}), Mode::Ask),
        (vec![("system:reboot", Mode::Allow)], "manage.rollback", json!({}), Mode::Ask),
        (vec![("service.start", Mode::Deny)], "service.restart", json!({}), Mode::Deny),
        (vec![("service.stop", Mode::Deny)], "service.restart", json!({}), Mode::Allow),
        (vec![("service.stop", Mode::Deny)], "service.control_service", json!({"action": "reload"}), Mode::Allow),
        (vec![("gpio.set_pwm", Mode::Deny)], "gpio.write_pin", json!({}), Mode::Allow),
        (vec![("gpio.write_pin", Mode::Deny)], "gpio.set_pwm", json!({}), Mode::Deny),
    ] {
        let mut policy = server("", Mode::Allow);
        policy.modes = lines.iter().map(|(name, mode)| ((*name).to_owned(), *mode)).collect();
        assert_eq!(policy.judge(meta(tool), &args).unwrap_or(Mode::Deny), expected, "{lines:?}: {tool} {args}");
    }
}

#[test]
fn a_tool_is_off_when_all_that_it_can_do_is_denied_and_says_whose_word_it_was() {
    let policy = server("service.restart", Mode::Deny);
    assert!(policy.off(meta("service.control_service")).is_none(), "it starts and stops");
    let refused = policy.judge(meta("service.control_service"), &json!({"action": "restart"})).unwrap_err();
    assert_eq!(refused.details["decided_by"], "policy.\"service.restart\"");
    assert!(refused.message.contains("service:restart"), "{refused}");
    let off = server("camera.capture", Mode::Deny).off(meta("camera.take_photo")).unwrap();
    assert_eq!(off.details["decided_by"], "policy.\"camera.capture\"");
    assert!(off.message.contains("camera:capture") && off.message.contains("policy.\"camera.capture\""), "{off}");

    let mut policy = server("", Mode::Allow);
    policy.modes.clear();
    policy.disabled.insert("camera.capture".into());
    let off = policy.off(meta("camera.take_photo")).expect("who switches it off means pictures");
    assert!(off.message.contains("tools.disable has \"camera.capture\""), "{off}");
    assert!(policy.off(meta("camera.get_photo")).is_none());
}

#[test]
fn the_table_of_the_policy_says_what_holds_and_by_whose_word() {
    let table = raspi_mcp::cli::tools::table(
        &Registry::new(raspi_mcp::tools::NAMESPACES),
        &server("service.restart", Mode::Deny),
    );
    let line = |tool: &str| table.lines().find(|line| line.starts_with(&format!("| `{tool}` "))).unwrap().to_owned();
    assert!(line("service.restart").contains("| deny (policy.\"service.restart\") |"), "{}", line("service.restart"));
    let control = line("service.control_service");
    assert!(
        control.contains("| allow; `service:restart`, `service:start`: deny (policy.\"service.restart\") |"),
        "{control}"
    );
    assert!(line("service:restart").contains("`service.control_service`, `service.restart`"));
}
