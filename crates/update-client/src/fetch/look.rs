//! Checks a channel: fetches newer roots of trust first, then the index, from the first base with a valid one.

use super::{HttpClient, small, try_small};
use base::error::ToolError;
use update::channel::{Accepted, IndexCriteria, accept};
use update::{
    FileLocation,
    channel::{INDEX, ROOTS},
    trust::{MAX_SIGNED, RootOfTrust},
};

/// Maximum number of roots accepted at once, enough for a device that was off for many years.
const MOST_ROOTS: usize = 64;

/// The result of a check.
#[derive(Clone, Debug)]
pub struct ChannelState {
    pub accepted: Accepted,
    /// The root of trust it was verified with.
    pub roots: RootOfTrust,
    /// The new roots, unmodified and in order; the agent verifies them itself.
    pub newer: Vec<Vec<u8>>,
}

/// Checks the channel below `bases`. `held`: the current root of trust.
///
/// # Errors
/// Those of [`accept`], from the last base that answered; `unavailable` when none does.
pub async fn look(
    http: &HttpClient,
    bases: &[String],
    held: RootOfTrust,
    wanted: &IndexCriteria<'_>,
) -> Result<ChannelState, ToolError> {
    let places = |path: &str| bases.iter().map(|base| FileLocation::join(base, path)).collect::<Result<Vec<_>, _>>();
    let (mut roots, mut newer) = (held, Vec::new());
    while newer.len() < MOST_ROOTS {
        let path = format!("{ROOTS}/{}.signed", roots.version() + 1);
        // A wrong root counts as missing: the index is then verified with the current root, and needs its keys.
        let Some(bytes) = try_small(http, places(&path)?, MAX_SIGNED).await else { break };
        match roots.accept(&bytes) {
            Ok(next) => roots = next,
            Err(fault) => {
                tracing::warn!(target: "raspi_mcp::update::channel::look", "a root of trust at {path} is not believed: {fault}");
                break;
            }
        }
        newer.push(bytes);
    }
    let path = format!("{}/{INDEX}", wanted.channel);
    let accepted = small(http, places(&path)?, MAX_SIGNED, |bytes| accept(&bytes, &roots, wanted)).await?;
    Ok(ChannelState { accepted, roots, newer })
}
