//! Answers of dbus-mcp's tools. Where that server has a form for the data, they have it; elsewhere the data are those of this
//! server's tool.

use serde_json::{Map, Value, json};
use std::fmt::Write;

type Kept = Map<String, Value>;
type Answer = (Option<String>, Value);

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

fn list(of: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    of.as_array().into_iter().flatten()
}

pub fn data(ours: Value, _: &Kept) -> Answer {
    (None, ours)
}

pub fn status(ours: Value, _: &Kept) -> Answer {
    let status = match text(&ours, "status") {
        "reloading" | "refreshing" => "active",
        known @ ("active" | "inactive" | "activating" | "deactivating") => known,
        _ => "failed",
    };
    let (load, file) = (text(&ours, "load_state"), text(&ours, "fragment_path"));
    let mut out = format!("● {} - {}\n   Loaded: {load}", text(&ours, "name"), text(&ours, "description"));
    let mut data = json!({ "status": status, "description": ours["description"], "loaded": load == "loaded" });
    if !file.is_empty() {
        let _ = write!(out, " ({file}; {})", text(&ours, "unit_file_state"));
    }
    let _ = write!(out, "\n   Active: {} ({})", text(&ours, "status"), text(&ours, "sub_status"));
    if let Some(seconds) = ours["uptime_seconds"].as_u64() {
        let _ = write!(out, "; {} ago", ago(seconds));
    }
    if let Some(pid) = ours["pid"].as_u64() {
        let _ = write!(out, "\n Main PID: {pid}");
        data["pid"] = json!(pid);
    }
    if let Some(bytes) = ours["memory_bytes"].as_u64() {
        let memory = memory(bytes);
        let _ = write!(out, "\n   Memory: {memory}");
        data["memory"] = json!(memory);
    }
    (Some(out), data)
}

/// As systemctl has it: 12.5M.
fn memory(bytes: u64) -> String {
    let power = (bytes.max(1).ilog2() / 10).min(4);
    let unit = 1 << (power * 10);
    let (whole, tenth) = (bytes / unit, bytes % unit * 10 / unit);
    let suffix = ["B", "K", "M", "G", "T"][power as usize];
    if tenth == 0 { format!("{whole}{suffix}") } else { format!("{whole}.{tenth}{suffix}") }
}

/// The largest unit of a time: 2h.
fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}min", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

pub fn controlled(ours: Value, _: &Kept) -> Answer {
    let now = &ours["now"];
    let job = ours["job_result"].as_str().unwrap_or("done");
    let name = text(&ours, "service_name");
    let said =
        format!("{name}: {} {job}; {} ({})", text(&ours, "action"), text(now, "status"), text(now, "sub_status"));
    (Some(said), ours)
}

pub fn restarted(ours: Value, _: &Kept) -> Answer {
    (Some(format!("{}: restart done; {}", text(&ours, "service_name"), text(&ours, "status"))), ours)
}

/// One line for each entry, the oldest first.
fn lines(ours: &Value, newest_first: bool) -> String {
    let line = |entry: &Value| {
        let who = entry["identifier"].as_str().or(entry["unit"].as_str()).unwrap_or("-");
        let pid = entry["pid"].as_u64().map(|pid| format!("[{pid}]")).unwrap_or_default();
        format!("{} {who}{pid}: {}\n", text(entry, "timestamp"), text(entry, "message"))
    };
    let entries = list(&ours["entries"]);
    let all: String = if newest_first { entries.rev().map(line).collect() } else { entries.map(line).collect() };
    if all.is_empty() { text(ours, "note").to_owned() } else { all }
}

pub fn logs(ours: Value, _: &Kept) -> Answer {
    (Some(lines(&ours, true)), ours)
}

pub fn streamed(ours: Value, kept: &Kept) -> Answer {
    // What is followed comes in the order of time.
    let content = lines(&ours, kept["follow"] != true);
    (Some(content.clone()), json!({ "content": content }))
}

pub fn content(ours: Value, _: &Kept) -> Answer {
    let content = ours["content"].as_str().or(ours["content_base64"].as_str());
    (Some(content.unwrap_or_default().to_owned()), ours)
}

pub fn written(ours: Value, _: &Kept) -> Answer {
    (Some(format!("wrote {}, which has {} bytes now", text(&ours, "path"), ours["size"])), ours)
}

pub fn deleted(ours: Value, _: &Kept) -> Answer {
    (Some(format!("deleted {}", text(&ours, "path"))), ours)
}

pub fn interfaces(ours: Value, kept: &Kept) -> Answer {
    let wants = |name: &str, default: bool| kept.get(name).and_then(Value::as_bool).unwrap_or(default);
    let (loopback, others) = (wants("include_loopback", false), wants("include_virtual", true));
    let shown = |interface: &&Value| match text(interface, "type") {
        "loopback" => loopback,
        "bridge" | "vlan" | "virtual" | "tunnel" => others,
        _ => true,
    };
    let interfaces: Vec<Value> = list(&ours["interfaces"]).filter(shown).map(interface).collect();
    (None, json!({ "interfaces": interfaces }))
}

fn interface(ours: &Value) -> Value {
    let of = |field: &str, family: &'static str| {
        list(&ours[field])
            .map(move |one| json!({ "address": one["address"], "prefix": one["prefix_length"], "family": family }))
            .collect::<Vec<_>>()
    };
    let addresses = [of("ipv4_addresses", "inet"), of("ipv6_addresses", "inet6")].concat();
    let mut shown = json!({
        "name": ours["name"],
        "type": ours["type"],
        // A driver that keeps no state (loopback, tunnels) has it up.
        "state": if ours["state"] == "down" { "down" } else { "up" },
        "addresses": addresses,
        "mac": ours["mac_address"],
    });
    if !ours["mtu"].is_null() {
        shown["mtu"] = ours["mtu"].clone();
    }
    shown
}

pub fn connected(ours: Value, _: &Kept) -> Answer {
    let said = format!(
        "{} is active; it is taken back at {} unless network.confirm_connection is called before",
        text(&ours["connection"], "name"),
        text(&ours, "confirm_by")
    );
    (Some(said), ours)
}

pub fn signalled(ours: Value, _: &Kept) -> Answer {
    (Some(format!("sent {} to {} ({})", text(&ours, "signal"), ours["pid"], text(&ours, "name"))), ours)
}

pub fn ended(ours: Value, _: &Kept) -> Answer {
    let mut said = [text(&ours, "stdout"), text(&ours, "stderr")].concat();
    if ours["exit_code"] != 0 {
        let _ = write!(
            said,
            "{}exit code {}",
            if said.is_empty() || said.ends_with('\n') { "" } else { "\n" },
            ours["exit_code"]
        );
    }
    (Some(said), ours)
}
