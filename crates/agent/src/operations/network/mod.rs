//! Network connections: activated with an automatic revert, then confirmed or reverted.

mod activate;
mod confirm;
mod names;

pub use activate::{ActivateConnection, Connected, ConnectionRequest};
pub use confirm::{ConfirmConnection, ConfirmRequest, Confirmed};
pub use names::{LONGEST_DEVICE, LONGEST_NAME, is_device, is_name};

use std::time::Duration;

/// Limit for an activation: Wi-Fi with a slow DHCP server needs half a minute.
pub const ACTIVATION: Duration = Duration::from_secs(60);
/// Range of the time to confirm that a caller may request, in seconds.
pub const CONFIRM_SECONDS: std::ops::RangeInclusive<u32> = 10..=600;
/// The default, in seconds.
pub const DEFAULT_CONFIRM_SECONDS: u32 = 60;
