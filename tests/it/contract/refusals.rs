//! Every refusal of a permission names the permission and the thing, and the way out that the caller's door has.

use super::tools::arguments;
use crate::support::served::{Door, Pi, token};
use crate::support::settings::allow_everything;
use contract::{
    access::caller::{Caller, Transport},
    config::Settings,
    meta::{Mode, Role},
};
use raspi_mcp::registry::{Registry, row::ToolRow};
use serde_json::{Value, json};

/// What a refused call is about, by the names of its arguments.
const THINGS: &[&str] = &[
    "pin",
    "bus",
    "address",
    "service_name",
    "path",
    "command",
    "pid",
    "connection",
    "job_id",
    "hostname",
    "name",
    "plan_id",
];

/// The refusal of `entry` called with `args` says all that it has to.
fn says_all(entry: &'static ToolRow, args: &Value, error: &Value) {
    let (details, tool) = (&error["details"], entry.name());
    let permission = details["required_permission"].as_str().unwrap_or_else(|| panic!("{tool}: {error}"));
    let mut parts = permission.split(':');
    assert_eq!(parts.next(), Some(entry.meta.namespace()), "{tool}: {error}");
    assert!(parts.next().is_some_and(|action| !action.is_empty()), "{tool}: {error}");
    assert_eq!(details["tool"], tool);
    for thing in THINGS.iter().filter(|thing| args.get(**thing).is_some()) {
        assert_eq!(details[thing], args[thing], "{tool}: {error}");
        assert!(parts.next().is_some_and(|named| !named.is_empty()), "{tool} about {thing}: {error}");
    }
}

/// Its name, what the configuration says, and the caller's role.
type Way = (&'static str, fn(&mut Settings), Role);

/// Ways to refuse every tool that changes something, or every tool.
fn ways() -> Vec<Way> {
    vec![
        ("role", allow_everything, Role::ReadOnly),
        ("namespace", |_| {}, Role::Admin),
        ("switched off", |settings| settings.tools.disable.extend(names()), Role::Admin),
        (
            "policy",
            |settings| {
                allow_everything(settings);
                settings.policy.extend(names().into_iter().map(|name| (name, Mode::Deny)));
            },
            Role::Admin,
        ),
        (
            "configuration",
            |settings| {
                allow_everything(settings);
                settings.restricted.push("a fault".into());
            },
            Role::Admin,
        ),
    ]
}

fn names() -> Vec<String> {
    Registry::new(raspi_mcp::tools::NAMESPACES).rows().map(|entry| entry.name().to_owned()).collect()
}

#[tokio::test]
async fn every_refusal_of_a_permission_names_the_permission_and_the_thing() {
    for (way, change, role) in ways() {
        let pi = Pi::standard(|settings| {
            change(settings);
            settings.limits.reads_per_minute = 10_000;
            settings.limits.writes_per_minute = 10_000;
        })
        .await;
        let mut wire = pi.stdio(Caller::new("stdio", role, Transport::Stdio));
        let mut refused = 0;
        for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
            let everything = matches!(way, "policy" | "switched off");
            if !everything && entry.meta.role == Role::ReadOnly {
                continue;
            }
            let args = arguments(entry);
            let answer = wire.call(entry.name(), args.clone()).await;
            says_all(entry, &args, answer.failed("permission_denied"));
            let bare = wire.request(entry.name(), args.clone()).await;
            says_all(entry, &args, &bare.fault(-32001)["data"]);
            refused += 1;
        }
        assert!(refused > 20, "{way}: {refused}");
    }
}

