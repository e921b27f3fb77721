//! The state as JSON, parsed so that a newer version's record loses nothing: unknown fields are kept. A known field
//! that cannot be parsed gets its default, and its value is kept under `unread_<name>`.

use super::state::StateRecord;
use crate::status::Attempt;
use base::base64url;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// Format of the record. Raised when an older reader must not trust the fields that it knows; new fields do not raise
/// it.
pub const FORMAT: u64 = 1;

/// The names of [`Attempt`]'s fields, to which a newer version may add.
const ATTEMPT: [&str; 11] = [
    "version",
    "counter",
    "manifest_sha256",
    "target",
    "phase",
    "reason",
    "reset_cause",
    "boot_ids",
    "log_tail",
    "started_ms",
    "finished_ms",
];

struct Reader {
    map: Map<String, Value>,
    faults: Vec<String>,
}

impl Reader {
    /// Takes the field, or its default.
    fn take<T: DeserializeOwned + Default>(&mut self, name: &str) -> T {
        let Some(value) = self.map.remove(name) else { return T::default() };
        match T::deserialize(&value) {
            Ok(read) => read,
            Err(error) => {
                self.faults
                    .push(format!("the recorded {name} is not what this version knows and is left alone: {error}"));
                self.map.insert(format!("unread_{name}"), value);
                T::default()
            }
        }
    }
}

impl StateRecord {
    /// Parses a record's JSON, and returns the problems found. Never fails: unreadable fields are kept as they are.
    pub(super) fn from_json(bytes: &[u8]) -> (Self, Vec<String>) {
        let map = match serde_json::from_slice(bytes) {
            Ok(Value::Object(map)) => map,
            Ok(_) => return (Self::default(), vec!["the record is no JSON object".into()]),
            Err(error) => return (Self::default(), vec![format!("the record is no JSON: {error}")]),
        };
        let mut from = Reader { map, faults: Vec::new() };
        let format: u64 = from.take("format");
        if format > FORMAT {
            from.faults
                .push(format!("the record was written by a newer version (format {format}, this one knows {FORMAT})"));
        }
        let mut attempt_more = Map::new();
        if let Some(Value::Object(attempt)) = from.map.get_mut("last_attempt") {
            let known = std::mem::take(attempt).into_iter().filter_map(|(name, value)| {
                if ATTEMPT.contains(&&*name) {
                    return Some((name, value));
                }
                attempt_more.insert(name, value);
                None
            });
            *attempt = known.collect();
        }
        let kept: Map<String, Value> = from.take("kept");
        let mut unread = Map::new();
        let kept = kept.into_iter().filter_map(|(name, value)| match value.as_str().and_then(base64url::decode) {
            Some(bytes) => Some((name, bytes)),
            None => {
                unread.insert(name, value);
                None
            }
        });
        let kept = kept.collect();
        let state = Self {
            slots: from.take("slots"),
            update: from.take("update"),
            last_attempt: from.take::<Option<Attempt>>("last_attempt"),
            counter_floor: from.take("counter_floor"),
            revoke_below: from.take("revoke_below"),
            committed_time: from.take("committed_time"),
            time_floor: from.take("time_floor"),
            blocked: from.take("blocked"),
            orderly: from.take("orderly"),
            installs_ms: from.take("installs_ms"),
            reboots_ms: from.take("reboots_ms"),
            roots: from.take("roots"),
            kept,
            lost: from.take("lost"),
            attempt_more,
            more: Map::new(),
        };
        if !unread.is_empty() {
            from.faults.push("some of what was kept is not what this version knows and is left alone".into());
            from.map.insert("unread_kept".into(), Value::Object(unread));
        }
        (Self { more: from.map, ..state }, from.faults)
    }

    /// As JSON, including fields of a newer version.
    pub(super) fn to_json(&self) -> Vec<u8> {
        fn plain(value: &impl Serialize) -> Value {
            // Cannot fail: only numbers, texts and maps of texts.
            serde_json::to_value(value).unwrap_or_default()
        }
        let mut attempt = plain(&self.last_attempt);
        if let Value::Object(attempt) = &mut attempt {
            attempt.extend(self.attempt_more.clone());
        }
        let kept = self.kept.iter().map(|(name, bytes)| (name.clone(), json!(base64url::encode(bytes))));
        let known = [
            ("format", json!(self.more.get("format").and_then(Value::as_u64).unwrap_or(FORMAT))),
            ("slots", plain(&self.slots)),
            ("update", plain(&self.update)),
            ("last_attempt", attempt),
            ("counter_floor", json!(self.counter_floor)),
            ("revoke_below", json!(self.revoke_below)),
            ("committed_time", json!(self.committed_time)),
            ("time_floor", json!(self.time_floor)),
            ("blocked", plain(&self.blocked)),
            ("orderly", plain(&self.orderly)),
            ("installs_ms", json!(self.installs_ms)),
            ("reboots_ms", json!(self.reboots_ms)),
            ("roots", json!(self.roots)),
            ("kept", Value::Object(kept.collect())),
        ];
        let mut map: Map<String, Value> = known.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if self.lost {
            map.insert("lost".into(), json!(true));
        }
        for (name, value) in &self.more {
            map.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Value::Object(map).to_string().into_bytes()
    }
}
