//! One audited call, and the bytes it becomes.

use crate::registry::meta::Role;
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

/// What is written about one call. `args` must be redacted already; the SHA-256 is of the real ones.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// When the call ended, milliseconds since 1970 UTC.
    #[serde(skip)]
    pub ts_ms: i64,
    /// Who called: a token's name, a user, or "anonymous".
    pub principal: String,
    /// `None` when the caller never got one (refused at the door).
    pub role: Option<Role>,
    /// Where the call came in: stdio, http, websocket, unix.
    pub door: String,
    pub tool: String,
    pub args: Value,
    pub args_sha256: String,
    /// "ok", or the symbolic error code.
    pub outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
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

impl Record {
    pub(super) fn prepare(mut self) -> Prepared {
        for text in [&mut self.principal, &mut self.door, &mut self.tool, &mut self.outcome]
            .into_iter()
            .chain(self.message.as_mut())
            .chain(self.request_id.as_mut())
            .chain(self.correlation_id.as_mut())
        {
            cut(text);
        }
        // Strings, numbers and a JSON value: there is nothing in it that JSON cannot say.
        let json = serde_json::to_string(&self).expect("a record is plain data");
        // The two leading fields by hand: serde's `flatten` would copy every value once more, in each call.
        let rest = format!("\"ts\":\"{}\",\"kind\":\"call\",{}", rfc3339(self.ts_ms), &json[1..]);
        Prepared {
            ts_ms: self.ts_ms,
            kind: "call",
            rest,
            tool: self.tool,
            principal: self.principal,
            outcome: self.outcome,
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

    /// About how many bytes of memory it takes.
    pub(super) fn size(&self) -> usize {
        self.rest.len() + self.columns_len()
    }

    /// What a row takes beside its body.
    pub(super) fn columns_len(&self) -> usize {
        self.tool.len() + self.principal.len() + self.outcome.len() + ROW_OVERHEAD
    }
}

/// Number, time, hash and SQLite's own bytes of a row.
pub(super) const ROW_OVERHEAD: usize = 80;

fn cut(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(at);
        text.push('…');
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
