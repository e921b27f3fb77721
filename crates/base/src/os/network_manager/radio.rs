//! The Wi-Fi network of each radio.

use super::{ACCESS_POINT, Objects, WIRELESS};
use crate::{error::ToolError, os::bus::DBus};

/// A radio that is connected to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radio {
    pub interface: String,
    pub ssid: String,
    /// The access point's address.
    pub bssid: String,
    pub frequency_mhz: u32,
    /// 0-100.
    pub strength: u8,
}

/// Every radio that is connected to a network.
///
/// # Errors
/// Those of [`Objects::read`].
pub async fn all(bus: &DBus) -> Result<Vec<Radio>, ToolError> {
    let objects = Objects::read(bus).await?;
    let radios = objects.all(WIRELESS).filter_map(|(path, radio)| {
        let point = objects.of(radio.object("ActiveAccessPoint")?, ACCESS_POINT)?;
        Some(Radio {
            interface: objects.interface_of(path)?.to_owned(),
            // A hidden network may have none.
            ssid: point.bytes("Ssid").unwrap_or_default(),
            bssid: point.text("HwAddress")?.to_owned(),
            frequency_mhz: point.number("Frequency")?,
            strength: point.get("Strength")?,
        })
    });
    Ok(radios.collect())
}
