//! What the router answers, without a network.

use routeros_simulator::{Answer, Fault, Profile, Request, Router, management};
use serde_json::{Map, Value, json};
use std::time::Duration;

const PASSWORD: &str = "correct horse";

fn ask_as(router: &Router, user: &str, method: &str, path: &str, body: Value) -> Answer {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query = query
        .split('&')
        .filter_map(|part| part.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let body: Map<String, Value> =
        if body.is_null() { Map::new() } else { body.as_object().expect("an object").clone() };
    let credentials = Some((user.to_owned(), PASSWORD.to_owned()));
    router.answer(&Request { method: method.into(), path: path.into(), query, body, credentials })
}

fn ask(router: &Router, method: &str, path: &str, body: Value) -> Answer {
    ask_as(router, "raspi", method, path, body)
}

fn ok(router: &Router, method: &str, path: &str, body: Value) -> Value {
    let answer = ask(router, method, path, body);
    assert!(answer.status < 300, "{method} {path}: {answer:?}");
    answer.body.unwrap_or(Value::Null)
}

fn refused(router: &Router, method: &str, path: &str, body: Value) -> String {
    let (before, writes) = (router.export(), router.writes());
    let answer = ask(router, method, path, body);
    assert_eq!((answer.status, answer.wrote), (400, false), "{answer:?}");
    assert_eq!((router.export(), router.writes()), (before, writes), "a refused request changes nothing");
    answer.body.expect("an error has a body")["detail"].as_str().expect("a detail").to_owned()
}

fn at_7_21() -> Router {
    Router::new(Profile::V7_21)
}

#[test]
fn everything_is_text_and_rows_have_ids() {
    for profile in Profile::ALL {
        let router = Router::new(profile);
        let resource = ok(&router, "GET", "system/resource", Value::Null);
        assert_eq!(resource["version"], profile.version());
        let addresses = ok(&router, "GET", "ip/address", Value::Null);
        let first = &addresses[0];
        assert_eq!(
            (&first["address"], &first["disabled"], &first["network"]),
            (&json!("192.168.88.1/24"), &json!("false"), &json!("192.168.88.0"))
        );
        let id = first[".id"].as_str().expect("an id");
        assert_eq!(&ok(&router, "GET", &format!("ip/address/{id}"), Value::Null), first);
        assert!(resource.as_object().expect("an object").values().all(Value::is_string));
        let radio = if profile.has_wireless() {
            ("interface/wireless", "interface/wifi")
        } else {
            ("interface/wifi", "interface/wireless")
        };
        ok(&router, "GET", radio.0, Value::Null);
        assert!(refused(&router, "GET", radio.1, Value::Null).starts_with("no such command"));
    }
}

#[test]
fn filters_projections_and_queries_choose() {
    let router = at_7_21();
    let rows = ok(&router, "GET", "interface?type=ether&.proplist=name,running", Value::Null);
    assert_eq!((rows.as_array().expect("rows").len(), &rows[0]), (5, &json!({ "name": "ether1", "running": "true" })));
    let query = json!({ ".proplist": ["name"], ".query": ["name=ether1", "name=bridge", "#|", "running=true"] });
    assert_eq!(ok(&router, "POST", "interface/print", query), json!([{ "name": "ether1" }, { "name": "bridge" }]));
    assert_eq!(refused(&router, "GET", "ip/address?colour=red", Value::Null), "unknown parameter colour");
}

#[test]
fn a_row_is_added_changed_moved_and_removed() {
    let router = at_7_21();
    let added = ask(
        &router,
        "PUT",
        "ip/firewall/filter",
        json!({ "chain": "input", "action": "drop", "src-address": "198.51.100.0/24", "comment": "x" }),
    );
    assert_eq!((added.status, added.wrote), (201, true));
    let id = added.body.expect("the row")[".id"].as_str().expect("an id").to_owned();
    let place = |router: &Router| router.rows("ip/firewall/filter").iter().position(|row| row.id.to_string() == id);
    assert_eq!(place(&router), Some(8));
    let first = router.rows("ip/firewall/filter")[0].id.to_string();
    ok(&router, "POST", "ip/firewall/filter/move", json!({ "numbers": id, "destination": first }));
    assert_eq!(place(&router), Some(0));
    assert_eq!(
        ok(&router, "PATCH", &format!("ip/firewall/filter/{id}"), json!({ "disabled": "yes" }))["disabled"],
        "true"
    );
    assert_eq!(ask(&router, "DELETE", &format!("ip/firewall/filter/{id}"), Value::Null).status, 204);
    assert_eq!(ask(&router, "DELETE", &format!("ip/firewall/filter/{id}"), Value::Null).status, 404);
}

#[test]
fn what_a_router_refuses_is_refused_in_its_words() {
    let router = at_7_21();
    for (method, path, body, words) in [
        (
            "PUT",
            "ip/address",
            json!({ "address": "192.168.88.1/24", "interface": "bridge" }),
            "failure: already have such address",
        ),
        (
            "PUT",
            "ip/address",
            json!({ "address": "192.0.2.1/24", "interface": "ether9" }),
            "input does not match any value of interface",
        ),
        (
            "PUT",
            "ip/address",
            json!({ "address": "192.0.2.1/33", "interface": "bridge" }),
            "invalid value for argument address",
        ),
        ("PUT", "ip/address", json!({ "address": "192.0.2.1/24" }), "missing value(s) of argument(s) interface"),
        (
            "PUT",
            "ip/address",
            json!({ "address": "192.0.2.1/24", "interface": "bridge", "vrf": "x" }),
            "unknown parameter vrf",
        ),
        (
            "PUT",
            "ip/firewall/filter",
            json!({ "chain": "input", "action": "dorp" }),
            "input does not match any value of action",
        ),
        ("PATCH", "system/identity", json!({ "name": "attic" }), "missing or invalid resource identifier"),
        ("PUT", "user", json!({ "name": "x", "group": "full" }), "not enough permissions (9)"),
        ("PUT", "ip/colour", json!({}), "no such command or directory (colour)"),
        ("POST", "export", json!({ "show-sensitive": "" }), "not enough permissions (9)"),
    ] {
        assert_eq!(refused(&router, method, path, body), words, "{method} {path}");
    }
    let dynamic = router.rows("ip/address").iter().find(|row| row.is("dynamic")).expect("a dynamic one").id;
    assert!(refused(&router, "DELETE", &format!("ip/address/{dynamic}"), Value::Null).contains("dynamic"));
    assert_eq!(ok(&router, "POST", "system/identity/set", json!({ "name": "attic" })), json!([]));
    assert_eq!(ok(&router, "GET", "system/identity", Value::Null), json!({ "name": "attic" }));
    router.fault(Fault::DiskFull);
    assert_eq!(
        refused(&router, "POST", "system/identity/set", json!({ "name": "porch" })),
        "failure: not enough space on disk"
    );
    assert_eq!(ask_as(&router, "nobody", "GET", "system/identity", Value::Null).status, 401);
    assert_eq!(ask_as(&router, "reader", "POST", "ip/dns/cache/flush", Value::Null).status, 400);
}

#[test]
fn a_version_without_a_parameter_refuses_it() {
    assert_eq!(
        refused(&Router::new(Profile::V7_12), "POST", "ip/dns/set", json!({ "vrf": "main" })),
        "unknown parameter vrf"
    );
    ok(&at_7_21(), "POST", "ip/dns/set", json!({ "vrf": "main" }));
}

#[test]
fn monitor_without_once_blocks() {
    let router = at_7_21();
    assert!(ask(&router, "POST", "interface/monitor-traffic", json!({ "interface": "ether1" })).blocks);
    let once = ask(&router, "POST", "interface/monitor-traffic", json!({ "interface": "ether1", "once": "" }));
    assert!(!once.blocks && once.body.expect("rows")[0]["name"] == "ether1");
}

#[test]
fn an_export_has_no_secret_and_comes_by_execute() {
    let router = at_7_21();
    ok(
        &router,
        "PUT",
        "ip/address",
        json!({ "address": "192.0.2.1/24", "interface": "bridge", "comment": "a \"b\" $c" }),
    );
    let export = ok(&router, "POST", "execute", json!({ "script": "/export", "as-string": "" }))["ret"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(export.contains(r#"add address=192.0.2.1/24 comment="a \"b\" \$c" interface=bridge"#), "{export}");
    assert!(
        !export.contains(PASSWORD) && !export.contains("long secret") && !export.contains("203.0.113.20"),
        "{export}"
    );
}

/// What cuts the client off: each as a request, and its inverse as a script.
fn cuts() -> [(&'static str, &'static str, Value, &'static str); 7] {
    [
        (
            "PUT",
            "ip/firewall/filter",
            json!({ "chain": "input", "action": "drop", "src-address": "192.168.88.10", "place-before": "FIRST", "comment": "cut" }),
            "/ip/firewall/filter/disable [find comment=cut]",
        ),
        (
            "PUT",
            "ip/route",
            json!({ "dst-address": "192.168.88.10/32", "gateway": "203.0.113.1", "comment": "cut" }),
            "/ip/route/disable [find comment=cut]",
        ),
        (
            "PATCH",
            "ip/address/HOME",
            json!({ "address": "192.168.77.1/24" }),
            "/ip/address/set [find interface=bridge] address=192.168.88.1/24",
        ),
        (
            "PATCH",
            "interface/bridge/port/ether2",
            json!({ "disabled": "yes" }),
            "/interface/bridge/port/enable [find interface=ether2]",
        ),
        ("PATCH", "interface/bridge", json!({ "disabled": "yes" }), "/interface/bridge/enable [find name=bridge]"),
        ("PATCH", "ip/service/www-ssl", json!({ "disabled": "yes" }), "/ip/service/enable [find name=www-ssl]"),
        ("PATCH", "interface/ether2", json!({ "disabled": "yes" }), "/interface/ethernet/enable [find name=ether2]"),
    ]
}

/// The path of a cut, with the ids of this router.
fn resolved(router: &Router, path: &str, body: &mut Value) -> String {
    let id = |menu: &str, field: &str, value: &str| {
        router.rows(menu).iter().find(|row| row.get(field) == value).expect("a row").id.to_string()
    };
    if body["place-before"] == "FIRST" {
        body["place-before"] = router.rows("ip/firewall/filter")[0].id.to_string().into();
    }
    match path {
        "ip/address/HOME" => format!("ip/address/{}", id("ip/address", "interface", "bridge")),
        "interface/bridge/port/ether2" => {
            format!("interface/bridge/port/{}", id("interface/bridge/port", "interface", "ether2"))
        }
        "interface/bridge" => format!("interface/bridge/{}", id("interface/bridge", "name", "bridge")),
        other => other.to_owned(),
    }
}

#[test]
fn a_change_that_cuts_us_off_does_so_until_the_scheduler_takes_it_back() {
    for (method, path, mut body, inverse) in cuts() {
        let router = at_7_21();
        let entry = json!({ "name": "back", "interval": "2m", "policy": "read,write", "on-event": format!(":do {{ {inverse} }} on-error={{}}\n/system/scheduler/disable [find name=back]") });
        ok(&router, "PUT", "system/scheduler", entry);
        let path = resolved(&router, path, &mut body);
        ok(&router, method, &path, body);
        assert!(!router.admits(true), "{path} does not cut us off");
        router.advance(Duration::from_secs(119));
        assert!(!router.admits(true), "{path}: too early");
        router.advance(Duration::from_secs(1));
        assert!(router.admits(true), "{path}: {inverse} does not bring us back: {:?}", router.rows("log").last());
        let entry = &router.rows("system/scheduler")[0];
        assert_eq!((entry.get("run-count"), entry.get("disabled")), ("1", "true"));
    }
}

#[test]
fn a_rule_that_drops_new_connections_spares_the_one_that_is_there() {
    let router = at_7_21();
    let entries = json!({ "chain": "input", "action": "drop", "connection-state": "new", "place-before": router.rows("ip/firewall/filter")[0].id.to_string() });
    ok(&router, "PUT", "ip/firewall/filter", entries);
    assert!(router.admits(false) && !router.admits(true));
    assert_eq!(management::CLIENT.to_string(), "192.168.88.10");
}

#[test]
fn after_a_boot_in_1970_only_the_entry_for_the_startup_runs() {
    let router = at_7_21();
    for (name, more) in [
        ("interval", json!({ "interval": "2m" })),
        ("startup", json!({ "start-time": "startup" })),
        ("both", json!({ "start-time": "startup", "interval": "10m" })),
    ] {
        let mut entry = json!({ "name": name, "on-event": format!(":log info {name}"), "policy": "read,write" });
        entry.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        ok(&router, "PUT", "system/scheduler", entry);
    }
    router.reboot();
    assert!(!router.admits(true));
    router.advance(Duration::from_secs(320));
    assert!(router.admits(true));
    let told = |name: &str| router.rows("log").iter().filter(|row| row.get("message") == name).count();
    assert_eq!((told("startup"), told("interval"), told("both")), (1, 0, 0));
    router.advance(Duration::from_secs(600));
    assert_eq!((told("startup"), told("interval"), told("both")), (1, 0, 1));
    // A clock that jumps does not move an interval.
    let router = at_7_21();
    ok(&router, "PUT", "system/scheduler", json!({ "name": "x", "interval": "2m", "on-event": ":log info ran" }));
    router.fault(Fault::ClockJump(60));
    router.advance(Duration::from_secs(120));
    assert_eq!(router.rows("log").last().expect("a line").get("message"), "ran");
}

#[test]
fn a_script_needs_the_policy_and_a_syntax_error_runs_nothing() {
    let router = at_7_21();
    for (name, event, policy) in [
        ("reads", "/ip/dns/set servers=192.0.2.1", "read"),
        ("broken", "/ip/dns/set servers=192.0.2.1\n:do {", "read,write"),
        ("users", "/user/add name=x group=full", "read,write"),
    ] {
        ok(
            &router,
            "PUT",
            "system/scheduler",
            json!({ "name": name, "interval": "1m", "on-event": event, "policy": policy }),
        );
    }
    router.advance(Duration::from_secs(60));
    assert_eq!(ok(&router, "GET", "ip/dns", Value::Null)["servers"], "");
    assert_eq!(router.rows("user").len(), 3);
    let errors: Vec<String> = router
        .rows("log")
        .iter()
        .filter(|row| row.get("topics") == "script,error")
        .map(|row| row.get("message").to_owned())
        .collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn the_first_error_ends_a_script_and_on_error_catches_one() {
    let router = at_7_21();
    let run = |script: &str| ask(&router, "POST", "execute", json!({ "script": script, "as-string": "" }));
    assert_eq!(run("/ip/address/remove *FFF\n/system/identity/set name=after").status, 400);
    assert_eq!(ok(&router, "GET", "system/identity", Value::Null)["name"], "MikroTik");
    assert_eq!(run(":do { /ip/address/remove *FFF } on-error={}\n/system identity set name=after").status, 200);
    assert_eq!(ok(&router, "GET", "system/identity", Value::Null)["name"], "after");
    // A value that was not quoted runs what is in it.
    assert_eq!(run("/system/identity/set name=\"$[/ip/dns/cache/print]\"").status, 400);
}
