//! Selects the release of a channel for this device.

use super::{ChannelIndex, ReleaseEntry, TargetDevice};
use std::fmt;

/// The decision for a channel's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseChoice {
    /// The newest release for this device.
    Install(Box<ReleaseEntry>),
    /// No release is newer than the running one.
    UpToDate,
    /// There is one, but it must not be installed on this device now.
    Held { release: Option<Box<ReleaseEntry>>, why: Why },
}

/// Why a release is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    Paused {
        reason: String,
    },
    Revoked {
        version: String,
        reason: String,
    },
    /// It failed on this device.
    Blocked {
        version: String,
        reason: String,
    },
    Hardware {
        version: String,
    },
    Layout {
        version: String,
        layout: String,
    },
    /// It is older than the floor allows.
    Floor {
        version: String,
    },
    /// An intermediate release must come first, and the channel has none.
    Step {
        version: String,
        from: u64,
    },
    Ring {
        version: String,
        rings: Vec<String>,
    },
    Rollout {
        version: String,
        percent: u8,
    },
    /// update.pin names a version that is not in the channel.
    NoSuchVersion {
        pin: String,
    },
    /// update.pin names a version older than the running one.
    Back {
        pin: String,
    },
}

/// Decides. Pure.
pub fn choose(index: &ChannelIndex, device: &TargetDevice) -> ReleaseChoice {
    if let Some(pin) = &device.pin {
        return pinned(index, device, pin);
    }
    let newer: Vec<&ReleaseEntry> = index.releases.iter().filter(|offer| offer.counter > device.counter).collect();
    let Some(newest) = newer.first() else { return ReleaseChoice::UpToDate };
    if let Some(reason) = &index.paused {
        return held(newest, Why::Paused { reason: reason.clone() });
    }
    // The newest one that fits; if it cannot be reached directly, the intermediate one.
    let mut first = None;
    for offer in &newer {
        match refusal(index, device, offer).or_else(|| not_yet(device, offer)) {
            None => return ReleaseChoice::Install(Box::new((*offer).clone())),
            Some(why) => drop(first.get_or_insert_with(|| held(offer, why))),
        }
    }
    first.unwrap_or(ReleaseChoice::UpToDate)
}

/// A pinned version ignores rings and rollouts, but not revocations and pauses.
fn pinned(index: &ChannelIndex, device: &TargetDevice, pin: &str) -> ReleaseChoice {
    let Some(offer) = index.releases.iter().find(|offer| offer.version == pin) else {
        return match device.version == pin {
            true => ReleaseChoice::UpToDate,
            false => ReleaseChoice::Held { release: None, why: Why::NoSuchVersion { pin: pin.to_owned() } },
        };
    };
    if offer.counter == device.counter {
        return ReleaseChoice::UpToDate;
    }
    if offer.counter < device.counter {
        return held(offer, Why::Back { pin: pin.to_owned() });
    }
    if let Some(reason) = &index.paused {
        return held(offer, Why::Paused { reason: reason.clone() });
    }
    refusal(index, device, offer)
        .map_or_else(|| ReleaseChoice::Install(Box::new(offer.clone())), |why| held(offer, why))
}

fn held(offer: &ReleaseEntry, why: Why) -> ReleaseChoice {
    ReleaseChoice::Held { release: Some(Box::new(offer.clone())), why }
}

/// Why it must not or cannot be installed here.
fn refusal(index: &ChannelIndex, device: &TargetDevice, offer: &ReleaseEntry) -> Option<Why> {
    let version = offer.version.clone();
    if let Some(reason) = index.revocation(&offer.manifest) {
        return Some(Why::Revoked { version, reason: reason.to_owned() });
    }
    if let Some((_, reason)) = device.blocked.iter().find(|(manifest, _)| *manifest == offer.manifest) {
        return Some(Why::Blocked { version, reason: reason.clone() });
    }
    if !offer.hardware.iter().any(|one| device.hardware.contains(one)) {
        return Some(Why::Hardware { version });
    }
    if offer.layout != device.layout {
        return Some(Why::Layout { version, layout: offer.layout.clone() });
    }
    if offer.counter < device.counter_floor {
        return Some(Why::Floor { version });
    }
    offer.min_counter.filter(|from| device.counter < *from).map(|from| Why::Step { version, from })
}

/// Why the rollout does not include this device yet.
fn not_yet(device: &TargetDevice, offer: &ReleaseEntry) -> Option<Why> {
    let version = offer.version.clone();
    if !offer.rings.is_empty() && !device.ring.as_ref().is_some_and(|ring| offer.rings.contains(ring)) {
        return Some(Why::Ring { version, rings: offer.rings.clone() });
    }
    let (percent, salt) = (offer.rollout.percent, &offer.rollout.salt);
    let in_share = percent >= 100 || device.id.is_some_and(|id| id.place(salt) < u16::from(percent) * 100);
    (!in_share).then_some(Why::Rollout { version, percent })
}

impl Why {
    /// For a version that a caller asked for by name: `update.pin` does not apply.
    pub fn of_asked(&self) -> String {
        match self {
            Self::NoSuchVersion { pin } => {
                format!("{pin} was asked for (target_version), which the channel does not have")
            }
            Self::Back { pin } => format!(
                "{pin} was asked for (target_version), which is older than what runs: a channel never leads back, manage.rollback does"
            ),
            why => why.to_string(),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused { reason } => write!(out, "the channel is paused by its publisher: {reason}"),
            Self::Revoked { version, reason } => write!(out, "{version} was withdrawn by its publisher: {reason}"),
            Self::Blocked { version, reason } => {
                write!(out, "{version} failed on this device and is not tried again: {reason}")
            }
            Self::Hardware { version } => write!(out, "{version} is not made for this board"),
            Self::Layout { version, layout } => {
                write!(out, "{version} is made for the partition layout {layout}, which this card does not have")
            }
            Self::Floor { version } => write!(out, "{version} is older than what may still be installed here"),
            Self::Step { version, from } => {
                write!(
                    out,
                    "{version} cannot be installed from what runs (it takes counter {from} or later), and the channel has no step in between"
                )
            }
            Self::Ring { version, rings } => {
                write!(out, "{version} is out for the rings {} so far (update.ring)", rings.join(", "))
            }
            Self::Rollout { version, percent } => {
                write!(out, "{version} is out for {percent} % of all devices so far, and this one's turn comes later")
            }
            Self::NoSuchVersion { pin } => write!(out, "update.pin wants {pin}, which the channel does not have"),
            Self::Back { pin } => write!(
                out,
                "update.pin wants {pin}, which is older than what runs: a channel never leads back, `raspi-mcp slot rollback` does"
            ),
        }
    }
}
