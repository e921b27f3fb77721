//! `[[spi.devices]]`: the devices that `spi.transfer` may reach.

use crate::config::{
    declare::section,
    found::LocatedValue,
    key::InState,
    kind::{Complaint, KnownTools, SettingKind, count},
    table_setting::TableSetting,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

section! {
    /// SPI devices that `spi.transfer` can access. Without one, a real board's buses are only listed.
    [spi] pub struct SpiSettings {
        /// Devices that may be accessed, one `[[spi.devices]]` each. Every SPI transfer also writes.
        // Empty: no device on a real board, every device on a simulated one.
        devices: Vec<SpiDeviceSetting> = Vec::new(), SettingKind::Tables(&DEVICES), InState::Never;
    }
}

/// One device: the B and C of `/dev/spidevB.C`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpiDeviceSetting {
    pub bus: u32,
    pub chip_select: u32,
    /// The fastest clock, in hertz.
    #[serde(default = "SpiDeviceSetting::usual_speed")]
    pub max_speed_hz: u32,
}

impl SpiDeviceSetting {
    /// 10 MHz: most parts take it, over short wires.
    pub fn usual_speed() -> u32 {
        10_000_000
    }
}

/// Highest number of a bus or a chip select.
pub const HIGHEST: u32 = 255;
const NUMBER: SettingKind = count(0, HIGHEST as i64);
/// Slowest clock, in hertz: 4096 bytes take 3.3 s.
pub const SLOWEST_HZ: u32 = 10_000;
/// Fastest clock, in hertz: what the controllers of Raspberry Pis can do.
pub const FASTEST_HZ: u32 = 125_000_000;
const SPEED: SettingKind = count(SLOWEST_HZ as i64, FASTEST_HZ as i64);
/// Maximum number of entries, more than a board can have.
const MOST: usize = 64;

/// `spi.devices`.
pub const DEVICES: TableSetting = TableSetting {
    key: "spi.devices",
    noun: "device",
    most: MOST,
    named: false,
    secret: false,
    required: &["bus", "chip_select"],
    optional: &["max_speed_hz (10000000)"],
    check_field,
    example: "\
#[[spi.devices]]
#bus = 0
#chip_select = 0
#max_speed_hz = 1000000
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    Some(match field {
        "bus" => NUMBER.check_field("spi.devices.bus", found, tools),
        "chip_select" => NUMBER.check_field("spi.devices.chip_select", found, tools),
        "max_speed_hz" => SPEED.check_field("spi.devices.max_speed_hz", found, tools),
        _ => return None,
    })
}
