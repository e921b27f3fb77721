//! One audited call, and the bytes it becomes.

use super::limit::{self, MAX_BODY, cut};
use crate::{audit::changed::Changed, meta::Role};
use base::canonical::Whole;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use time::OffsetDateTime;

/// What is written about one call. `args` must be redacted already; the SHA-256 is of the real ones.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// When the call ended, milliseconds since 1970 UTC; of an intent, when it began.
    pub ts_ms: i64,
    /// Number of the record that was written before this call did anything.
    pub intent: Option<i64>,
    /// Who called: a token's name, a user, or "anonymous".
    pub principal: Cow<'a, str>,
    /// Whose credential that is, where the configuration says.
    pub owner: Option<Cow<'a, str>>,
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
    pub changed: Changed,
    /// How a call ended that was answered and recorded before its end: by its request_id.
    pub later: bool,
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

/// Most bytes of a name, in JSON: callers choose some of them. All of them together, and their copies in the search columns, leave
/// room for the arguments.
pub const MAX_NAME: usize = 512;
/// Of a message.
const MAX_MESSAGE: usize = 1024;
/// Of an id.
const MAX_ID: usize = 256;
/// Of a word of ours, or of a hash.
pub const MAX_WORD: usize = 64;

/// A record ready for the chain: all but its number, which is only known when it is appended.
pub struct Prepared {
    pub ts_ms: i64,
    pub kind: &'static str,
    pub tool: String,
    pub principal: String,
    pub outcome: String,
    /// Bytes of it that are each caller's, where they are of several.
    pub of: Vec<(String, usize)>,
    /// The JSON object without its opening brace.
    rest: String,
}

/// The JSON of a record, in the order a reader wants it. The parts that a call may share with the one before it are
/// optional.
#[derive(Serialize)]
pub struct Body<'a> {
    /// First, so that whoever walks over many records finds it without parsing them (see [`raspi_mcp::audit::query`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<i64>,
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
    approval: Option<Allowed<'a>>,
}

#[derive(Serialize)]
struct Allowed<'a> {
    ask_id: Cow<'a, str>,
    by: Cow<'a, str>,
    how: Cow<'a, str>,
}

#[derive(Serialize)]
struct Shared<'a> {
    kind: &'static str,
    principal: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<Cow<'a, str>>,
    role: Option<Role>,
    door: Cow<'a, str>,
    tool: Cow<'a, str>,
    args: Cow<'a, Value>,
    args_sha256: Cow<'a, str>,
    outcome: Cow<'a, str>,
    simulated: bool,
    changed: Changed,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    later: bool,
    /// So many calls of this kind ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

impl<'a> Body<'a> {
    pub fn of(record: &'a Record<'_>) -> Self {
        Self {
            intent: record.intent,
            ts: rfc3339(record.ts_ms),
            shared: Some(Shared {
                kind: "call",
                principal: cut(&record.principal, MAX_NAME),
                owner: record.owner.as_deref().map(|owner| cut(owner, MAX_WORD)),
                role: record.role,
                door: cut(record.door, MAX_WORD),
                tool: cut(&record.tool, MAX_NAME),
                args: Cow::Borrowed(&record.args),
                args_sha256: cut(&record.args_sha256, MAX_WORD),
                outcome: cut(record.outcome, MAX_WORD),
                simulated: record.simulated,
                changed: record.changed,
                later: record.later,
                count: None,
            }),
            message: record.message.as_deref().map(|text| cut(text, MAX_MESSAGE)),
            duration_ms: record.duration_ms,
            request_id: record.request_id.as_deref().map(|text| cut(text, MAX_ID)),
            correlation_id: record.correlation_id.map(|text| cut(text, MAX_ID)),
            approval: record.approval.as_ref().map(|approval| Allowed {
                ask_id: cut(&approval.ask_id, MAX_ID),
                by: cut(&approval.by, MAX_ID),
                how: cut(&approval.how, MAX_ID),
            }),
        }
    }

    /// The call before this one says the same.
    pub fn leave_out_what_is_shared(&mut self) {
        self.shared = None;
    }

