//! Judges orders of the owner.

use super::{Approvers, PROOF_MS, Signature, verified};
use crate::approvers::{Approver, KeyKind, MAX_ORDER, ORDER_PURPOSE, OrderDocument, SignedOrder, order_challenge};
use base::{base64url, error::ToolError};

/// Nonces that are remembered, at most: some 20 kB.
const MAX_USED: usize = 256;

/// The nonces of orders since the start of the agent, so that none is followed twice.
///
/// Which are forgotten does not depend on the clock, which a network can set: beyond [`MAX_USED`] the oldest is, and from
/// then on nothing as old is accepted.
#[derive(Default)]
pub(super) struct UsedNonces {
    used: Vec<(i64, String)>,
    /// Orders of this time and before may be among the forgotten ones.
    forgotten: Option<i64>,
}

impl UsedNonces {
    fn may_be_used(&self, time_ms: i64, nonce: &str) -> bool {
        self.forgotten.is_some_and(|before| time_ms <= before) || self.used.iter().any(|(_, used)| used == nonce)
    }

    fn remember(&mut self, time_ms: i64, nonce: &str) {
        if self.used.len() >= MAX_USED
            && let Some(oldest) = (0..self.used.len()).min_by_key(|at| self.used[*at].0)
        {
            self.forgotten = self.forgotten.max(Some(self.used.swap_remove(oldest).0));
        }
        self.used.push((time_ms, nonce.to_owned()));
    }
}

impl Approvers {
    /// The approver who signed `order`, and what it says, if it shall be done now. It counts as used from then on.
    ///
    /// # Errors
    /// `permission_denied` naming what is wrong; `invalid_argument` for something that is no order;
    /// `failed_precondition` when it is more than five minutes old; `resource_exhausted` for a wrong one of a key that
    /// signed 20 others in this minute.
    pub(crate) fn order(&self, order: &SignedOrder) -> Result<(Approver, OrderDocument), ToolError> {
        let unreadable = |why: &str| {
            ToolError::invalid(format!("the order cannot be read: {why}")).hint("docs/approvals.md says what it has")
        };
        if order.document.len() > MAX_ORDER {
            return Err(unreadable(&format!("it has {MAX_ORDER} bytes at most")));
        }
        let said: OrderDocument =
            serde_json::from_str(&order.document).map_err(|error| unreadable(&error.to_string()))?;
        if base64url::decode(&said.nonce).is_none_or(|nonce| nonce.len() != 32) {
            return Err(unreadable("its nonce is not base64url of 32 bytes"));
        }
        if order.kind == KeyKind::Browser {
            return Err(ToolError::denied("a key of kind browser gives no orders")
                .hint("sign with a passkey, or with a key of `raspi-mcp approver key`"));
        }
        let mut state = self.lock();
        let signature = Signature {
            key: &order.key,
            kind: order.kind,
            signature: &order.signature,
            authenticator_data: order.authenticator_data.as_deref(),
            client_data: order.client_data.as_deref(),
        };
        // First of all: what a key did not sign is no word of its owner, and costs that person nothing.
        let (approver, counter) = verified(&state, &signature, &order_challenge(&order.document))?;
        let for_another = if said.purpose != ORDER_PURPOSE {
            Some("it is no order")
        } else if said.device != self.key(&mut state)?.1.id() {
            Some("it is for another device")
        } else if said.boot != self.boot {
            Some("the agent was started since: ask for the device's state and sign again")
        } else {
            None
        };
        if let Some(why) = for_another {
            return Err(self.wrong(&mut state, &approver, why));
        }
        let now = (self.clock)();
        if now.abs_diff(said.time_ms) > PROOF_MS.unsigned_abs() {
            return Err(ToolError::precondition("the order is more than five minutes old by this device's clock")
                .with("time_ms", now)
                .hint("ask for the device's time and sign that"));
        }
        if state.nonces.may_be_used(said.time_ms, &said.nonce) {
            return Err(self.wrong(&mut state, &approver, "the order was given before"));
        }
        self.counted(&mut state, &approver, counter)?;
        state.nonces.remember(said.time_ms, &said.nonce);
        Ok((approver, said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_is_refused_as_too_old() {
        let mut nonces = UsedNonces::default();
        for time in 0..300 {
            assert!(!nonces.may_be_used(time, &format!("n{time}")), "{time}");
            nonces.remember(time, &format!("n{time}"));
        }
        assert_eq!((nonces.used.len(), nonces.forgotten), (MAX_USED, Some(43)));
        for time in 0..300 {
            assert!(nonces.may_be_used(time, &format!("n{time}")), "{time}");
        }
        assert!(nonces.may_be_used(43, "new") && !nonces.may_be_used(44, "new"));
    }
}
