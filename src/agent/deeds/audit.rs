//! What the agent does for the audit: recomputes its chain, signs what may go, and takes an owner's word for what is gone.

use crate::{
    agent::{
        Agent, Peer,
        log::ATTEMPTS,
        protocol::{Done, Op},
    },
    error::ToolError,
};
use serde_json::json;

impl Agent {
    /// Does one of the audit's operations.
    ///
    /// # Errors
    /// Those of [`crate::agent::heads`].
    pub(in crate::agent) fn handle_audit(&self, peer: &Peer, op: Op) -> Result<Done, ToolError> {
        match op {
            Op::AuditPosition(asked) => {
                let (position, began) = self.heads.position(&asked).inspect_err(|error| self.doubt(peer, error))?;
                if began {
                    let about = json!({ "chain": asked.chain, "after": position.seq, "missing": position.missing });
                    self.log.write("audit chain begins", peer, about)?;
                }
                Ok(Done::Position(position))
            }
            Op::ExtendAudit(given) => {
                self.heads.extend(&given).inspect_err(|error| self.doubt(peer, error)).map(Done::Position)
            }
            Op::AuditRoom(asked) => {
                let checkpoint = self.heads.make_room(&asked)?;
                self.log.attempt("audit trimmed", peer, ATTEMPTS, || json!(checkpoint));
                Ok(Done::Checkpoint(checkpoint))
            }
            Op::AcceptGap { chain, seq } => {
                let gap = self.heads.accept(&chain, seq, &peer.to_string())?;
                self.log.write("audit gap accepted", peer, json!(gap))?;
                Ok(Done::AcceptedGap(gap))
            }
            _ => Ok(Done::Heads(self.heads.known()?)),
        }
    }

    fn doubt(&self, peer: &Peer, error: &ToolError) {
        self.log.attempt(
            "audit refused",
            peer,
            ATTEMPTS,
            || json!({ "reason": error.message, "details": error.details }),
        );
    }
}
