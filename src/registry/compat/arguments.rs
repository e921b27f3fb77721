//! Arguments of dbus-mcp's tools: its defaults, and values that are written in another way here.

use crate::services::Services;
use base::{clock, error::ToolError, os};
use serde_json::{Map, Value, json};
use std::{io, mem};
use time::OffsetDateTime;

type Args = Map<String, Value>;
/// What the answer needs of them.
type Kept = Result<Map<String, Value>, ToolError>;

/// Lines of a log without `lines`, and processes without `limit`.
const USUAL: u64 = 50;
/// The longest page of this server's tools.
const MOST: u64 = 1000;
/// How long logs are followed, in seconds: as long as `logs.query_journal` does.
const FOLLOW_SECONDS: u64 = 300;
/// How long a command may run without `timeout`, in seconds.
const TIMEOUT_SECONDS: u64 = 30;

fn default(args: &mut Args, name: &str, value: impl Into<Value>) {
    args.entry(name).or_insert_with(|| value.into());
}

pub fn same(_: &Services, _: &mut Args) -> Kept {
    Ok(Map::new())
}

/// They say what of the answer is shown.
pub fn for_the_answer(_: &Services, args: &mut Args) -> Kept {
    Ok(mem::take(args))
}

/// dbus-mcp has no pages.
pub fn many(_: &Services, args: &mut Args) -> Kept {
    default(args, "limit", MOST);
    Ok(Map::new())
}

pub fn start(_: &Services, args: &mut Args) -> Kept {
    default(args, "action", "start");
    Ok(Map::new())
}

pub fn stop(_: &Services, args: &mut Args) -> Kept {
    if args.get("mode").is_some_and(|mode| mode == "ignore-dependencies") {
        let what = "mode \"ignore-dependencies\" is not offered: it would leave units running that need this service";
        return Err(ToolError::invalid(what)
            .with("parameter", "mode")
            .hint("use \"replace\" or \"fail\", and stop the services that depend on it first"));
    }
    default(args, "action", "stop");
    Ok(Map::new())
}

pub fn logs(services: &Services, args: &mut Args) -> Kept {
    if let Some(since) = args.get_mut("since") {
        let written = since.as_str().unwrap_or_default();
        if let Some(stamp) = local(services, written)? {
            *since = stamp.into();
        }
    }
    default(args, "lines", USUAL);
    Ok(Map::new())
}

pub fn stream(_: &Services, args: &mut Args) -> Kept {
    let follows = args.shift_remove("follow").is_some_and(|follow| follow == true);
    default(args, "lines", if follows { MOST } else { USUAL });
    if follows {
        default(args, "follow_seconds", FOLLOW_SECONDS);
    }
    Ok(Map::from_iter([("follow".to_owned(), follows.into())]))
}

pub fn write(_: &Services, args: &mut Args) -> Kept {
    default(args, "mode", "overwrite");
    Ok(Map::new())
}

pub fn processes(_: &Services, args: &mut Args) -> Kept {
    let (by, order) = match args.get("sort_by").and_then(Value::as_str) {
        Some("memory") => ("memory_rss", "desc"),
        Some("pid") => ("pid", "asc"),
        Some("name") => ("name", "asc"),
        _ => ("cpu_percent", "desc"),
    };
    args.insert("sort_by".into(), by.into());
    default(args, "sort_order", order);
    default(args, "limit", USUAL);
    Ok(Map::new())
}

pub fn command(_: &Services, args: &mut Args) -> Kept {
    // An integer of JSON Schema, which 30.0 is too.
    let seconds = args.get("timeout").and_then(Value::as_f64).map_or(TIMEOUT_SECONDS, |seconds| seconds as u64);
    args.insert("timeout".into(), json!(seconds * 1000));
    Ok(Map::new())
}

/// A time without a zone, like `2024-01-15 10:00:00`, `2024-01-15 10:00` or `2024-01-15`, as RFC 3339. `None`: it has another
/// form, which `logs.query_journal` judges.
///
/// # Errors
/// `unavailable` if the time zone of this machine cannot be read.
fn local(services: &Services, written: &str) -> Result<Option<String>, ToolError> {
    let missing = match written.len() {
        10 => "T00:00:00Z",
        16 => ":00Z",
        _ => "Z",
    };
    let Ok(time) = clock::parse(&(written.replacen(' ', "T", 1) + missing)) else { return Ok(None) };
    let unread = |fault: io::Error| hw::machine::unreadable("the time zone", &fault);
    let zone = os::clock::zone(&services.machine.root).map_err(unread)?;
    let wall = time.unix_timestamp();
    // The offset that holds then: first by that time of UTC, which is wrong near a change of the clocks.
    let guess = wall - i64::from(zone.offset(wall).map_err(unread)?.0);
    let exact = wall - i64::from(zone.offset(guess).map_err(unread)?.0);
    Ok(OffsetDateTime::from_unix_timestamp(exact).ok().map(clock::stamp))
}
