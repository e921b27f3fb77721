//! What the agent writes down of peers, asks and deeds.

use super::{
    Agent, Ask, Peer, Standing,
    log::{ATTEMPTS, REFUSALS, is_refusal},
};
use crate::error::ToolError;
use serde_json::{Value, json};

impl Agent {
    /// An operation that is over, its request and how it ended. What cannot be written down was done all the same.
    pub(super) fn note_done(
        &self,
        what: &str,
        peer: &Peer,
        request: Value,
        error: Option<&ToolError>,
    ) -> Result<(), ToolError> {
        let noted = self.note(what, peer, request, error);
        if error.is_some() { noted } else { noted.map_err(ToolError::maybe_changed) }
    }

    /// An operation, its request and how it stands, in the agent's own log. What was refused before anything was done, or only
    /// tried out, stands among the attempts; an operation that failed on its way is a deed.
    pub(super) fn note(
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
            self.log.attempt(what, peer, ATTEMPTS, || about);
            return Ok(());
        }
        self.log.write(what, peer, about)
    }

    pub(super) fn note_ask(&self, what: &str, peer: &Peer, ask: &Ask) -> Result<(), ToolError> {
        self.log.write(what, peer, self.about_ask(ask))
    }

    pub(super) fn about_ask(&self, ask: &Ask) -> Value {
        json!({
            "ask_id": ask.id, "tool": ask.request.tool, "principal": ask.request.principal,
            "args_sha256": ask.request.args_sha256, "state": ask.state, "by": ask.by, "how": ask.how,
            "age_ms": (self.clock)() - ask.created_ms,
        })
    }

    /// A peer that has all its places and wants another.
    pub(super) fn note_crowd(&self, peer: &Peer, error: &ToolError) {
        self.log.attempt("no place", peer, REFUSALS, || json!({ "reason": error.message }));
    }

    /// Judges a peer of the socket.
    ///
    /// # Errors
    /// As [`Peer::judge`]; the refusal is in the log of attempts, or counted there.
    pub(super) fn judge(&self, uid: u32, gid: u32, pid: Option<i32>) -> Result<Peer, ToolError> {
        Peer::judge(&self.settings, uid, gid, pid).inspect_err(|error| {
            let stranger = Peer { uid, name: "stranger".into(), standing: Standing::Server };
            self.log.attempt("peer refused", &stranger, REFUSALS, || json!({ "reason": error.message }));
        })
    }
}
