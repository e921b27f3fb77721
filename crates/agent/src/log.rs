//! The agent's own log of privileged operations, out of the server's reach: who, what, how it ended.
//!
//! What was done, and what a person answered, is in `operations.ndjson`, each on the card before it counts. What was only
//! tried (refused peers and operations, asks that were opened) is in `attempts.ndjson`, which has its own size and is not
//! forced to the card: any local user can cause such lines, and must not push operations out of the log or slow them down. The
//! first attempts of a kind, a user and a minute are written down, the others are counted.

mod notes;

use super::{clock::Clock, files::Lines, peer::Peer};
use base::error::{ErrorCode, ToolError};
use contract::audit::rfc3339;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Twice this is the most the log of operations takes on the card: some ten thousand operations.
const MAX_BYTES: u64 = 1 << 20;
/// Twice this is the most the log of attempts takes.
const MAX_ATTEMPTS_BYTES: u64 = 256 << 10;
/// Kinds of attempt that are counted apart in one minute. What is beyond them is counted together.
const MAX_KINDS: usize = 64;
/// No user: the kernel uses this number for "none" (chown(2)).
const OTHERS: u32 = u32::MAX;
/// Peers and operations that were refused: lines of one kind, one user and one minute.
pub(super) const REFUSALS: u32 = 1;
/// The same for asks that were opened or withdrawn, and for operations that were refused: no honest server has more.
pub(super) const ATTEMPTS: u32 = 32;

pub(super) struct OpLog {
    operations: Lines,
    attempts: Lines,
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
    /// How many of them have lines of their own.
    written: u64,
}

impl OpLog {
    pub(super) fn new(folder: &Path, clock: Clock) -> Self {
        Self {
            operations: Lines::new(folder.join("operations.ndjson"), MAX_BYTES),
            attempts: Lines::new(folder.join("attempts.ndjson"), MAX_ATTEMPTS_BYTES),
            counted: Mutex::default(),
            clock,
        }
    }

    /// Writes one event and waits for the card. The event is also in the journal.
    pub(super) fn write(&self, what: &str, peer: &Peer, fields: Value) -> Result<(), ToolError> {
        tracing::info!(target: "agent", peer = %peer, %fields, "{what}");
        self.operations.append(&self.line(what, &peer.to_string(), fields), true).map(drop)
    }

    /// Writes one attempt, or counts it: `most` of a kind, a user and a minute have lines of their own. Does not wait for the
    /// card, and does not fail: what was refused stays refused.
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
        tracing::info!(target: "agent", peer = %peer, %fields, "{what}");
        self.append(&self.line(what, &peer.to_string(), fields));
    }

    /// The attempts without lines of their own, as one line a kind.
    fn sum_up(&self, counted: &mut Counted) {
        let minute = counted.minute;
        for kind in counted.kinds.drain(..).filter(|kind| kind.count > kind.written) {
            let fields = json!({ "more": kind.count - kind.written, "minute": rfc3339(minute * 60_000) });
            tracing::info!(target: "agent", uid = kind.uid, %fields, "{}", kind.what);
            self.append(&self.line(&kind.what, &format!("uid {}", kind.uid), fields));
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
                // The last place is for all who come after; it has no lines of its own.
                let (uid, what) = if full { (OTHERS, "attempts of others") } else { (uid, what) };
                self.kinds.push(Kind { uid, what: what.to_owned(), count: 0, written: 0 });
                self.kinds.len() - 1
            }
        };
        &mut self.kinds[at]
    }
}

/// Nothing was done: the agent, or the machine behind it, said no before.
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
