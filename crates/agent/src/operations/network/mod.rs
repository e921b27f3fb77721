//! Connections of the network: activated so that they go back by themselves, and confirmed or taken back.

mod activate;
mod confirm;
mod names;

pub use activate::{ActivateConnection, Connected, ConnectionRequest};
pub use confirm::{ConfirmConnection, ConfirmRequest, Confirmed};
pub use names::{LONGEST_DEVICE, LONGEST_NAME, is_device, is_name};

use std::time::Duration;

/// How long an activation may take: Wi-Fi with a slow DHCP server needs half a minute.
pub const ACTIVATION: Duration = Duration::from_secs(60);
/// What a caller may ask for as the time to confirm, in seconds.
pub const CONFIRM_SECONDS: std::ops::RangeInclusive<u32> = 10..=600;
/// That time when the caller does not say.
pub const DEFAULT_CONFIRM_SECONDS: u32 = 60;
