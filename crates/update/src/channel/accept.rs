//! Whether an index is accepted: by its keys, for this product and channel, not older than an earlier one, not expired.

use super::{
    AcceptedIndex, ChannelIndex,
    seen::{KeyWatermark, joined},
};
use crate::{
    Reckoning,
    bundle::Digest,
    trust::{Purpose, RootOfTrust, Signed},
};
use base::error::{ErrorCode, ToolError};
/// An accepted index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub index: ChannelIndex,
    pub seen: AcceptedIndex,
    /// Why it may not be the newest: the clock is not set.
    pub doubt: Option<&'static str>,
}

/// What an index must match.
#[derive(Clone, Copy, Debug)]
pub struct IndexCriteria<'a> {
    pub product: &'a str,
    pub channel: &'a str,
    /// The newest index accepted so far; ignored if it is of another product or channel.
    pub seen: Option<&'a AcceptedIndex>,
    /// The system's clock, in milliseconds since 1970.
    pub clock_ms: i64,
    /// Whether the clock was set from the network.
    pub synchronised: bool,
    /// Seconds since 1970 that have certainly passed.
    pub time_floor: u64,
}

/// Verifies the bytes of an index.
///
/// # Errors
/// `verification_failed` for a bad or missing signature, another product or channel, an index from the future, one
/// older than what any current key has signed (a replay) or a different one with the same number; `failed_precondition`
/// when it (a freeze) or the root of trust has expired.
pub fn accept(bytes: &[u8], roots: &RootOfTrust, wanted: &IndexCriteria<'_>) -> Result<Accepted, ToolError> {
    let signed = Signed::parse(bytes, Purpose::Channel)?;
    let text = &signed.text;
    let signers = roots.verify_channel(text, &signed.signatures)?;
    let index = ChannelIndex::parse(text)?;
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
    let reckoned = Reckoning::of(wanted.clock_ms.div_euclid(1000), wanted.synchronised, wanted.time_floor);
    if index.created > reckoned.latest() {
        return refuse(format!(
            "the index was made in the future ({} seconds since 1970): look at this machine's clock",
            index.created
        ));
    }
    let sha256 = Digest::of(text);
    let keys = &roots.role(Purpose::Channel).keys;
    let same = |seen: &&AcceptedIndex| seen.product == index.product && seen.channel == index.channel;
    let marks = wanted.seen.filter(same).map_or_else(Vec::new, |seen| seen.known(keys));
    for seen in &marks {
        // Numbers signed by a key that is no longer in the role do not count.
        let before = if keys.contains(&seen.key) { seen.sequence } else { 0 };
        let now = index.sequence;
        // A time in the future was accepted while the clock was not set: it does not block anything.
        let earlier = index.created < seen.created && seen.created <= reckoned.latest();
        if now < before || earlier {
            return refuse(format!("the channel went back from index {before} to {now}: an old one is being replayed"));
        }
        if now == before && sha256 != seen.sha256 {
            return refuse(format!("there are two different indexes with number {now}"));
        }
    }
    // Without a set clock, the index's own creation time is later than any floor.
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
    let (sequence, created) = (index.sequence, index.created);
    // A time up to a day ahead must not block what is published in between.
    let seen_at = if reckoned.fresh { created.min(reckoned.now) } else { created };
    let signed: Vec<KeyWatermark> =
        signers.iter().map(|&key| KeyWatermark { key, sequence, created: seen_at, sha256 }).collect();
    let seen = AcceptedIndex {
        product: index.product.clone(),
        channel: index.channel.clone(),
        sequence,
        created,
        sha256,
        checked_ms: wanted.clock_ms,
        marks: joined(&signed, &marks),
    };
    Ok(Accepted { index, seen, doubt: reckoned.doubt() })
}
