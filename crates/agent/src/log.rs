//! The agent's own log of privileged operations, out of the server's reach: who, what, and the outcome.
//!
//! Operations and answers to asks go to `operations.ndjson`, each written to the card before it counts. Attempts
//! (refused peers and operations, asks that were opened) go to `attempts.ndjson`, which has a separate size limit and
//! is not synced: any local user can cause such lines, and must not displace operations from the log or slow them down.
//! The first attempts per kind, user and minute are written, the others are counted. Requests are in these files only:
//! the journal has what happened and how it ended.

mod notes;

use super::{clock::Clock, files::RotatedFile, peer::Peer};
use base::error::{ErrorCode, ToolError};
use contract::audit::rfc3339;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The log of operations takes at most twice this on the card: some ten thousand operations.
const MAX_BYTES: u64 = 1 << 20;
/// The log of attempts takes at most twice this.
const MAX_ATTEMPTS_BYTES: u64 = 256 << 10;
/// Kinds of attempt that are counted separately per minute. The others are counted together.
const MAX_KINDS: usize = 64;
/// No user: the kernel uses this number for "none" (chown(2)).
const OTHERS: u32 = u32::MAX;
/// Lines per kind, user and minute for refused peers and operations.
pub(super) const REFUSALS: u32 = 1;
/// The same for asks that were opened or withdrawn, and for refused operations: more than an honest server causes.
pub(super) const ATTEMPTS: u32 = 32;

pub(super) struct OpLog {
    operations: RotatedFile,
    attempts: RotatedFile,
    counted: Mutex<Counted>,
    clock: Clock,
}

/// The attempts of one minute.
#[derive(Default)]
struct Counted {
    minute: i64,
    kinds: Vec<Kind>,
}

struct Kind {
    uid: u32,
    what: String,
    count: u64,
    /// How many of them were written.
    written: u64,
}

impl OpLog {
    pub(super) fn new(folder: &Path, clock: Clock) -> Self {
        Self {
            operations: RotatedFile::new(folder.join("operations.ndjson"), MAX_BYTES),
            attempts: RotatedFile::new(folder.join("attempts.ndjson"), MAX_ATTEMPTS_BYTES),
            counted: Mutex::default(),
            clock,
        }
    }

    /// Writes one event and waits until it is on the card. The journal is told that it was, and how it ended.
    pub(super) fn write(&self, what: &str, peer: &Peer, fields: Value) -> Result<(), ToolError> {
        tell(what, &peer.to_string(), &fields);
        self.operations.append(&self.line(what, &peer.to_string(), fields), true).map(drop)
    }

    /// Writes one attempt, or counts it: at most `most` per kind, user and minute are written. Neither waits for the
    /// card nor fails: a refusal stays a refusal.
    pub(super) fn attempt(&self, what: &str, peer: &Peer, most: u32, fields: impl FnOnce() -> Value) {
        let mut counted = self.counted();
        let minute = (self.clock)() / 60_000;
        if counted.minute != minute {
            self.sum_up(&mut counted);
            counted.minute = minute;
        }
        let kind = counted.kind(peer.uid, what);
        kind.count += 1;
        if kind.written >= u64::from(most) || kind.uid == OTHERS {
            return;
        }
        kind.written += 1;
        let fields = fields();
        tell(what, &peer.to_string(), &fields);
        self.append(&self.line(what, &peer.to_string(), fields));
    }

    /// Writes the attempts that were only counted, one line per kind.
    fn sum_up(&self, counted: &mut Counted) {
        let minute = counted.minute;
        for kind in counted.kinds.drain(..).filter(|kind| kind.count > kind.written) {
            let fields = json!({ "more": kind.count - kind.written, "minute": rfc3339(minute * 60_000) });
            let peer = format!("uid {}", kind.uid);
            tell(&kind.what, &peer, &fields);
            self.append(&self.line(&kind.what, &peer, fields));
        }
    }

    fn append(&self, line: &str) {
        if let Err(error) = self.attempts.append(line, false) {
            tracing::error!(target: "agent", %error, "log of attempts");
        }
    }

    fn line(&self, what: &str, peer: &str, fields: Value) -> String {
        json!({ "ts": rfc3339((self.clock)()), "what": what, "peer": peer, "fields": fields }).to_string()
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpLog {
    fn drop(&mut self) {
        let mut counted = std::mem::take(&mut *self.counted());
        self.sum_up(&mut counted);
    }
}

impl Counted {
    fn kind(&mut self, uid: u32, what: &str) -> &mut Kind {
        let full = self.kinds.len() >= MAX_KINDS - 1;
        let found = self.kinds.iter().position(|kind| kind.uid == uid && kind.what == what);
        let at = match found.or_else(|| full.then(|| self.kinds.iter().position(|kind| kind.uid == OTHERS)).flatten()) {
            Some(at) => at,
            None => {
                // The last entry counts all further kinds; none of those is written.
                let (uid, what) = if full { (OTHERS, "attempts of others") } else { (uid, what) };
                self.kinds.push(Kind { uid, what: what.to_owned(), count: 0, written: 0 });
                self.kinds.len() - 1
            }
        };
        &mut self.kinds[at]
    }
}

/// What the journal and `logs.get_recent_app_logs` are told of an event: many may read those, also callers without a
/// token, and a caller's arguments, its environment and its name are for the agent's own files only.
const TOLD: [&str; 4] = ["outcome", "state", "operation", "more"];

fn tell(what: &str, peer: &str, fields: &Value) {
    let told: Vec<String> =
        TOLD.iter().filter_map(|name| Some(format!("{name} {}", plain(fields.get(*name)?)?))).collect();
    tracing::info!(target: "agent", peer, "{what}{}{}", if told.is_empty() { "" } else { ": " }, told.join(", "));
}

/// A word or a number; `None` for anything else.
fn plain(value: &Value) -> Option<String> {
    let is_word =
        |text: &&str| text.len() <= 40 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    value.as_str().filter(is_word).map(str::to_owned).or_else(|| value.as_u64().map(|number| number.to_string()))
}

/// Whether the code means that nothing was done: the agent, or the machine behind it, refused before.
pub(super) fn is_refusal(code: ErrorCode) -> bool {
    use ErrorCode::{
        CapabilityMissing, Conflict, FailedPrecondition, InvalidArgument, NotFound, PermissionDenied, ResourceExhausted,
    };
    matches!(
        code,
        CapabilityMissing
            | Conflict
            | FailedPrecondition
            | InvalidArgument
            | NotFound
            | PermissionDenied
            | ResourceExhausted
    )
}
