//! Whether an index is to be believed: by its keys, for this product and channel, not older than one seen before, not expired.

use super::Index;
use crate::{
    error::{ErrorCode, ToolError},
    update::{
        Reckoning,
        bundle::Digest,
        trust::{Purpose, Roots, Signed},
    },
};
use serde::{Deserialize, Serialize};

/// A publisher's clock may be ahead of ours by so much.
const AHEAD: u64 = 86_400;

/// The newest index of a channel that was believed. Kept, so that no older one is believed after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    pub product: String,
    pub channel: String,
    pub sequence: u64,
    /// Seconds since 1970, as the index says.
    pub created: u64,
    /// Of what was signed.
    pub sha256: Digest,
    /// Milliseconds since 1970, by this machine's clock: when it was last looked at.
    pub checked_ms: i64,
}

/// An index that is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub index: Index,
    pub seen: Seen,
    /// Why it may not be the newest after all: the clock is not set.
    pub doubt: Option<&'static str>,
}

/// What an index must be of.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub product: &'a str,
    pub channel: &'a str,
    /// The newest one seen so far; of another product or channel it does not count.
    pub seen: Option<&'a Seen>,
    /// The system's clock, in milliseconds since 1970.
    pub clock_ms: i64,
    /// Whether the clock was set from the network.
    pub synchronised: bool,
    /// Seconds since 1970 that are certain to have passed.
    pub time_floor: u64,
}

/// Judges the bytes of an index.
///
/// # Errors
/// `verification_failed` for a bad or missing signature, another product or channel, an older index (a replay) or another one under the
/// same number; `failed_precondition` when it has expired (a freeze) or the root of trust has.
pub fn accept(bytes: &[u8], roots: &Roots, wanted: &Wanted<'_>) -> Result<Accepted, ToolError> {
    let signed = Signed::parse(bytes, Purpose::Channel)?;
    let text = roots.verify_channel(&signed.text, &signed.signatures)?;
    let index = Index::parse(text)?;
    let refuse = |message: String| {
        Err(ToolError::new(ErrorCode::VerificationFailed, message)
            .with("channel", index.channel.as_str())
            .with("sequence", index.sequence)
            .hint("nothing was installed; if it stays so, somebody answers in the publisher's place, or publishes by mistake"))
    };
    if (index.product.as_str(), index.channel.as_str()) != (wanted.product, wanted.channel) {
        let (product, channel) = (wanted.product, wanted.channel);
        return refuse(format!(
            "the index there is that of {} {}, and {product} {channel} is wanted",
            index.product, index.channel
        ));
    }
    let sha256 = Digest::of(text);
    let same = |seen: &&Seen| seen.product == index.product && seen.channel == index.channel;
    if let Some(seen) = wanted.seen.filter(same) {
        let (before, now) = (seen.sequence, index.sequence);
        if now < before || index.created < seen.created {
            return refuse(format!("the channel went back from index {before} to {now}: an old one is being replayed"));
        }
        if now == before && sha256 != seen.sha256 {
            return refuse(format!("there are two different indexes with number {now}"));
        }
    }
    let reckoned = Reckoning::of(wanted.clock_ms.div_euclid(1000), wanted.synchronised, wanted.time_floor);
    if reckoned.fresh && index.created > reckoned.now.saturating_add(AHEAD) {
        return refuse(format!(
            "the index was made in the future ({} seconds since 1970): look at this machine's clock",
            index.created
        ));
    }
    // Where the clock is not set, what the index says of its own making is later than any floor.
    let now = reckoned.now.max(index.created);
    roots.fresh(now)?;
    if now >= index.expires {
        return Err(ToolError::precondition(format!(
            "the channel's index {} expired {} hours ago: it is no longer known which release is the newest",
            index.sequence,
            (now - index.expires) / 3600
        ))
        .with("expired", index.expires)
        .hint(
            "its publisher has to publish it anew; if others get a newer one, somebody holds it back on the way here",
        ));
    }
    let checked_ms = wanted.clock_ms;
    let seen = Seen {
        product: index.product.clone(),
        channel: index.channel.clone(),
        sequence: index.sequence,
        created: index.created,
        sha256,
        checked_ms,
    };
    Ok(Accepted { index, seen, doubt: reckoned.doubt() })
}
