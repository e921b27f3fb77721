//! What was revoked is recorded beside the identity, so that a backup from before does not bring it back on this card
//! (`appliance::revoked`).

use super::{Approver, Approvers};
use appliance::revoked::Revoked;
use base::error::ToolError;
use contract::config::Sha256;
use update::slots::Step;

impl Approvers {
    /// Records revoked tokens by their hashes. Returns whether this machine has such a record.
    ///
    /// # Errors
    /// Those of the card.
    pub(crate) fn tokens_revoked(&self, tokens: Vec<Sha256>) -> Result<bool, ToolError> {
        self.recorded(|revoked| revoked.merge(&Revoked { tokens: tokens.clone(), ..Revoked::default() }))
    }

    /// Records revoked approvers. They do not count any more, so a card that does not take it is only told of.
    pub(super) fn keys_revoked(&self, approvers: Vec<Sha256>) {
        let revoked = Revoked { approvers, ..Revoked::default() };
        if let Err(error) = self.recorded(|all| all.merge(&revoked)) {
            tracing::error!(target: "agent", %error, "a backup from before would bring back the approver that was revoked");
        }
    }

    /// Takes approvers that were enrolled anew out of the record.
    pub(super) fn keys_enrolled(&self, approvers: &[Approver]) {
        let keys: Vec<Sha256> = approvers.iter().filter_map(|approver| Sha256::from_hex(&approver.key.id())).collect();
        if let Err(error) = self.recorded(|all| all.enrolled_again(&keys)) {
            tracing::error!(target: "agent", %error, "a restored backup would be without an approver that was enrolled again");
        }
    }

    fn recorded(&self, change: impl Fn(&mut Revoked)) -> Result<bool, ToolError> {
        let Some(system) = &self.system else { return Ok(false) };
        system.record.step(|state| {
            let mut revoked = Revoked::of(state);
            change(&mut revoked);
            Ok(revoked.to_keep(state).map_or_else(Step::default, Step::to))
        })?;
        Ok(true)
    }
}
