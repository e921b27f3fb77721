//! Asks a channel: newer roots of trust first, then the index, from whichever base has a good one.

use super::{HttpClient, small, try_small};
use base::error::ToolError;
use update::channel::{Accepted, Wanted, accept};
use update::{
    Place,
    channel::{INDEX, ROOTS},
    trust::{MAX_SIGNED, Roots},
};

/// The most roots that are taken in one go: a device that was off for a lifetime.
const MOST_ROOTS: usize = 64;

/// What a look brought.
#[derive(Clone, Debug)]
pub struct Look {
    pub accepted: Accepted,
    /// The root of trust it was judged by.
    pub roots: Roots,
    /// The roots that were new, as they came and in their order: the agent judges them itself.
    pub newer: Vec<Vec<u8>>,
}

/// Looks at the channel below `bases`. `held`: the root of trust so far.
///
/// # Errors
/// Those of [`accept`], of the last base that answered; `unavailable` when none does.
pub async fn look(http: &HttpClient, bases: &[String], held: Roots, wanted: &Wanted<'_>) -> Result<Look, ToolError> {
    let places = |path: &str| bases.iter().map(|base| Place::join(base, path)).collect::<Result<Vec<_>, _>>();
    let (mut roots, mut newer) = (held, Vec::new());
    while newer.len() < MOST_ROOTS {
        let path = format!("{ROOTS}/{}.signed", roots.version() + 1);
        // One that is missing or wrong is not there: the index is then judged by the root that is held, and needs its keys.
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
    Ok(Look { accepted, roots, newer })
}