    /// Appends it to `out` as one JSON object, without a number. Arguments that make it too long are replaced.
    pub fn write_to(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        // Strings, numbers and a JSON value into memory: there is nothing in it that JSON cannot say.
        serde_json::to_writer(&mut *out, self).expect("a record is plain data");
        if out.len() - start > MAX_BODY
            && let Some(shared) = &mut self.shared
        {
            let text = shared.args.to_string();
            let whole = Whole { sha256: shared.args_sha256.clone().into_owned(), bytes: text.len() };
            shared.args = Cow::Owned(limit::left_out(&whole, Some(&text)));
            out.truncate(start);
            serde_json::to_writer(out, self).expect("a record is plain data");
        }
    }
}

impl Record<'_> {
    /// The record as a row of its own.
    pub fn prepare(&self) -> Prepared {
        self.prepare_as("call", None)
    }

    /// What is about to be done: it has no outcome yet.
    pub fn prepare_intent(&self) -> Prepared {
        self.prepare_as("intent", None)
    }

    /// `count` calls that ended like this one.
    pub fn prepare_gathered(&self, count: u64) -> Prepared {
        self.prepare_as("gathered", Some(count))
    }

    fn prepare_as(&self, kind: &'static str, count: Option<u64>) -> Prepared {
        let mut body = Body::of(self);
        if let Some(shared) = &mut body.shared {
            (shared.kind, shared.count) = (kind, count);
        }
        let mut json = Vec::with_capacity(512);
        body.write_to(&mut json);
        Prepared {
            ts_ms: self.ts_ms,
            kind,
            rest: String::from_utf8(json).expect("JSON is UTF-8").split_off(1),
            tool: cut(&self.tool, MAX_NAME).into_owned(),
            principal: cut(&self.principal, MAX_NAME).into_owned(),
            outcome: cut(self.outcome, MAX_WORD).into_owned(),
            of: Vec::new(),
        }
    }
}

impl Prepared {
    /// A record the chain writes about itself.
    pub fn own(kind: &'static str, ts_ms: i64, mut fields: Value) -> Self {
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
            of: Vec::new(),
        }
    }

    /// One row for a batch of reads: `calls` are what [`Body::write_to`] wrote, `newest_ms` the time of the last, `of` how
    /// many bytes are whose. A row that is one caller's has it in its column, for the next start's account.
    pub fn reads(newest_ms: i64, calls: &[u8], of: &[(String, usize)]) -> Self {
        let calls = std::str::from_utf8(calls).expect("JSON is UTF-8");
        let ts = rfc3339(newest_ms);
        let (principal, said) = match of {
            [(one, _)] => (one.clone(), format!("\"principal\":{},", Value::from(one.as_str()))),
            _ => (String::new(), String::new()),
        };
        Self {
            ts_ms: newest_ms,
            kind: "reads",
            rest: format!("\"ts\":\"{ts}\",\"kind\":\"reads\",{said}\"calls\":[{calls}]}}"),
            tool: String::new(),
            principal,
            outcome: String::new(),
            of: of.to_vec(),
        }
    }

    /// Says that `lost` records are not in the chain, since when, and why.
    pub fn gap(lost: u64, since_ms: i64, reason: &str) -> Self {
        let reason = cut(reason, MAX_MESSAGE);
        Self::own("gap", now_ms(), json!({ "lost": lost, "since": rfc3339(since_ms), "reason": reason }))
    }

    /// The record as record number `seq`.
    pub fn numbered(&self, seq: i64) -> String {
        format!("{{\"seq\":{seq},{}", self.rest)
    }

    /// The record without its number, for the journal.
    pub fn body(&self) -> String {
        format!("{{{}", self.rest)
    }

    /// How many of its bytes are whose.
    pub fn shares(&self) -> Vec<(&str, usize)> {
        if self.of.is_empty() {
            return vec![(&self.principal, self.rest.len() + self.columns_len())];
        }
        self.of.iter().map(|(principal, bytes)| (principal.as_str(), *bytes)).collect()
    }

    /// What a row takes beside its body.
    pub fn columns_len(&self) -> usize {
        self.tool.len() + self.principal.len() + self.outcome.len() + ROW_OVERHEAD
    }
}

/// Number, time, hash and SQLite's own bytes of a row.
pub const ROW_OVERHEAD: usize = 80;

/// Milliseconds since 1970 as the contract writes time.
pub fn rfc3339(ts_ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ts_ms) * 1_000_000);
    base::clock::stamp(at.unwrap_or(OffsetDateTime::UNIX_EPOCH))
}

/// The time for records the chain writes about itself.
pub fn now_ms() -> i64 {
    base::clock::millis(OffsetDateTime::now_utc())
}
