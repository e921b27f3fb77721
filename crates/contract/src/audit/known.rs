//! What the two halves tell each other of the audit's chain: where it stands, its records, checkpoints and gaps.

use super::head::Head;
use serde::{Deserialize, Serialize};

/// Most bytes of records in one [`Extension`]: with base64 it fits into one line of the agent's protocol.
pub const MAX_EXTENSION: usize = 40 * 1024;
/// Most records in one [`Extension`].
pub const MAX_RECORDS: usize = 512;

/// What the agent knows of our chains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownHeads {
    /// Positions of all chains, each in its order; the newest of a chain is the last of that chain.
    pub heads: Vec<Head>,
    /// Lines of the agent's own file whose key did not fit or that are gone: somebody changed that file.
    pub forged: u64,
    #[serde(default)]
    pub chains: Vec<KnownChain>,
}

/// A chain that no owner has given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownChain {
    pub chain: String,
    /// Which store it belongs to: empty for the one of this machine's server, a path before a simulated board.
    pub store: String,
    /// When its newest position came, milliseconds since 1970.
    pub last_ms: i64,
    /// The agent recomputed its records; `false` for heads that the version before took as they came.
    pub proven: bool,
    /// Where it may begin: the agent's checkpoints, and where it began when the agent first saw it. The newest last.
    pub beginnings: Vec<Checkpoint>,
}

/// The agent's word that the records through `through_seq` may be gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub chain: String,
    pub through_seq: i64,
    /// SHA-256, 64 hexadecimal digits.
    pub through_hash: String,
    /// How many records went with it.
    pub removed: i64,
    pub why: String,
    pub ts_ms: i64,
    /// HMAC-SHA256 by the agent's key over all of the above. Empty where the agent only wrote down what it found.
    pub signature: String,
}

/// What an owner gave up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedGap {
    /// The last that was known of the chain.
    pub last: Head,
    /// Who accepted, as the kernel named them.
    pub by: String,
    pub ts_ms: i64,
    /// HMAC-SHA256 by the agent's key. The record of it in the chain carries it.
    pub signature: String,
}

/// "Where do you stand with this chain?" Begins it where the agent does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    pub chain: String,
    /// The store's file.
    pub store: String,
    /// What came before the first record there is: 0 and 64 zeros for a whole chain.
    pub before_seq: i64,
    pub before_hash: String,
}

/// The agent's answer: how far it has recomputed the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    pub seq: i64,
    pub hash: String,
    /// Bytes of the record after it that the agent has already.
    pub part: u64,
    /// Other chains of this store that are missing and that no owner gave up.
    pub missing: Vec<Head>,
    /// Gaps that an owner accepted and that are not in the chain yet.
    pub accepted: Vec<AcceptedGap>,
}

/// Records that follow a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    pub chain: String,
    pub after: i64,
    /// As [`Position::part`].
    pub part: u64,
    /// Bytes of each record, or of what of it is in here.
    pub lengths: Vec<u32>,
    /// The records one after the other, base64url.
    pub records: String,
    /// The last of them goes on in the next message.
    pub goes_on: bool,
}

/// "The store is full; what may go?"
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomRequest {
    pub chain: String,
    /// The first record there is.
    pub first_seq: i64,
    /// Bytes that are to become free.
    pub free: u64,
}
