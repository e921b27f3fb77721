//! `[[i2c.buses]]`: the devices on each bus that `i2c.*` may reach.

use crate::{
    config::{
        declare::section,
        found::{LocatedValue, UncheckedValue},
        key::InState,
        kind::{Complaint, KnownTools, SettingKind, count},
        table_setting::TableSetting,
    },
    values::Addresses,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

section! {
    /// Devices that `i2c.*` can access. Without one, a real board's buses are only listed.
    [i2c] pub struct I2cSettings {
        /// Devices that may be accessed, one `[[i2c.buses]]` for some devices of a bus. A read with a register first
        /// sends that byte: list a device without registers (a port expander, a multiplexer) only if any byte may be
        /// sent to it.
        // Empty: no device on a real board, every device on a simulated one.
        buses: Vec<BusSetting> = Vec::new(), SettingKind::Tables(&BUSES), InState::Never;
    }
}

/// Devices on one bus. There may be several entries for a bus; their permissions add up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusSetting {
    /// The N of `/dev/i2c-N`.
    pub bus: u32,
    /// Those that may be read and probed by a scan.
    pub addresses: Addresses,
    /// Whether they may also be written.
    #[serde(default)]
    pub writable: bool,
}

/// The highest minor number of i2c-dev (MINORMASK).
pub const HIGHEST_BUS: u32 = 0xf_ffff;
const BUS: SettingKind = count(0, HIGHEST_BUS as i64);
/// Maximum number of entries, more than a board can have.
const MOST: usize = 64;

/// `i2c.buses`.
pub const BUSES: TableSetting = TableSetting {
    key: "i2c.buses",
    noun: "bus",
    most: MOST,
    named: false,
    secret: false,
    required: &["bus", "addresses"],
    optional: &["writable (false)"],
    check_field,
    example: "\
#[[i2c.buses]]
#bus = 1
#addresses = [\"0x48\", \"0x50-0x57\"]
#writable = true
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    Some(match field {
        "bus" => BUS.check_field("i2c.buses.bus", found, tools),
        "writable" => SettingKind::Bool.check_field("i2c.buses.writable", found, tools),
        "addresses" => addresses(found),
        _ => return None,
    })
}

fn addresses(found: &LocatedValue) -> Result<Value, Complaint> {
    let UncheckedValue::List(items) = &found.value else {
        let expected = "a list of addresses like \"0x48\" and ranges like \"0x50-0x57\"";
        return Err((found.at, format!("i2c.buses.addresses must be {expected}, not {}", found.shown())));
    };
    if items.is_empty() {
        let all = "\"0x08-0x77\" is every address";
        return Err((found.at, format!("i2c.buses.addresses is empty, so this allows nothing; {all}")));
    }
    let checked = items.iter().map(|item| match &item.value {
        UncheckedValue::Text(text) => match Addresses::parse(text) {
            Ok(_) => Ok(Value::from(text.as_str())),
            Err(why) => Err((item.at, format!("i2c.buses.addresses: {why}"))),
        },
        _ => Err((item.at, format!("i2c.buses.addresses: {} is no text; write \"0x48\"", item.shown()))),
    });
    checked.collect()
}
