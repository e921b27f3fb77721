//! The agent's log entries about peers, asks and operations.

use super::{ATTEMPTS, OpLog, REFUSALS, is_refusal};
use crate::{
    asks::Ask,
    peer::{Peer, PeerKind},
};
use base::error::ToolError;
use serde_json::{Value, json};

impl OpLog {
    /// Logs a finished operation: its request and its outcome. If it cannot be logged, it was done all the same.
    pub(crate) fn note_done(
        &self,
        what: &str,
        peer: &Peer,
        request: Value,
        error: Option<&ToolError>,
    ) -> Result<(), ToolError> {
        let noted = self.note(what, peer, request, error);
        if error.is_some() { noted } else { noted.map_err(ToolError::maybe_changed) }
    }

    /// Logs an operation, its request and its state. Refusals and dry runs go to the attempts; an operation that failed
    /// after it began goes to the operations.
    pub(crate) fn note(
        &self,
        what: &str,
        peer: &Peer,
        request: Value,
        error: Option<&ToolError>,
    ) -> Result<(), ToolError> {
        let outcome = error.map_or("ok", |error| error.code.symbol());
        let refused = |error: &ToolError| is_refusal(error.code) && !error.may_have_changed();
        let only_tried = request["dry_run"] == true || error.is_some_and(refused);
        let about = json!({ "request": request, "outcome": outcome });
        if only_tried {
            self.attempt(what, peer, ATTEMPTS, || about);
            return Ok(());
        }
        self.write(what, peer, about)
    }

    pub(crate) fn note_ask(&self, what: &str, peer: &Peer, ask: &Ask) -> Result<(), ToolError> {
        self.write(what, peer, self.about_ask(ask))
    }

    pub(crate) fn about_ask(&self, ask: &Ask) -> Value {
        json!({
            "ask_id": ask.id, "tool": ask.request.tool, "principal": ask.request.principal,
            "args_sha256": ask.request.args_sha256, "state": ask.state, "by": ask.by, "how": ask.how,
            "age_ms": (self.clock)() - ask.created_ms,
        })
    }

    /// A peer that asked for a connection beyond its limit.
    pub(crate) fn note_crowd(&self, peer: &Peer, error: &ToolError) {
        self.attempt("no place", peer, REFUSALS, || json!({ "reason": error.message }));
    }

    /// A peer without access to the socket.
    pub(crate) fn note_stranger(&self, uid: u32, error: &ToolError) {
        let stranger = Peer { uid, name: "stranger".into(), standing: PeerKind::Server };
        self.attempt("peer refused", &stranger, REFUSALS, || json!({ "reason": error.message }));
    }
}
