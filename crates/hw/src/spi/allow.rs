//! The allow-list of SPI devices, from the configuration.

use base::error::ToolError;
use contract::config::{FASTEST_SPI_HZ, SpiDeviceSetting, SpiSettings};
use std::collections::BTreeMap;

/// The allow-list: the fastest clock of each device, in hertz.
#[derive(Clone, Debug)]
pub enum SpiAllow {
    /// A simulated board without configuration: every device is allowed.
    Everything,
    Listed(BTreeMap<(u32, u32), u32>),
}

impl SpiAllow {
    /// Without a list nothing is allowed, except on a simulated board, where everything is.
    pub fn of(settings: &SpiSettings, simulated: bool) -> Self {
        if simulated && settings.devices.is_empty() {
            return Self::Everything;
        }
        let entry = |one: &SpiDeviceSetting| ((one.bus, one.chip_select), one.max_speed_hz);
        Self::Listed(base::sort::map(settings.devices.iter().map(entry)))
    }

    /// The fastest clock of a device, in hertz; `None`: it is not allowed.
    pub fn speed(&self, device: (u32, u32)) -> Option<u32> {
        match self {
            Self::Everything => Some(FASTEST_SPI_HZ),
            Self::Listed(devices) => devices.get(&device).copied(),
        }
    }

    /// Whether any device is allowed.
    ///
    /// # Errors
    /// `permission_denied`, naming the setting.
    pub fn some(&self) -> Result<(), ToolError> {
        match self {
            Self::Listed(devices) if devices.is_empty() => {
                Err(ToolError::denied("no SPI device is on the list of this machine")
                    .hint("the owner of this machine can add one to [[spi.devices]]: bus = 0, chip_select = 0"))
            }
            _ => Ok(()),
        }
    }

    /// The error for a device that is not allowed.
    pub fn refusal(&self, (bus, chip_select): (u32, u32)) -> ToolError {
        ToolError::denied(format!("spidev{bus}.{chip_select} is not on the list of this machine"))
            .with("required_permission", format!("spi:transfer:{bus}:{chip_select}"))
            .hint(format!(
                "the owner of this machine can add it to [[spi.devices]]: bus = {bus}, chip_select = {chip_select}"
            ))
    }
}
