//! Approvers: people who answer asks with a key of their own, from anywhere.
//!
//! The agent signs what a person is asked ([`SignedAsk`]); an answer counts only with the signature of an enrolled key
//! over the hash of exactly those bytes ([`SignedAnswer`]). Whoever carries asks and answers can lose them, not forge
//! them. An owner's word travels in the same way, without an ask ([`SignedOrder`]). The protocol is described in
//! docs/approvals.md.

mod answer;
mod authority;
mod device_key;
mod document;
mod enrolled;
mod key;
mod kind;
mod list_file;
mod order;
mod passkey;
mod proof;
mod registered;
mod revocations;
mod vouched;

pub use answer::{Decision, SignedAnswer, challenge};
pub(super) use authority::Approvers;
pub use device_key::{DEVICE_KEY, DeviceId};
pub use document::{AskDocument, PURPOSE, SignedAsk};
pub use enrolled::Enrolled;
pub use key::{ApproverKey, ApproverSecret, approver_key};
pub use kind::KeyKind;
pub use order::{MAX_ORDER, ORDER_PURPOSE, OrderDocument, SignedOrder, order_challenge};
pub use proof::{ListProof, list_challenge, list_part, lists_challenge};
pub use registered::{Approver, MAX_APPROVERS, NewApprover, check};
pub use vouched::{Vouched, vouched_bytes};
