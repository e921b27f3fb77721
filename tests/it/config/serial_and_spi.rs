//! `[[spi.devices]]` and `[[serial.ports]]`: what may be reached, and what is wrong with an entry.

use super::Machine;
use contract::config::{SerialPortSetting, SpiDeviceSetting};

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

#[test]
fn nothing_is_listed_until_somebody_does() {
    let settings = Machine::new().starts();
    assert!(settings.spi.devices.is_empty() && settings.serial.ports.is_empty());
}

#[test]
fn an_entry_has_defaults() {
    let settings = Machine::new()
        .site("[[spi.devices]]\nbus = 0\nchip_select = 1\n[[serial.ports]]\nname = \"serial/by-id/usb-A_B-if00\"\n")
        .starts();
    assert_eq!(settings.spi.devices, [SpiDeviceSetting { bus: 0, chip_select: 1, max_speed_hz: 10_000_000 }]);
    let port = SerialPortSetting { name: "serial/by-id/usb-A_B-if00".into(), writable: false };
    assert_eq!(settings.serial.ports, [port]);
}

#[test]
fn every_field_says_what_it_wants() {
    let pi = Machine::new().site(
        "[[spi.devices]]\nbus = 256\nchip_select = -1\nmax_speed_hz = 9999\n[[spi.devices]]\nbus = 0\n\
         [[serial.ports]]\nname = \"/dev/ttyS0\"\nwritable = 1\n[[serial.ports]]\nname = \"../sda\"\nport = \"a\"\n",
    );
    let number = "must be a whole number from 0 to 255";
    let name = "serial.ports.name must be a path below /dev like \"ttyUSB0\"";
    assert_eq!(
        pi.refuses(),
        [
            format!("{SITE}:2:7: spi.devices.bus {number}, not 256"),
            format!("{SITE}:3:15: spi.devices.chip_select {number}, not -1"),
            format!("{SITE}:4:16: spi.devices.max_speed_hz must be a whole number from 10000 to 125000000, not 9999"),
            format!("{SITE}:5:1: this device has no chip_select; every [[spi.devices]] needs bus and chip_select"),
            format!("{SITE}:8:8: {name}, not \"/dev/ttyS0\""),
            format!("{SITE}:9:12: serial.ports.writable must be true or false, not 1"),
            format!("{SITE}:11:8: {name}, not \"../sda\""),
            format!("{SITE}:12:1: unknown key \"port\" in [[serial.ports]]"),
        ]
    );
}

#[test]
fn a_grant_names_devices_in_either_form() {
    let grant = |device: &str| format!("[[tools.allow]]\ntool = \"gpio.write_pin\"\ndevices = [\"{device}\"]\n");
    let settings = Machine::new().site(&(grant("spidev0.1") + &grant("ttyUSB0") + &grant("1:0x48"))).starts();
    let [spi, port, chip] = settings.tools.allow.as_slice() else { panic!("three grants") };
    assert!(spi.has_device_file("spidev0.1") && port.has_device_file("ttyUSB0") && !chip.has_device_file("ttyUSB0"));
    let refused = Machine::new().site(&grant("/dev/ttyUSB0")).refuses().concat();
    assert!(refused.contains("serial ports as \"ttyUSB0\""), "{refused}");
}
