//! Thermometers on 1-Wire buses, by the driver w1_therm (Documentation/w1/slaves/w1_therm.rst).

use super::{
    attribute, device,
    port::{Reading, Sensor, Source},
    quantity::TEMPERATURE,
};
use crate::onewire::{DEVICES, Family, scratchpad, thermometer_family};
use base::os::{Root, malformed};
use std::io;

/// In these lines a measurement ends with the state of its checksum, and the temperature.
const SLAVE: &str = "w1_slave";

/// Every thermometer that the driver has.
pub fn list(root: &Root, into: &mut Vec<Sensor>) {
    for entry in root.list(DEVICES).unwrap_or_default() {
        let Some(chip) = thermometer_family(&entry).map(Family::chip) else { continue };
        let folder = format!("{DEVICES}/{entry}/");
        let Some(file) = [SLAVE, "temperature"].into_iter().find(|file| root.has(&format!("{folder}{file}"))) else {
            continue;
        };
        let found = device::of(&root.path(&format!("{DEVICES}/{entry}")));
        into.push(Sensor {
            name: device::name(&chip, &device::plain(&entry), "temp"),
            quantity: &TEMPERATURE,
            label: None,
            chip,
            interface: "w1",
            device: found.about,
            source: Source { folder, file: Some(file.to_owned()), factor: 1e-3, ..Source::default() },
        });
    }
}

/// Measures; takes 750 ms at 12 bits.
///
/// # Errors
/// As [`super::port::SensorPort::read`]; `InvalidData` if the checksum does not fit.
pub fn read(root: &Root, source: &Source) -> io::Result<Reading> {
    let name = source.file.as_deref().unwrap_or_default();
    let file = format!("{}{name}", source.folder);
    let text = attribute::text(root, &file)?;
    let no_number = || malformed(&file, "it does not hold a number");
    let celsius = if name == SLAVE {
        let read = scratchpad(&text).ok_or_else(no_number)?;
        if !read.is_whole() {
            return Err(malformed(&file, "the checksum (CRC) does not fit: noise, a long wire or a weak pull-up"));
        }
        read.celsius
    } else {
        attribute::parse(&text).ok_or_else(no_number)? * source.factor
    };
    Ok(Reading { value: Some(celsius), ..Reading::default() })
}
