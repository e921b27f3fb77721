//! What may differ between two honest machines, by its place in an answer. Everything else is compared to the letter.

use Kind::{Flag, List, Number, Object, Text, Time};
use base::error::ERROR_META;
use serde_json::{Value, json};

/// What stands in its place: its type, which is checked here; its detail is checked by the tool's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Flag,
    Number,
    Text,
    /// UTC with milliseconds: the contract has one form of a time.
    Time,
    List,
    Object,
}

/// One fact of a host: where in the answer (`*` is every item or key), what it is, whether a machine may lack it.
struct Fact(&'static str, Kind, Presence);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Always,
    /// Not every machine has it.
    Perhaps,
}

use Presence::{Always, Perhaps};

/// In every answer.
const ANYWHERE: &[Fact] = &[
    Fact("_meta/execution_time_ms", Number, Always),
    // Somebody asked the same a moment ago.
    Fact("_meta/cached_age_ms", Number, Perhaps),
    // The board is simulated where there is none.
    Fact("_meta/simulated", Flag, Perhaps),
];

fn facts_of(tool: &str) -> &'static [Fact] {
    match tool {
        "system.get_basic_info" => &[
            Fact("hostname", Text, Always),
            Fact("model", Text, Always),
            Fact("cpu_arch", Text, Always),
            Fact("cpu_cores", Number, Always),
            Fact("memory_total_bytes", Number, Always),
            Fact("os_name", Text, Perhaps),
            Fact("os_version", Text, Perhaps),
            Fact("kernel_version", Text, Always),
            Fact("uptime_seconds", Number, Always),
            Fact("serial", Text, Perhaps),
            Fact("board_revision", Text, Perhaps),
            Fact("timestamp", Time, Always),
        ],
        // The way out is the caller's door's own, and which gates are closed besides the role is the owner's to say.
        "system.reboot" => {
            &[Fact("hint", Text, Always), Fact("message", Text, Always), Fact("details/gates", List, Always)]
        }
        "system.get_clock" => &[
            Fact("time", Time, Always),
            Fact("timezone", Text, Perhaps),
            Fact("timezone_abbreviation", Text, Always),
            Fact("utc_offset_seconds", Number, Always),
            Fact("uptime_seconds", Number, Always),
            Fact("boot_time", Time, Always),
            Fact("boot_id", Text, Always),
        ],
        "system.get_health_snapshot" => &[
            Fact("timestamp", Time, Always),
            Fact("cpu_usage_percent", Number, Always),
            Fact("memory_used_bytes", Number, Always),
            Fact("memory_total_bytes", Number, Always),
            Fact("disk_used_bytes", Number, Always),
            Fact("disk_total_bytes", Number, Always),
            Fact("cpu_temperature_celsius", Number, Perhaps),
            Fact("throttling_flags", Object, Perhaps),
            Fact("throttling_history", Object, Perhaps),
            Fact("cards", List, Perhaps),
            Fact("last_reset", Object, Perhaps),
            Fact("clock_synchronized", Flag, Perhaps),
            Fact("network/interfaces", Object, Always),
            Fact("network/total_bandwidth_mbps/*", Number, Always),
            Fact("disk_io/devices", Object, Always),
            Fact("disk_io/total/*", Number, Always),
            Fact("disk_mount", Text, Always),
            Fact("file_systems", List, Always),
            Fact("file_systems_left_out", Number, Perhaps),
            Fact("warnings", List, Perhaps),
            Fact("interval_seconds", Number, Always),
            Fact("load_average/*", Number, Always),
        ],
        // Which tools there are, what state each is in, and that the privileged half answers, is the same everywhere.
        "system.get_capabilities" => &[
            Fact("board/kind", Text, Always),
            Fact("board/model", Text, Always),
            Fact("board/simulated", Flag, Always),
            Fact("board/reason", Text, Always),
            Fact("board/profile", Object, Perhaps),
            Fact("board/memory_mib", Number, Perhaps),
            Fact("board/manufacturer", Text, Perhaps),
            Fact("modules/agent/devices/*", Text, Always),
            Fact("modules/camera", Object, Always),
            Fact("modules/gpio", Object, Always),
            Fact("modules/i2c", Object, Always),
            Fact("modules/network_manager", Object, Always),
            Fact("modules/pwm", Object, Always),
            Fact("modules/systemd", Object, Always),
            Fact("modules/temperature", Object, Always),
            Fact("modules/throttling", Object, Always),
        ],
        // The rest of the configuration is the default one.
        "manage.get_server_status" => &[
            Fact("build", Text, Perhaps),
            Fact("started_at", Time, Always),
            Fact("uptime_seconds", Number, Always),
            Fact("config_summary/board", Text, Always),
            Fact("config_summary/agent", Text, Always),
            Fact("config_summary/http/listen", Text, Always),
            Fact("config_summary/dbus/serve", Flag, Always),
            Fact("config_summary/tls/certificate", Text, Always),
            Fact("config_summary/fleet/ca", Text, Always),
            Fact("config_summary/fleet/certificate", Text, Always),
            Fact("config_summary/fleet/key", Text, Always),
            Fact("config_summary/tls/key", Text, Always),
            Fact("config_summary/jwt/keys_file", Text, Always),
            Fact("config_summary/socket/path", Text, Always),
            Fact("config_summary/places/*", Text, Always),
            // What its owner has switched on; a caller who may only read is answered the same.
            Fact("config_summary/tools/enable", List, Always),
            Fact("config_summary/tools/allow", List, Always),
            Fact("config_summary/service/allow", List, Always),
            Fact("config_summary/log/target", Text, Always),
            Fact("config_summary/camera/dir", Text, Always),
            Fact("config_summary/update/spool_dir", Text, Always),
            Fact("agent/in_process", Flag, Always),
            Fact("agent/last_reboot", Object, Perhaps),
        ],
        "logs.get_recent_app_logs" => &[
            Fact("entries", List, Always),
            // Why there are none.
            Fact("note", Text, Perhaps),
            Fact("pagination/returned_count", Number, Always),
            Fact("pagination/total_count", Number, Always),
            Fact("pagination/has_more", Flag, Always),
            Fact("pagination/next_offset", Number, Perhaps),
        ],
        "logs.get_recent_audit_logs" => &[
            Fact("entries/*/seq", Number, Always),
            Fact("entries/*/timestamp", Time, Always),
            Fact("entries/*/principal", Text, Always),
            Fact("entries/*/door", Text, Always),
            // Of the refused one: as above.
            Fact("entries/*/message", Text, Perhaps),
            Fact("entries/*/duration_ms", Number, Always),
            Fact("entries/*/simulated", Flag, Always),
            Fact("pagination/total_count", Number, Always),
            Fact("pagination/has_more", Flag, Always),
            Fact("pagination/next_offset", Number, Perhaps),
        ],
        _ => &[],
    }
}

