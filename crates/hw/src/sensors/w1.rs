//! Thermometers on 1-Wire buses, by the driver w1_therm (Documentation/w1/slaves/w1_therm.rst).

use super::{
    attribute, device,
    port::{Reading, Sensor, Source},
    quantity::TEMPERATURE,
};
use base::os::{Root, malformed};
use std::io;

const DEVICES: &str = "sys/bus/w1/devices";
/// The families of w1_therm, and their parts.
const PARTS: [(&str, &str); 5] =
    [("10-", "ds18s20"), ("22-", "ds1822"), ("28-", "ds18b20"), ("3b-", "ds1825"), ("42-", "ds28ea00")];
/// In these lines a measurement ends with the state of its checksum, and the temperature.
const SLAVE: &str = "w1_slave";

/// Every thermometer that the driver has.
pub fn list(root: &Root, into: &mut Vec<Sensor>) {
    for entry in root.list(DEVICES).unwrap_or_default() {
        let Some((_, chip)) = PARTS.iter().find(|(family, _)| entry.starts_with(family)) else { continue };
        let folder = format!("{DEVICES}/{entry}/");
        let Some(file) = [SLAVE, "temperature"].into_iter().find(|file| root.has(&format!("{folder}{file}"))) else {
            continue;
        };
        let found = device::of(&root.path(&format!("{DEVICES}/{entry}")));
        into.push(Sensor {
            name: device::name(chip, &device::plain(&entry), "temp"),
            quantity: &TEMPERATURE,
            label: None,
            chip: (*chip).to_owned(),
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
    let number = if name == SLAVE {
        if !text.lines().next().is_some_and(|line| line.ends_with("YES")) {
            return Err(malformed(&file, "the checksum (CRC) does not fit: noise, a long wire or a weak pull-up"));
        }
        text.rsplit_once("t=").map_or("", |(_, number)| number)
    } else {
        &text
    };
    let thousandths = attribute::parse(number).ok_or_else(|| malformed(&file, "it does not hold a number"))?;
    Ok(Reading { value: Some(thousandths * source.factor), ..Reading::default() })
}
