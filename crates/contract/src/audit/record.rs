//! One audited call, and its stored form.

use super::limit::{self, MAX_BODY, cut};
use crate::{audit::changed::Changed, meta::Role};
use base::canonical::ArgsDigest;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use time::OffsetDateTime;

/// The record of one call. `args` must already be redacted; the SHA-256 is of the original arguments.
#[derive(Clone, Debug)]
pub struct AuditRecord<'a> {
    /// When the call ended, or for an intent when it began, in milliseconds since 1970 UTC.
    pub ts_ms: i64,
    /// Number of the intent, the record written before this call changed anything.
    pub intent: Option<i64>,
    /// The caller's principal, or "anonymous" for a request that was refused before its caller was known.
    pub principal: Cow<'a, str>,
    /// The owner of the credential, if the configuration names one.
    pub owner: Option<Cow<'a, str>>,
    /// `None` if the caller was refused before its role was known.
    pub role: Option<Role>,
    /// The transport: stdio, http, ws, unix.
    pub door: &'a str,
    pub tool: Cow<'a, str>,
    /// Who did it, if it was not this program: `agent:greenhouse`.
    pub by: Option<Cow<'a, str>>,
    pub args: Value,
    pub args_sha256: Cow<'a, str>,
    /// "ok", or the symbolic error code.
    pub outcome: &'a str,
    pub message: Option<String>,
    pub duration_ms: u64,
    pub request_id: Option<Cow<'a, str>>,
    pub correlation_id: Option<&'a str>,
    pub approval: Option<ApprovalRecord>,
    /// Whether the answer came from a simulated part.
    pub simulated: bool,
    /// Whether the call changed something.
    pub changed: Changed,
    /// Whether this is the outcome of a call that was answered and recorded before its end, under the same
    /// `request_id`.
    pub later: bool,
}

/// The person who approved a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Approval")]
pub struct ApprovalRecord {
    pub ask_id: String,
    /// A user name, or "uid 1000".
    pub by: String,
    /// How they approved: "raspi-mcp approve", "elicitation".
    pub how: String,
}

/// Maximum bytes of a name, in JSON, because callers choose some of them. All names together, and their copies in the
/// search columns, leave room for the arguments.
pub const MAX_NAME: usize = 512;
/// Maximum bytes of a message.
const MAX_MESSAGE: usize = 1024;
/// Maximum bytes of an id.
const MAX_ID: usize = 256;
/// Maximum bytes of a fixed word of this program, or of a hash.
pub const MAX_WORD: usize = 64;

/// A record ready for the chain, without its number, which is assigned when it is appended.
pub struct PreparedRecord {
    pub ts_ms: i64,
    pub kind: &'static str,
    pub tool: String,
    pub principal: String,
    pub outcome: String,
    /// Bytes per caller, if the record is of several callers.
    pub of: Vec<(String, usize)>,
    /// The JSON object without its opening brace.
    rest: String,
}

/// The JSON of a record, in reading order. The parts that a call may share with the previous one are optional.
#[derive(Serialize)]
pub struct RecordBody<'a> {
    /// First, so that a scan over many records finds it without parsing them (see `raspi_mcp::audit::query`).
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
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Cow<'a, str>>,
    args: Cow<'a, Value>,
    args_sha256: Cow<'a, str>,
    outcome: Cow<'a, str>,
    simulated: bool,
    changed: Changed,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    later: bool,
    /// Number of calls with this outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

impl<'a> RecordBody<'a> {
    pub fn of(record: &'a AuditRecord<'_>) -> Self {
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
                by: record.by.as_deref().map(|by| cut(by, MAX_WORD)),
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

    /// Omits the shared part, because the previous call has the same.
    pub fn leave_out_what_is_shared(&mut self) {
        self.shared = None;
    }

    /// Appends it to `out` as one JSON object without a number. Arguments that make it too long are replaced.
    pub fn write_to(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        // It has only strings, numbers and a JSON value, and is written to memory, so this cannot fail.
        serde_json::to_writer(&mut *out, self).expect("a record is plain data");
        if out.len() - start > MAX_BODY
            && let Some(shared) = &mut self.shared
        {
            let text = shared.args.to_string();
            let whole = ArgsDigest { sha256: shared.args_sha256.clone().into_owned(), bytes: text.len() };
            shared.args = Cow::Owned(limit::left_out(&whole, Some(&text)));
            out.truncate(start);
            serde_json::to_writer(out, self).expect("a record is plain data");
        }
    }
}

impl AuditRecord<'_> {
    /// The record as a row of its own.
    pub fn prepare(&self) -> PreparedRecord {
        self.prepare_as("call", None)
    }

    /// The record before the call runs, without an outcome.
    pub fn prepare_intent(&self) -> PreparedRecord {
        self.prepare_as("intent", None)
    }

    /// One record for `count` calls with the same outcome.
    pub fn prepare_gathered(&self, count: u64) -> PreparedRecord {
        self.prepare_as("gathered", Some(count))
    }

    fn prepare_as(&self, kind: &'static str, count: Option<u64>) -> PreparedRecord {
        let mut body = RecordBody::of(self);
        if let Some(shared) = &mut body.shared {
            (shared.kind, shared.count) = (kind, count);
        }
        let mut json = Vec::with_capacity(512);
        body.write_to(&mut json);
        PreparedRecord {
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

impl PreparedRecord {
    /// A record about the chain itself.
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

    /// One row for a batch of reads. `calls` is the output of [`RecordBody::write_to`], `newest_ms` the time of the last
    /// call, `of` the bytes per caller. A row of one caller has the principal in its column, for the accounting after
    /// the next start.
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

    /// Records that `lost` records are missing from the chain, since when, and why.
    pub fn gap(lost: u64, since_ms: i64, reason: &str) -> Self {
        let reason = cut(reason, MAX_MESSAGE);
        Self::own("gap", now_ms(), json!({ "lost": lost, "since": rfc3339(since_ms), "reason": reason }))
    }

    /// The record with number `seq`.
    pub fn numbered(&self, seq: i64) -> String {
        format!("{{\"seq\":{seq},{}", self.rest)
    }

    /// The record without its number, for the journal.
    pub fn body(&self) -> String {
        format!("{{{}", self.rest)
    }

    /// Its bytes per caller.
    pub fn shares(&self) -> Vec<(&str, usize)> {
        if self.of.is_empty() {
            return vec![(&self.principal, self.rest.len() + self.columns_len())];
        }
        self.of.iter().map(|(principal, bytes)| (principal.as_str(), *bytes)).collect()
    }

    /// Bytes of a row in addition to its body.
    pub fn columns_len(&self) -> usize {
        self.tool.len() + self.principal.len() + self.outcome.len() + ROW_OVERHEAD
    }
}

/// Bytes of number, time, hash and SQLite's overhead of a row.
pub const ROW_OVERHEAD: usize = 80;

/// Milliseconds since 1970 in the contract's time format.
pub fn rfc3339(ts_ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ts_ms) * 1_000_000);
    base::clock::stamp(at.unwrap_or(OffsetDateTime::UNIX_EPOCH))
}

/// The time for records about the chain itself.
pub fn now_ms() -> i64 {
    base::clock::millis(OffsetDateTime::now_utc())
}
