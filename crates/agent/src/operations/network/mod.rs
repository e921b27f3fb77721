//! Network connections: activated, added or changed with an automatic revert, then confirmed or reverted; and scans.

mod activate;
mod confirm;
mod edit;
mod scan;

pub use activate::{ActivateConnection, Connected, ConnectionRequest};
pub use base::os::network_manager::change::{
    CONFIRM_SECONDS, DEFAULT_CONFIRM_SECONDS, LONGEST_DEVICE, LONGEST_NAME, ProfileChange, is_device, is_name,
};
pub use confirm::{ConfirmConnection, ConfirmRequest, Confirmed};
pub use edit::{EditConnection, EditRequest};
pub use scan::{ScanRequest, ScanWifi};

use std::time::Duration;

/// Limit for an activation: Wi-Fi with a slow DHCP server needs half a minute.
pub const ACTIVATION: Duration = Duration::from_secs(60);
