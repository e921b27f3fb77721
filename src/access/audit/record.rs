//! One audited call, and the bytes it becomes.

use crate::registry::meta::Role;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use time::OffsetDateTime;

/// What is written about one call. `args` must be redacted already; the SHA-256 is of the real ones.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// When the call ended, milliseconds since 1970 UTC.
    pub ts_ms: i64,
    /// Who called: a token's name, a user, or "anonymous".
    pub principal: Cow<'a, str>,
    /// `None` when the caller never got one (refused at the door).
    pub role: Option<Role>,
    /// Where the call came in: stdio, http, websocket, unix.
    pub door: &'a str,
    pub tool: Cow<'a, str>,
    pub args: Value,
    pub args_sha256: Cow<'a, str>,
    /// "ok", or the symbolic error code.
    pub outcome: &'a str,
    pub message: Option<String>,
    pub duration_ms: u64,
    pub request_id: Option<Cow<'a, str>>,
    pub correlation_id: Option<&'a str>,
    pub approval: Option<Approval>,
    /// The answer came from a simulated part.
    pub simulated: bool,
    /// The call changed something.
    pub changed: bool,
}

/// Who let a call through that policy asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    pub ask_id: String,
    /// The person: a user name, or "uid 1000".
    pub by: String,
    /// The way they said it: "raspi-mcp approve", "elicitation".
    pub how: String,
}

/// Longest name or message that goes into a record, in characters: callers choose some of them.
const MAX_TEXT: usize = 512;

/// A record ready for the chain: all but its number, which is only known when it is appended.
pub(super) struct Prepared {
    pub ts_ms: i64,
    pub kind: &'static str,
    pub tool: String,
    pub principal: String,
    pub outcome: String,
    /// The JSON object without its opening brace.
    rest: String,
}

/// The JSON of a record, in the order a reader wants it. The parts that a call may share with the one before it are
/// optional.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    ts: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    shared: Option<Shared<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Cow<'a, str>>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a Approval>,
}

#[derive(Serialize)]
struct Shared<'a> {
    kind: &'static str,
    principal: Cow<'a, str>,
    role: Option<Role>,
    door: Cow<'a, str>,
    tool: Cow<'a, str>,
    args: &'a Value,
    args_sha256: &'a str,
    outcome: Cow<'a, str>,
    simulated: bool,
    changed: bool,
}

impl<'a> Body<'a> {
    pub(super) fn of(record: &'a Record<'_>) -> Self {
        Self {
            ts: rfc3339(record.ts_ms),
            shared: Some(Shared {
                kind: "call",
                principal: cut(&record.principal),
                role: record.role,
                door: cut(record.door),
                tool: cut(&record.tool),
                args: &record.args,
                args_sha256: &record.args_sha256,
                outcome: cut(record.outcome),
                simulated: record.simulated,
                changed: record.changed,
            }),
            message: record.message.as_deref().map(cut),
            duration_ms: record.duration_ms,
            request_id: record.request_id.as_deref().map(cut),
            correlation_id: record.correlation_id.map(cut),
            approval: record.approval.as_ref(),
        }
    }

    /// The call before this one says the same.
    pub(super) fn leave_out_what_is_shared(&mut self) {
        self.shared = None;
    }

    /// Appends it to `out` as one JSON object, without a number.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        // Strings, numbers and a JSON value into memory: there is nothing in it that JSON cannot say.
        serde_json::to_writer(out, self).expect("a record is plain data");
    }
}

impl Record<'_> {
    /// The record as a row of its own.
    pub(super) fn prepare(&self) -> Prepared {
        let mut json = Vec::with_capacity(512);
        Body::of(self).write_to(&mut json);
        Prepared {
            ts_ms: self.ts_ms,
            kind: "call",
            rest: String::from_utf8(json).expect("JSON is UTF-8").split_off(1),
            tool: cut(&self.tool).into_owned(),
            principal: cut(&self.principal).into_owned(),
            outcome: cut(self.outcome).into_owned(),
        }
    }
}

impl Prepared {
    /// A record the chain writes about itself.
    pub(super) fn own(kind: &'static str, ts_ms: i64, mut fields: Value) -> Self {
        fields["ts"] = json!(rfc3339(ts_ms));
        fields["kind"] = json!(kind);
        let json = fields.to_string();
        Self {
            ts_ms,
            kind,
            rest: json[1..].to_owned(),
            tool: String::new(),
            principal: String::new(),
            outcome: String::new(),
        }
    }

    /// One row for a batch of reads: `calls` are what [`Body::write_to`] wrote, `newest_ms` the time of the last.
    pub(super) fn reads(newest_ms: i64, calls: &[u8]) -> Self {
        let calls = std::str::from_utf8(calls).expect("JSON is UTF-8");
        let ts = rfc3339(newest_ms);
        Self {
            ts_ms: newest_ms,
            kind: "reads",
            rest: format!("\"ts\":\"{ts}\",\"kind\":\"reads\",\"calls\":[{calls}]}}"),
            tool: String::new(),
            principal: String::new(),
            outcome: String::new(),
        }
    }

    /// Says that `lost` reads are not in the chain.
    pub(super) fn gap(lost: u64) -> Self {
        Self::own("gap", now_ms(), json!({ "lost": lost }))
    }

    /// The record as record number `seq`.
    pub(super) fn numbered(&self, seq: i64) -> String {
        format!("{{\"seq\":{seq},{}", self.rest)
    }

    /// The record without its number, for the journal.
    pub(super) fn body(&self) -> String {
        format!("{{{}", self.rest)
    }

    /// What a row takes beside its body.
    pub(super) fn columns_len(&self) -> usize {
        self.tool.len() + self.principal.len() + self.outcome.len() + ROW_OVERHEAD
    }
}

/// Number, time, hash and SQLite's own bytes of a row.
pub(super) const ROW_OVERHEAD: usize = 80;

fn cut(text: &str) -> Cow<'_, str> {
    // Bytes first: hardly any text is that long, and counting characters of every one costs.
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}

/// Milliseconds since 1970 as the contract writes time.
pub fn rfc3339(ts_ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ts_ms) * 1_000_000);
    crate::clock::stamp(at.unwrap_or(OffsetDateTime::UNIX_EPOCH))
}

/// The time for records the chain writes about itself.
pub(super) fn now_ms() -> i64 {
    crate::clock::millis(OffsetDateTime::now_utc())
}
