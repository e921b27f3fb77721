//! What goes to the agent with an operation: for whom it is, and by which approval.

use super::context::Context;
use agent::Authorization;

impl Context {
    /// The authorization of the call that this context serves.
    pub fn authorization(&self) -> Authorization {
        Authorization {
            principal: self.caller.principal.clone(),
            args_sha256: self.args_sha256.to_string(),
            ask_id: self.approval.clone(),
        }
    }
}
