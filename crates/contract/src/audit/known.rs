//! What server and agent exchange about the audit chain: positions, records, checkpoints and gaps.

use super::head::AuditHead;
use serde::{Deserialize, Serialize};

/// Maximum bytes of records in one [`Extension`]: in base64 they fit into one line of the agent's protocol.
pub const MAX_EXTENSION: usize = 40 * 1024;
/// Maximum number of records in one [`Extension`].
pub const MAX_RECORDS: usize = 512;

/// What the agent knows of the server's chains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownHeads {
    /// Positions of all chains, in order within each chain; the last one of a chain is its newest.
    pub heads: Vec<AuditHead>,
    /// Number of lines of the agent's file that are missing or have a wrong HMAC: somebody changed that file.
    pub forged: u64,
    #[serde(default)]
    pub chains: Vec<KnownChain>,
}

/// A chain that no owner has accepted as lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownChain {
    pub chain: String,
    /// The store it belongs to: empty for that of this machine's server, a path for that of a simulated board.
    pub store: String,
    /// When its newest position was received, in milliseconds since 1970.
    pub last_ms: i64,
    /// Whether the agent recomputed its records. `false` for heads that the previous version accepted without them.
    pub proven: bool,
    /// Valid beginnings of the chain: the agent's checkpoints, and its beginning when the agent first saw it. The
    /// newest is last.
    pub beginnings: Vec<AuditCheckpoint>,
}

/// The agent's authenticated permission to delete the records up to and including `through_seq`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Checkpoint")]
pub struct AuditCheckpoint {
    pub chain: String,
    pub through_seq: i64,
    /// SHA-256, 64 hexadecimal digits.
    pub through_hash: String,
    /// Number of records deleted with it.
    pub removed: i64,
    pub why: String,
    pub ts_ms: i64,
    /// HMAC-SHA256 with the agent's key over all of the above. Empty where the agent only recorded what it found.
    pub signature: String,
}

/// A gap in the audit that an owner accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedGap {
    /// The last known position of the chain.
    pub last: AuditHead,
    /// The user who accepted it, as reported by the kernel.
    pub by: String,
    pub ts_ms: i64,
    /// HMAC-SHA256 with the agent's key. The gap's record in the chain includes it.
    pub signature: String,
}

/// Asks for the agent's position in a chain. Starts the chain if the agent does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    pub chain: String,
    /// The store's file.
    pub store: String,
    /// The position before the first stored record: 0 and 64 zeros for a complete chain.
    pub before_seq: i64,
    pub before_hash: String,
}

/// The agent's answer: how far it has recomputed the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Position")]
pub struct VerifiedPosition {
    pub seq: i64,
    pub hash: String,
    /// Bytes of the next record that the agent already has.
    pub part: u64,
    /// Other chains of this store that are missing and that no owner accepted as lost.
    pub missing: Vec<AuditHead>,
    /// Gaps that an owner accepted and that are not in the chain yet.
    pub accepted: Vec<AcceptedGap>,
}

/// Records that follow a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    pub chain: String,
    pub after: i64,
    /// As [`VerifiedPosition::part`].
    pub part: u64,
    /// Bytes of each record, or of the part of it in this message.
    pub lengths: Vec<u32>,
    /// The concatenated records, in base64url.
    pub records: String,
    /// The last record continues in the next message.
    pub goes_on: bool,
}

/// Asks which records may be deleted, when the store is full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomRequest {
    pub chain: String,
    /// The number of the first stored record.
    pub first_seq: i64,
    /// Bytes to be freed.
    pub free: u64,
}
