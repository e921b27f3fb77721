//! What the channel has for this device.

use super::Updating;
use crate::{
    error::ToolError,
    update::{
        bundle::Digest,
        fetch::{Line, Place},
    },
};
use std::sync::Arc;

/// A release of a channel.
#[derive(Clone, Debug)]
pub struct Offer {
    pub channel: String,
    pub version: String,
    pub counter: u64,
    pub manifest: Digest,
    /// Where the bundle is, best first.
    pub places: Vec<Place>,
    /// Bytes of the bundle.
    pub size: Option<u64>,
    /// Milliseconds since 1970 UTC.
    pub released_ms: Option<i64>,
    pub notes: Option<String>,
    pub notes_url: Option<String>,
}

/// What a look at a channel found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What this device may install now.
    pub offer: Option<Offer>,
    /// The newest there is, whether it is for this device now or not.
    pub newest: Option<Offer>,
    /// Why there is no offer, though something newer is there.
    pub held: Option<String>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Milliseconds since 1970 UTC.
    pub checked_ms: i64,
}

impl Updating {
    /// Fetches and verifies the index of `channel`, and chooses from it for this device: `version`, or the newest that it may have.
    ///
    /// # Errors
    /// `failed_precondition` where no channel is configured, `unavailable` when it does not answer, `verification_failed` when what
    /// it answers is not signed for this.
    pub async fn find(&self, channel: &str, version: Option<&str>) -> Result<Found, ToolError> {
        let _ = (channel, version);
        Err(ToolError::missing("this build has no channels"))
    }

    /// The way out, with its limits.
    pub(super) async fn line(&self) -> Result<Arc<Line>, ToolError> {
        let _ = &self.0.root;
        Err(ToolError::missing("this build has no channels"))
    }
}
