//! Selects the backend of a board's header: the simulated lines, or the character device, on Raspberry Pis together
//! with their registers.

use super::{cdev::Cdev, hardware::Hardware, pin_cache::PinCache, registers::Registers};
use crate::line::{Function, GpioPort, Level, Line, LineError, LineInfo, Take};
use crate::{devices::Devices, model::BoardKind};
use base::os::Root;
use contract::values::Pin;
use std::{path::Path, sync::Arc};

/// Opens the lines of the header. `wanted` is `gpio.chip`: label or device file, empty for the default. `pin_cache`
/// provides the functions of pins where this process may not read the registers.
///
/// # Errors
/// [`LineError::NoChip`], or why it cannot be opened.
pub fn open(
    root: &Root,
    hardware: &Hardware,
    wanted: &str,
    pin_cache: &Arc<PinCache>,
) -> Result<Arc<dyn GpioPort>, LineError> {
    if let Some(twin) = &hardware.simulated {
        return Ok(Arc::new(twin.gpio.clone()));
    }
    let chip = find(root, hardware, wanted)?;
    if hardware.kind != BoardKind::RaspberryPi {
        return Ok(Arc::new(chip));
    }
    let registers = Registers::open(hardware.profile)
        .inspect_err(|why| tracing::debug!(why, "the registers of the pins are left to the agent"))
        .ok();
    Ok(Arc::new(Header { chip, registers, pin_cache: Arc::clone(pin_cache) }))
}

/// The lines alone, without the registers, for a holder of one line that reads no others.
///
/// # Errors
/// As [`open`].
pub fn lines(root: &Root, hardware: &Hardware, wanted: &str) -> Result<Arc<dyn GpioPort>, LineError> {
    match &hardware.simulated {
        Some(twin) => Ok(Arc::new(twin.gpio.clone())),
        None => Ok(Arc::new(find(root, hardware, wanted)?)),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum ChosenChip<'a> {
    Labelled(&'a str),
    /// Another board: whichever there is.
    First,
    /// A Raspberry Pi that the table of models lacks. Its first chip may control something else: that of a Pi 5 has the
    /// lines of the flash with the boot loader (rppal#127).
    Unknown,
}

/// Which chip has the header's lines; `wanted` is a label or empty.
fn chosen<'a>(wanted: &'a str, hardware: &Hardware) -> ChosenChip<'a> {
    match (wanted, hardware.profile) {
        ("", Some(profile)) => ChosenChip::Labelled(profile.header_chip.label()),
        ("", None) if hardware.kind == BoardKind::RaspberryPi => ChosenChip::Unknown,
        ("", None) => ChosenChip::First,
        (wanted, _) => ChosenChip::Labelled(wanted),
    }
}

fn find(root: &Root, hardware: &Hardware, wanted: &str) -> Result<Cdev, LineError> {
    let devices = Devices::read(root).gpio;
    let there = || {
        let there = devices.iter().map(|device| device.described()).collect::<Vec<_>>().join(", ");
        if there.is_empty() { "none at all".into() } else { there }
    };
    let missing = |what: String| LineError::NoChip(format!("this board has no GPIO chip {what}; there is {}", there()));
    if wanted.starts_with('/') {
        return if Path::new(wanted).exists() { Cdev::open(Path::new(wanted)) } else { Err(missing(wanted.into())) };
    }
    let label = match chosen(wanted, hardware) {
        ChosenChip::Labelled(label) => Some(label),
        ChosenChip::First => None,
        ChosenChip::Unknown => {
            return Err(LineError::NoChip(format!(
                "which GPIO chip has the header of this Raspberry Pi model is not known; name it in gpio.chip; there is {}",
                there()
            )));
        }
    };
    let mut refused = None;
    for device in &devices {
        match Cdev::open(Path::new(&device.path)) {
            Ok(chip) if label.is_none_or(|label| chip.label() == label) => return Ok(chip),
            Ok(_) => {}
            Err(fault) => drop(refused.get_or_insert(fault)),
        }
    }
    Err(refused.unwrap_or_else(|| missing(label.map(|label| format!("labelled {label}")).unwrap_or_default())))
}

/// The header of a Raspberry Pi.
struct Header {
    chip: Cdev,
    registers: Option<Registers>,
    pin_cache: Arc<PinCache>,
}

impl Header {
    fn seen(&self, pin: Pin) -> Option<(Function, Option<Level>)> {
        match &self.registers {
            Some(registers) => registers.look(pin),
            None => self.pin_cache.look(pin),
        }
    }
}

impl GpioPort for Header {
    fn name(&self) -> String {
        self.chip.name()
    }

    fn reads_registers(&self) -> bool {
        self.registers.is_some()
    }

    fn look(&self, pin: Pin) -> Result<LineInfo, LineError> {
        let mut look = self.chip.look(pin)?;
        if let Some((function, level)) = self.seen(pin) {
            look = LineInfo { function, level, ..look };
        }
        Ok(look)
    }

    fn take(&self, pin: Pin, how: Take, consumer: &str) -> Result<Box<dyn Line>, LineError> {
        self.chip.take(pin, how, consumer)
    }

    /// Never by requesting the line: releasing it would turn an alternate function into an input.
    fn peek(&self, pin: Pin) -> Result<Level, LineError> {
        match self.seen(pin) {
            Some((_, level)) => level.ok_or_else(LineError::no_level),
            None => Err(LineError::Unsupported(
                "the registers of the pins cannot be read, and taking a pin to read it would change it".into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PROFILES;

    fn hardware(kind: BoardKind, profile: Option<&'static crate::model::BoardProfile>) -> Hardware {
        Hardware { kind, profile, simulated: None }
    }

    #[test]
    fn an_unknown_raspberry_pi_gets_no_chip_by_chance() {
        let known = |name: &str| PROFILES.iter().find(|profile| profile.name == name);
        let six = hardware(BoardKind::RaspberryPi, None);
        assert_eq!(chosen("", &six), ChosenChip::Unknown);
        assert_eq!(chosen("pinctrl-rp1", &six), ChosenChip::Labelled("pinctrl-rp1"), "the owner named it");
        let five = hardware(BoardKind::RaspberryPi, known("Raspberry Pi 5"));
        assert_eq!(chosen("", &five), ChosenChip::Labelled("pinctrl-rp1"));
        let two = hardware(BoardKind::RaspberryPi, known("Raspberry Pi 2 Model B"));
        assert_eq!(chosen("", &two), ChosenChip::Labelled("pinctrl-bcm2835"));
        assert_eq!(chosen("", &hardware(BoardKind::Linux, None)), ChosenChip::First);
    }

    #[test]
    fn the_refusal_names_the_setting_and_what_there_is() {
        let root = Root::at("no such folder");
        let refused = find(&root, &hardware(BoardKind::RaspberryPi, None), "").err().unwrap().to_string();
        assert!(refused.contains("gpio.chip") && refused.contains("there is none at all"), "{refused}");
    }
}