#[tokio::test]
async fn what_a_list_does_not_name_is_refused_alike_and_exists_for_nobody() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.gpio.allow = [17].into();
        settings.service.allow = vec!["web.service".into()];
        settings.i2c.buses = serde_json::from_value(json!([{"bus": 1, "addresses": ["0x50"]}])).unwrap();
        settings.camera.allow.clear();
        settings.camera.allow.push("/dev/video9".into());
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    for (tool, args, permission) in [
        ("gpio.write_pin", json!({"pin": 18, "value": 1}), "gpio:write:18"),
        ("gpio.read_pin", json!({"pin": 18}), "gpio:read:18"),
        ("gpio.set_pwm", json!({"pin": 0, "frequency_hz": 1, "duty_cycle_percent": 1}), "gpio:write:0"),
        ("i2c.read", json!({"bus": 1, "address": 72, "length": 1}), "i2c:read:1:0x48"),
        ("i2c.write", json!({"bus": 1, "address": 80, "data": [1]}), "i2c:write:1:0x50"),
        ("i2c.scan_bus", json!({"bus": 2}), "i2c:scan:2"),
        ("service.start", json!({"service_name": "worker"}), "service:start:worker.service"),
        ("service.start", json!({"service_name": "no-such"}), "service:start:no-such.service"),
        (
            "service.control_service",
            json!({"service_name": "no-such", "action": "reload"}),
            "service:reload:no-such.service",
        ),
        (
            "service.set_enabled",
            json!({"service_name": "no-such", "enabled": false}),
            "service:disable:no-such.service",
        ),
        ("files.read", json!({"path": "/etc/shadow"}), "files:read:/etc/shadow"),
        ("files.delete", json!({"path": "/"}), "files:delete:/"),
        ("exec.run", json!({"command": "rm"}), "exec:run:rm"),
        ("exec.run", json!({"command": "echo", "cwd": "/etc"}), "exec:run:echo"),
        ("exec.run", json!({"command": "echo a", "shell": true}), "exec:run:shell"),
        ("process.send_signal", json!({"pid": 1}), "process:send_signal:1"),
    ] {
        let answer = wire.call(tool, args.clone()).await;
        let error = answer.failed("permission_denied");
        assert_eq!(error["details"]["required_permission"], permission, "{tool} {args}");
        let things = THINGS.iter().filter(|thing| args.get(**thing).is_some());
        things.for_each(|thing| assert!(!error["details"][thing].is_null(), "{tool} {thing}: {error}"));
    }
}

#[tokio::test]
async fn a_service_that_may_be_touched_and_does_not_exist_is_not_found_by_every_tool() {
    let pi = Pi::standard(allow_everything).await;
    for (tool, more) in [
        ("service.start", json!({})),
        ("service.stop", json!({})),
        ("service.restart", json!({})),
        ("service.control_service", json!({"action": "start"})),
        ("service.control_service", json!({"action": "reload", "dry_run": true})),
        ("service.set_enabled", json!({"enabled": true})),
        ("service.set_enabled", json!({"enabled": false, "dry_run": true})),
    ] {
        let mut args = more;
        args["service_name"] = json!("no-such");
        let answer = pi.call(tool, args).await;
        let error = answer.failed("not_found");
        assert_eq!(error["details"]["service_name"], "no-such", "{tool}");
        assert!(error["message"].as_str().unwrap().contains("not found"), "{tool}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_way_out_of_its_own_door() {
    let (text, setting) = token("reader", Role::ReadOnly);
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.access.tokens.push(setting);
        settings.access.stdio_role = Role::ReadOnly;
    })
    .await;
    let hint = |error: &Value| error["hint"].as_str().unwrap_or_else(|| panic!("{error}")).to_owned();
    let args = json!({"pin": 17, "value": 1});
    let stdio = hint(pi.on(Door::Stdio).await.call("gpio.write_pin", args.clone()).await.failed("permission_denied"));
    assert!(stdio.contains("--role ops_rw") && !stdio.contains("token"), "{stdio}");
    for door in [Door::Http, Door::Api, Door::Ws] {
        let told = hint(pi.on(door).await.call("gpio.write_pin", args.clone()).await.failed("permission_denied"));
        assert!(told.contains("token make --role ops_rw") && told.contains("loopback_role"), "{door:?}: {told}");
    }
    let mut reader = pi.on(Door::Http).await;
    reader.post().headers.push(("authorization".into(), format!("Bearer {text}")));
    let told = hint(reader.call("gpio.write_pin", args.clone()).await.failed("permission_denied"));
    assert!(told.contains("token make --role ops_rw") && !told.contains("loopback_role"), "{told}");
    let mut unix = pi.stdio(Caller::new("uid:1000", Role::ReadOnly, Transport::Unix));
    let told = hint(unix.call("gpio.write_pin", args).await.failed("permission_denied"));
    assert!(told.contains("access.admin_group") && !told.contains("token"), "{told}");
    // The listing of what is off says the same.
    let found = pi.call("tools.search", json!({"query": "reboot"})).await;
    let reason = found.ok()["tools"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("--role admin") && !reason.contains("token"), "{reason}");
}

