//! Commands by POST: those of every menu, and the others that are asked for.

use crate::{
    listing::{list, split},
    menus::Menu,
    request::{Answer, Request},
    rights::Rights,
    script,
    state::State,
    table::RowId,
    timers,
};
use serde_json::{Map, Value, json};

type Done = Result<Answer, String>;

pub(crate) fn post(state: &mut State, request: &Request, rights: &Rights<'_>, policy: &str) -> Done {
    let path = request.path.trim_matches('/');
    let body = &request.body;
    let needs = |right: &str| if rights.has(right) { Ok(()) } else { Err("not enough permissions (9)".to_owned()) };
    match path {
        "interface/monitor-traffic" => {
            needs("read")?;
            return monitor(state, body);
        }
        "tool/ping" | "tool/traceroute" | "tool/bandwidth-test" => {
            needs("test")?;
            return tool(path, body);
        }
        "ip/dns/cache/flush" => {
            needs("write")?;
            state.stored_mut("ip/dns/cache").clear();
            state.writes += 1;
            return Ok(Answer::ok(json!([])));
        }
        "export" => {
            needs("read")?;
            return export(state, body);
        }
        "execute" => {
            needs("write")?;
            let output = script::run(state, text(body, "script")?, policy)?;
            let shown = if body.contains_key("as-string") {
                json!({ "ret": output.trim_end() })
            } else {
                json!({ "ret": "*1" })
            };
            return Ok(Answer::ok(shown));
        }
        "system/reboot" => {
            needs("reboot")?;
            state.writes += 1;
            timers::reboot(state);
            return Ok(Answer::ok(json!([])));
        }
        "system/script/run" => {
            needs("write")?;
            let what = body
                .get(".id")
                .or_else(|| body.get("number"))
                .and_then(Value::as_str)
                .ok_or("missing value(s) of argument(s) number")?;
            let row = state.find("system/script", what).ok_or("no such item")?;
            script::run(state, row.get("source"), row.get("policy"))?;
            return Ok(Answer::ok(json!([])));
        }
        _ => {}
    }
    let (menu, command) = split(state, path)?;
    let command = command.ok_or("no such command")?;
    if !menu.has(command) {
        return Err("no such command".into());
    }
    if matches!(command, "print" | "get" | "find") {
        needs("read")?;
        return if menu.is_singleton() {
            Ok(Answer::ok(json!([state.singleton(menu.path)])))
        } else {
            Ok(Answer::ok(list(state, menu, request)?))
        };
    }
    needs(if menu.path.starts_with("user") { "policy" } else { "write" })?;
    row_command(state, menu, command, body)
}

/// A command on rows: `set`, `add`, `remove`, `enable`, `disable`, `comment`, `move`, `unset`.
fn row_command(state: &mut State, menu: Menu, command: &str, body: &Map<String, Value>) -> Done {
    let done = Ok(Answer::ok(json!([])));
    if command == "add" {
        let id = state.add_row(menu, body)?;
        return Ok(Answer::ok(json!({ "ret": id.to_string() })));
    }
    if menu.is_singleton() {
        state.set_row(menu, None, body)?;
        return done;
    }
    let which = body
        .get(".id")
        .or_else(|| body.get("numbers"))
        .and_then(Value::as_str)
        .ok_or("missing value(s) of argument(s) numbers")?;
    let ids: Vec<RowId> = which
        .split(',')
        .map(|one| state.find(menu.path, one).map(|row| row.id).ok_or("no such item"))
        .collect::<Result<_, _>>()?;
    let before = match body.get("destination").and_then(Value::as_str) {
        Some(place) => Some(state.find(menu.path, place).ok_or("no such item")?.id),
        None => None,
    };
    let one = |name: &str, value: Value| Map::from_iter([(name.to_owned(), value)]);
    for id in ids {
        match command {
            "set" => state.set_row(menu, Some(id), body)?,
            "remove" => state.remove_row(menu, id)?,
            "enable" | "disable" => {
                state.set_row(menu, Some(id), &one("disabled", (command == "disable").to_string().into()))?
            }
            "comment" => state.set_row(menu, Some(id), &one("comment", text(body, "comment")?.into()))?,
            "unset" => state.unset_row(menu, id, text(body, "value-name")?)?,
            "move" => state.move_row(menu, id, before)?,
            _ => return Err(format!("{command} is not simulated")),
        }
    }
    done
}

fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    body.get(name).and_then(Value::as_str).ok_or_else(|| format!("missing value(s) of argument(s) {name}"))
}

/// Traffic of the named interfaces. Without `once` or `duration` it does not end by itself.
fn monitor(state: &State, body: &Map<String, Value>) -> Done {
    let mut shown = Vec::new();
    for name in text(body, "interface")?.split(',') {
        let row = state.rows("interface").into_iter().find(|row| row.get("name") == name || row.id.to_string() == name);
        let row = row.ok_or("input does not match any value of interface")?;
        let rate = if row.is("running") { 8_000 } else { 0 };
        shown.push(json!({
            "name": row.get("name"), "rx-bits-per-second": (rate * 3).to_string(), "tx-bits-per-second": rate.to_string(),
            "rx-packets-per-second": (rate / 800).to_string(), "tx-packets-per-second": (rate / 2_400).to_string(),
            "rx-drops-per-second": "0", "tx-drops-per-second": "0", "rx-errors-per-second": "0", "tx-errors-per-second": "0",
        }));
    }
    let blocks = !body.contains_key("once") && !body.contains_key("duration");
    Ok(Answer { blocks, ..Answer::ok(json!(shown)) })
}

/// Whether a host answers: 192.0.2.0/24 and names that end in `.invalid` do not.
pub(crate) fn answers(address: &str) -> bool {
    !address.starts_with("192.0.2.") && !address.ends_with(".invalid")
}

/// Measurements towards an address.
fn tool(path: &str, body: &Map<String, Value>) -> Done {
    let address = text(body, "address")?;
    let answers = answers(address);
    let count = body.get("count").map(|count| count.as_str().map_or_else(|| count.to_string(), str::to_owned));
    let count = count.map(|count| count.parse::<u32>().map_err(|_| "invalid value for argument count")).transpose()?;
    let blocks = count.is_none() && !body.contains_key("duration");
    let rows: Vec<Value> = match path {
        "tool/ping" => (0..count.unwrap_or(1)).map(|seq| {
            let (sent, received) = (seq + 1, if answers { seq + 1 } else { 0 });
            let mut row = json!({ "host": address, "seq": seq.to_string(), "sent": sent.to_string(), "received": received.to_string(), "packet-loss": if answers { "0" } else { "100" } });
            if answers {
                for (name, value) in [("size", "56"), ("ttl", "63"), ("time", "12ms345us"), ("min-rtt", "11ms2us"), ("avg-rtt", "12ms345us"), ("max-rtt", "14ms9us")] {
                    row[name] = value.into();
                }
            } else {
                row["status"] = "timeout".into();
            }
            row
        }).collect(),
        "tool/traceroute" => ["203.0.113.1", address].iter().map(|hop| {
            let lost = *hop == address && !answers;
            json!({ "address": if lost { "" } else { *hop }, "loss": if lost { "100" } else { "0" }, "sent": count.unwrap_or(1).to_string(), "last": if lost { "timeout" } else { "1.4" }, "avg": "1.4", "best": "1.2", "worst": "1.9", "std-dev": "0.2", "status": "" })
        }).collect(),
        _ => vec![json!({ "status": if answers { "done testing" } else { "can't connect" }, "duration": "1s", "tx-current": "0", "rx-current": "93400000", "tx-total-average": "0", "rx-total-average": "92100000", "lost-packets": "0", "random-data": "false", "direction": "receive" })],
    };
    Ok(Answer { blocks, ..Answer::ok(json!(rows)) })
}

/// `export` prints to a console that REST does not have: its text is in a file, or got by `execute` with `as-string`.
fn export(state: &mut State, body: &Map<String, Value>) -> Done {
    if body.contains_key("show-sensitive") {
        return Err("not enough permissions (9)".into());
    }
    if let Some(file) = body.get("file").and_then(Value::as_str) {
        let (name, contents) = (format!("{file}.rsc"), crate::export::text(state, ""));
        state.add(
            "file",
            &[("name", &name), ("type", "script"), ("size", &contents.len().to_string()), ("contents", &contents)],
        );
        state.writes += 1;
    }
    Ok(Answer::ok(json!([])))
}
