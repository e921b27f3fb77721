//! Errors of failed transfers: each fault has its own code and next step.

use super::port::I2cError;
use base::error::{ErrorCode, ToolError};
use contract::values::I2cAddress;
use std::time::Duration;

/// The attempted access.
#[derive(Clone, Copy, Debug)]
pub struct I2cAccess<'a> {
    pub bus: u32,
    /// `None`: the whole bus.
    pub address: Option<I2cAddress>,
    /// The driver that is bound to the device, if sysfs shows one.
    pub driver: Option<&'a str>,
}

impl I2cAccess<'_> {
    /// The error of a call that failed with this fault.
    pub fn ended(self, fault: &I2cError) -> ToolError {
        let Self { bus, address, driver } = self;
        let device = address.map_or_else(|| "a device".into(), |address| address.to_string());
        let error = match fault {
            I2cError::NoBus => ToolError::missing(format!("there is no I2C bus {bus} that programs can open")).hint(
                "i2c.list_buses shows those there are; the header's bus 1 needs dtparam=i2c_arm=on in config.txt, a restart, and the module i2c-dev",
            ),
            I2cError::NotLetIn => ToolError::unavailable(format!("this server may not open /dev/i2c-{bus}"))
                .with("resource", format!("/dev/i2c-{bus}"))
                .hint("add its user to the group i2c (dist/udev gives the device to it) and restart; raspi-mcp doctor looks at it"),
            I2cError::Held => {
                let who = driver.map_or_else(|| "a driver".into(), |driver| format!("the driver {driver}"));
                let error = ToolError::precondition(format!("{device} on I2C bus {bus} belongs to {who} of the kernel"))
                    .hint("use what the driver offers (hwmon, rtc, input, ...), or take its dtoverlay out of config.txt and restart");
                error.with_some("driver", driver)
            }
            I2cError::Nack => ToolError::not_found(format!("no answer from {device} on I2C bus {bus} (NACK)")).hint(
                "nothing has that address, or it refused these bytes or is busy; i2c.scan_bus shows who answers; check wiring and power",
            ),
            I2cError::ArbitrationLost => {
                ToolError::unavailable(format!("another master took I2C bus {bus} (arbitration lost)"))
                    .hint("try again; if it stays, find the other master or the line that disturbs it")
            }
            I2cError::Busy => ToolError::unavailable(format!("I2C bus {bus} is not free"))
                .hint("try again; if it stays, a device holds SDA or SCL low: power it off and on"),
            I2cError::Timeout(took) => {
                let mut error = ToolError::new(
                    ErrorCode::Timeout,
                    format!("the adapter of I2C bus {bus} gave up on {device} after {} ms", millis(*took)),
                );
                error.timeout_ms = Some(millis(*took));
                error.hint("a device stretches the clock or holds a line low: power it off and on; check pull-ups and bus speed")
            }
            I2cError::Lacks(lack) => ToolError::missing(format!("the adapter of I2C bus {bus} cannot do that in one transfer"))
                .with("needs_one_of", lack.names())
                .hint("SMBus adapters send one to 33 bytes, read one byte, or read up to 32 behind one register byte"),
            I2cError::Refused(why) => {
                ToolError::missing(format!("the driver of I2C bus {bus} refuses such a transfer: {why}"))
                    .hint("try fewer bytes; some adapters take only short transfers, or no repeated start")
            }
            I2cError::Queue(waited) => {
                let waited = millis(*waited);
                ToolError::unavailable(format!("I2C bus {bus} has been busy with another call for {waited} ms"))
                    .hint("try again; if it stays, the adapter hangs: power its devices off and on, or restart the board")
            }
            I2cError::Other(why) => ToolError::unavailable(format!("I2C bus {bus} failed at {device}: {why}"))
                .hint("try again; the kernel's log may say more (logs.query_journal)"),
        };
        let error = error.with("bus", bus).with("fault", fault.word());
        error.with_some("address", address.map(|address| address.number()))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