/// Puts the type of each fact in its place.
pub fn take_out(tool: &str, result: &mut Value) {
    for fact in ANYWHERE {
        replace(tool, result, fact.0, fact);
    }
    for fact in facts_of(tool) {
        let failed = result["isError"] == true;
        let data = if failed { &mut result["_meta"][ERROR_META] } else { &mut result["structuredContent"] };
        replace(tool, data, fact.0, fact);
    }
}

fn replace(tool: &str, value: &mut Value, path: &str, fact: &Fact) {
    let Fact(place, kind, presence) = *fact;
    let (key, rest) = path.split_once('/').map_or((path, None), |(key, rest)| (key, Some(rest)));
    if key == "*" {
        let items: Vec<&mut Value> = match value {
            Value::Array(items) => items.iter_mut().collect(),
            Value::Object(items) => items.values_mut().collect(),
            other => panic!("{tool}: {place} is for a list or a map, not for {other}"),
        };
        for item in items {
            match rest {
                Some(rest) => replace(tool, item, rest, fact),
                None => {
                    assert!(kind.is(item), "{tool}: at {place} there is {item}, which is no {kind:?}");
                    *item = kind.shown(presence);
                }
            }
        }
        return;
    }
    let map = value.as_object_mut().unwrap_or_else(|| panic!("{tool}: {place}: there is no map with {key}"));
    match (rest, map.get_mut(key)) {
        (Some(rest), Some(inner)) => replace(tool, inner, rest, fact),
        // A machine that lacks it leaves it out or says null.
        (None, None | Some(Value::Null)) if presence == Perhaps => {
            map.insert(key.to_owned(), kind.shown(presence));
        }
        (None, Some(found)) => {
            assert!(kind.is(found), "{tool}: at {place} there is {found}, which is no {kind:?}");
            *found = kind.shown(presence);
        }
        (_, None) => panic!("{tool}: {place} is missing"),
    }
}

impl Kind {
    fn is(self, value: &Value) -> bool {
        match self {
            Flag => value.is_boolean(),
            Number => value.is_number(),
            Text => value.as_str().is_some_and(|text| !text.is_empty()),
            Time => value.as_str().is_some_and(|text| text.len() == 24 && text.ends_with('Z')),
            List => value.is_array(),
            Object => value.is_object(),
        }
    }

    fn shown(self, presence: Presence) -> Value {
        let kind = match self {
            Flag => "flag",
            Number => "number",
            Text => "text",
            Time => "time",
            List => "list",
            Object => "object",
        };
        match presence {
            Always => json!(format!("<{kind}>")),
            Perhaps => json!(format!("<{kind}, perhaps>")),
        }
    }
}

#[test]
fn a_fact_of_another_type_is_no_fact() {
    let answer = |listen: Value| json!({ "structuredContent": { "entries": listen, "kept_lines": 7, "pagination": { "limit": 1, "returned_count": 0, "total_count": 0, "has_more": false } }, "_meta": { "execution_time_ms": 1.5 } });
    let mut good = answer(json!([1, 2]));
    take_out("logs.get_recent_app_logs", &mut good);
    assert_eq!(good["structuredContent"]["entries"], "<list>");
    assert_eq!(good["structuredContent"]["kept_lines"], 7, "what is no fact of the host stays");
    assert_eq!(good["_meta"]["simulated"], "<flag, perhaps>", "a machine that lacks it looks like one that has it");
    let bad = std::panic::catch_unwind(|| take_out("logs.get_recent_app_logs", &mut answer(json!("none"))));
    assert!(bad.is_err());
}