#[tokio::test]
async fn a_lease_says_who_has_it_until_when_and_what_this_caller_can_do() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.access.loopback_role = Role::OpsRw;
    })
    .await;
    let args = json!({"pin": 17, "value": 1});
    let mut holder = pi.stdio(Caller::new("holder", Role::OpsRw, Transport::Stdio));
    holder.call("gpio.write_pin", args.clone()).await.ok();
    let refused = |answer: crate::support::served::Answer| answer.failed("conflict").clone();
    let error = refused(pi.on(Door::Http).await.call("gpio.write_pin", args.clone()).await);
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("connection of holder ends") && hint.contains("ask an administrator"), "{hint}");
    assert!(error["details"].get("free_in_seconds").is_none() && error["details"]["lent_to"] == "holder", "{error}");
    let error = refused(pi.on(Door::Stdio).await.call("gpio.write_pin", args.clone()).await);
    assert!(error["hint"].as_str().unwrap().contains("\"force\": true"), "{error}");
    holder.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    // Over HTTP a lease ends by time.
    pi.on(Door::Http).await.call("gpio.write_pin", json!({"pin": 17, "value": 1, "lease_seconds": 7})).await.ok();
    let error = refused(holder.call("gpio.write_pin", args).await);
    let seconds = error["details"]["free_in_seconds"].as_u64().unwrap();
    assert!((1..=7).contains(&seconds), "{error}");
    assert!(error["hint"].as_str().unwrap().contains(&format!("wait {seconds} s")), "{error}");
}

#[tokio::test]
async fn an_ask_names_a_terminal_where_the_caller_has_none() {
    let pi = Pi::with(|settings| settings.approval.wait_seconds = 1).await;
    for door in [Door::Stdio, Door::Http] {
        let error = pi.on(door).await.call("test.ask", json!({})).await.failed("failed_precondition").clone();
        let hint = error["hint"].as_str().unwrap();
        let ask = error["details"]["ask_id"].as_str().unwrap();
        assert!(hint.contains(&format!("raspi-mcp approve {ask}")), "{hint}");
        assert_eq!(hint.contains("over ssh"), door == Door::Http, "{hint}");
    }
}

#[test]
fn a_section_that_is_not_understood_leaves_reads_and_what_updates_the_device() {
    use contract::{access::policy::Policy, config::RECOVERY, meta::Tier};
    let mut settings = Settings::default_for(&contract::config::Places::system());
    allow_everything(&mut settings);
    settings.restricted.push("a section".into());
    for recovers in [false, true] {
        settings.recovers = recovers;
        let policy = Policy::of(&settings);
        for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
            let (meta, name) = (entry.meta, entry.name());
            let runs = meta.tier == Tier::Fundamental || recovers && RECOVERY.contains(&name);
            assert_eq!(!policy.is_restricted(meta), runs, "{name}");
            let off = policy.off(meta);
            assert!(runs || off.is_some_and(|off| off.message.contains("was not understood")), "{name}");
        }
        assert_eq!(RECOVERY.iter().filter(|name| names().iter().any(|one| one == *name)).count(), RECOVERY.len());
    }
}
