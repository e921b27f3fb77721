//! The allow-list of devices on buses, from the configuration.

use super::Addresses;
use base::error::ToolError;
use contract::config::I2cSettings;
use contract::values::I2cAddress;
use std::collections::BTreeMap;

/// The kind of access. The word is the verb of its permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum I2cAccessKind {
    Read,
    Write,
}

impl I2cAccessKind {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What is allowed on one bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllowedAddresses {
    pub readable: Addresses,
    pub writable: Addresses,
}

/// The allow-list.
#[derive(Clone, Debug)]
pub enum Allow {
    /// A simulated board without configuration: every device is allowed.
    Everything,
    Listed(BTreeMap<u32, AllowedAddresses>),
}

impl Allow {
    /// Without a list nothing is allowed, except on a simulated board, where everything is.
    pub fn of(settings: &I2cSettings, simulated: bool) -> Self {
        if simulated && settings.buses.is_empty() {
            return Self::Everything;
        }
        let mut buses: BTreeMap<u32, AllowedAddresses> = BTreeMap::new();
        for setting in &settings.buses {
            let allowed = buses.entry(setting.bus).or_default();
            allowed.readable = allowed.readable.and(setting.addresses);
            if setting.writable {
                allowed.writable = allowed.writable.and(setting.addresses);
            }
        }
        Self::Listed(buses)
    }

    /// What is allowed on `bus`.
    pub fn on(&self, bus: u32) -> AllowedAddresses {
        match self {
            Self::Everything => AllowedAddresses { readable: Addresses::every(), writable: Addresses::every() },
            Self::Listed(buses) => buses.get(&bus).copied().unwrap_or_default(),
        }
    }

    /// Whether one device may be read or written.
    ///
    /// # Errors
    /// `permission_denied` naming the setting, with the permission as `i2c:verb:bus:address`.
    pub fn check(&self, bus: u32, address: I2cAddress, want: I2cAccessKind) -> Result<(), ToolError> {
        let allowed = self.on(bus);
        if (if want == I2cAccessKind::Read { allowed.readable } else { allowed.writable }).holds(address) {
            return Ok(());
        }
        let error = if allowed.readable.holds(address) {
            ToolError::denied(format!("{address} on I2C bus {bus} may be read and not written"))
                .hint("the owner of this machine can set writable = true for it in [[i2c.buses]]")
        } else {
            ToolError::denied(format!("{address} on I2C bus {bus} is not on the list of this machine")).hint(format!(
                "the owner of this machine can add it to [[i2c.buses]]: bus = {bus}, addresses = [\"{address}\"]"
            ))
        };
        Err(error.with("required_permission", format!("i2c:{}:{bus}:{address}", want.word())))
    }

    /// The addresses of `bus` that a scan may probe, including the granted `more`.
    ///
    /// # Errors
    /// As [`Allow::check`], with `i2c:scan:bus`, when there is none.
    pub fn scannable(&self, bus: u32, more: Addresses) -> Result<Addresses, ToolError> {
        match self.on(bus).readable.and(more) {
            none if none.is_empty() => Err(ToolError::denied(format!(
                "I2C bus {bus} is not on the list of this machine"
            ))
            .with("required_permission", format!("i2c:scan:{bus}"))
            .hint(format!(
                "the owner of this machine can add it to [[i2c.buses]]: bus = {bus}, addresses = [\"0x08-0x77\"]"
            ))),
            some => Ok(some),
        }
    }
}
