//! Makes the next index of a channel: the last one with one change, a higher number and new times.

use super::{ChannelIndex, MAX_OFFERS, ReleaseEntry, Revoked};
use crate::bundle::Digest;
use base::error::ToolError;

/// The change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// Only new times, so that it does not expire.
    Renew,
    /// Adds a release; beyond the limit the oldest is removed.
    Add(Box<ReleaseEntry>),
    /// The share of devices that get a release.
    Rollout {
        version: String,
        percent: u8,
    },
    /// The same, and the rings that it is for; empty: all.
    Stage {
        version: String,
        percent: u8,
        rings: Vec<String>,
    },
    Pause {
        reason: String,
    },
    Resume,
    /// A release that must not be installed any more.
    Revoke {
        version: String,
        reason: String,
    },
}

/// The index after `last`.
///
/// # Errors
/// `invalid_argument` for an impossible change; those of [`ChannelIndex::encode`].
pub fn publish(
    mut last: ChannelIndex,
    change: IndexChange,
    created: u64,
    expires: u64,
) -> Result<ChannelIndex, ToolError> {
    if created < last.created {
        return Err(ToolError::invalid(format!(
            "the last index was made at {}, and this one at {created}: devices would take it for a replay",
            last.created
        ))
        .hint("give a later --created"));
    }
    (last.sequence, last.created, last.expires) = (last.sequence + 1, created, expires);
    match change {
        IndexChange::Renew => {}
        IndexChange::Pause { reason } => last.paused = Some(reason),
        IndexChange::Resume if last.paused.is_none() => return Err(ToolError::invalid("the channel is not paused")),
        IndexChange::Resume => last.paused = None,
        IndexChange::Rollout { version, percent } => find(&mut last, &version)?.rollout.percent = percent,
        IndexChange::Stage { version, percent, rings } => {
            let offer = find(&mut last, &version)?;
            (offer.rollout.percent, offer.rings) = (percent, rings);
        }
        IndexChange::Revoke { version, reason } => {
            let manifest = find(&mut last, &version)?.manifest;
            if last.revocation(&manifest).is_some() {
                return Err(ToolError::invalid(format!("{version} is revoked already")));
            }
            last.revoked.push(Revoked { manifest, version, reason });
        }
        IndexChange::Add(offer) => add(&mut last, *offer)?,
    }
    last.encode()?;
    Ok(last)
}

fn add(index: &mut ChannelIndex, offer: ReleaseEntry) -> Result<(), ToolError> {
    let taken = |one: &&ReleaseEntry| {
        one.counter == offer.counter || one.version == offer.version || one.manifest == offer.manifest
    };
    if let Some(other) = index.releases.iter().find(taken) {
        return Err(ToolError::invalid(format!(
            "{} with counter {} is in the channel already, and this is {} with counter {}",
            other.version, other.counter, offer.version, offer.counter
        ))
        .hint("a release has a version and a counter of its own: build it with higher ones"));
    }
    let at = index.releases.partition_point(|one| one.counter > offer.counter);
    index.releases.insert(at, offer);
    index.releases.truncate(MAX_OFFERS);
    Ok(())
}

fn find<'a>(index: &'a mut ChannelIndex, version: &str) -> Result<&'a mut ReleaseEntry, ToolError> {
    let known: Vec<String> = index.releases.iter().map(|offer| offer.version.clone()).collect();
    index.releases.iter_mut().find(|offer| offer.version == version).ok_or_else(|| {
        ToolError::not_found(format!("the channel has no release {version}; it has {}", known.join(", ")))
            .with("version", version)
    })
}

/// The salt of a release's rollout: unique to it, and stable across publications.
pub fn salt(manifest: &Digest) -> String {
    manifest.to_string()[..16].to_owned()
}
