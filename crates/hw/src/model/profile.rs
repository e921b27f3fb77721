//! The table of Raspberry Pi models.
//!
//! Sources: the files `bcm27*-rpi-*.dts*` of Raspberry Pi's kernel for the device tree names (and the kernel's own
//! `bcm2837-rpi-3-a-plus.dts`); Raspberry Pi documentation, "Revision codes" for memory sizes, "GPIO and the 40-pin header"
//! for I2C; PWM as in `pins.rs`.

use super::Chip;
use contract::values::Pin;

/// One model.
#[derive(Debug, PartialEq, Eq)]
pub struct BoardProfile {
    /// `Raspberry Pi 4 Model B`
    pub name: &'static str,
    /// The first entry of the device tree's `compatible`.
    pub compatible: &'static str,
    /// The processor.
    pub soc: &'static str,
    /// The part that drives the header's pins, which determines their functions.
    pub header_chip: Chip,
    pub header: HeaderAccess,
    /// Available memory sizes in MiB, ascending.
    pub memory_mib: &'static [u32],
    pub pwm: &'static [PwmChannel],
    pub i2c: &'static [I2cBus],
    pub boot_flow: BootMethod,
}

/// Where the GPIOs are accessible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderAccess {
    /// On the board's own 40 contacts.
    OnBoard,
    /// A Compute Module: depends on its carrier. Raspberry Pi's carriers for the modules 0, 4 and 5 have the same 40
    /// contacts.
    OnCarrier,
}

/// How a new slot is tried once and fallen back from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum BootMethod {
    /// The boot loader in the EEPROM (Raspberry Pi 4 and later) starts the other partition once.
    Tryboot,
    /// Earlier boards have no such boot loader: U-Boot counts the tries.
    UBoot,
}

/// A header pin that can have hardware PWM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PwmChannel {
    /// The Broadcom number.
    pub gpio: u8,
    /// The channel of the controller [`Chip::pwm_device`]. Two pins may share one.
    pub channel: u8,
    /// The function that routes the channel to the pin: `ALTn`.
    pub alt: u8,
}

/// An I2C controller on the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct I2cBus {
    /// The N of `/dev/i2c-N`.
    pub bus: u8,
    pub sda: u8,
    pub scl: u8,
    pub purpose: &'static str,
}

/// Two channels, each on two pins.
const PWM_BCM: &[PwmChannel] = &[channel(12, 0, 0), channel(13, 1, 0), channel(18, 0, 5), channel(19, 1, 5)];
/// Four channels, two of them on two pins.
const PWM_RP1: &[PwmChannel] =
    &[channel(12, 0, 0), channel(13, 1, 0), channel(14, 2, 0), channel(15, 3, 0), channel(18, 2, 3), channel(19, 3, 3)];
const I2C: &[I2cBus] = &[
    I2cBus { bus: 0, sda: 0, scl: 1, purpose: "identification EEPROM of add-on boards" },
    I2cBus { bus: 1, sda: 2, scl: 3, purpose: "devices on the header" },
];

const fn channel(gpio: u8, channel: u8, alt: u8) -> PwmChannel {
    PwmChannel { gpio, channel, alt }
}

const BCM2837: BoardProfile = BoardProfile {
    name: "",
    compatible: "",
    soc: "BCM2837",
    header_chip: Chip::Bcm2837,
    header: HeaderAccess::OnBoard,
    memory_mib: &[1024],
    pwm: PWM_BCM,
    i2c: I2C,
    boot_flow: BootMethod::UBoot,
};
const BCM2711: BoardProfile = BoardProfile {
    soc: "BCM2711",
    header_chip: Chip::Bcm2711,
    memory_mib: &[1024, 2048, 4096, 8192],
    boot_flow: BootMethod::Tryboot,
    ..BCM2837
};
const BCM2712: BoardProfile = BoardProfile { soc: "BCM2712", header_chip: Chip::Rp1, pwm: PWM_RP1, ..BCM2711 };

/// All known models.
#[rustfmt::skip]
pub static PROFILES: [BoardProfile; 15] = [
    // Its version 1.2 has a BCM2837.
    BoardProfile { name: "Raspberry Pi 2 Model B", compatible: "raspberrypi,2-model-b", soc: "BCM2836", ..BCM2837 },
    BoardProfile { name: "Raspberry Pi Zero 2 W", compatible: "raspberrypi,model-zero-2-w", memory_mib: &[512], ..BCM2837 },
    // Raspberry Pi's own kernel uses the 3B+'s device tree for it.
    BoardProfile { name: "Raspberry Pi 3 Model A+", compatible: "raspberrypi,3-model-a-plus", memory_mib: &[512], ..BCM2837 },
    BoardProfile { name: "Raspberry Pi 3 Model B", compatible: "raspberrypi,3-model-b", ..BCM2837 },
    BoardProfile { name: "Raspberry Pi 3 Model B+", compatible: "raspberrypi,3-model-b-plus", ..BCM2837 },
    SIMULATED,
    BoardProfile { name: "Raspberry Pi 400", compatible: "raspberrypi,400", memory_mib: &[4096], ..BCM2711 },
    BoardProfile {
        name: "Raspberry Pi 5", compatible: "raspberrypi,5-model-b",
        memory_mib: &[1024, 2048, 4096, 8192, 16384], ..BCM2712
    },
    // The 500+ has the same device tree name, and more memory.
    BoardProfile { name: "Raspberry Pi 500", compatible: "raspberrypi,500", memory_mib: &[8192, 16384], ..BCM2712 },
    BoardProfile {
        name: "Raspberry Pi Compute Module 0", compatible: "raspberrypi,0-compute-module",
        memory_mib: &[512], header: HeaderAccess::OnCarrier, ..BCM2837
    },
    // Also the 3+.
    BoardProfile {
        name: "Raspberry Pi Compute Module 3", compatible: "raspberrypi,3-compute-module",
        header: HeaderAccess::OnCarrier, ..BCM2837
    },
    // The kernel's name of the module without eMMC.
    BoardProfile {
        name: "Raspberry Pi Compute Module 3 Lite", compatible: "raspberrypi,3-compute-module-lite",
        header: HeaderAccess::OnCarrier, ..BCM2837
    },
    BoardProfile {
        name: "Raspberry Pi Compute Module 4", compatible: "raspberrypi,4-compute-module",
        header: HeaderAccess::OnCarrier, ..BCM2711
    },
    BoardProfile {
        name: "Raspberry Pi Compute Module 4S", compatible: "raspberrypi,4-compute-module-s",
        header: HeaderAccess::OnCarrier, ..BCM2711
    },
    // Also the one without eMMC.
    BoardProfile {
        name: "Raspberry Pi Compute Module 5", compatible: "raspberrypi,5-compute-module",
        memory_mib: &[2048, 4096, 8192, 16384], header: HeaderAccess::OnCarrier, ..BCM2712
    },
];

/// The model of a simulated board: the most common one.
const SIMULATED: BoardProfile =
    BoardProfile { name: "Raspberry Pi 4 Model B", compatible: "raspberrypi,4-model-b", ..BCM2711 };

impl BoardProfile {
    /// The profile for a device tree name.
    pub fn of_compatible(name: &str) -> Option<&'static BoardProfile> {
        PROFILES.iter().find(|profile| profile.compatible == name)
    }

    /// A header pin's functions besides input and output; entry n is `ALTn`.
    pub fn functions(&self, pin: Pin) -> &'static [&'static str] {
        self.header_chip.functions(pin)
    }
}

/// The model a simulated board plays.
pub(crate) fn simulated() -> &'static BoardProfile {
    static PLAYED: BoardProfile = SIMULATED;
    &PLAYED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Pull;
    use std::collections::BTreeSet;

    #[test]
    fn each_model_is_there_once_and_complete() {
        let names: BTreeSet<_> = PROFILES.iter().map(|profile| profile.compatible).collect();
        assert_eq!(names.len(), PROFILES.len());
        for profile in &PROFILES {
            assert!(profile.name.starts_with("Raspberry Pi ") && profile.compatible.starts_with("raspberrypi,"));
            assert!(profile.memory_mib.is_sorted() && !profile.memory_mib.is_empty(), "{}", profile.name);
        }
    }

    #[test]
    fn pwm_and_i2c_pins_have_those_functions() {
        let pin = |number: u8| Pin::try_from(u64::from(number)).unwrap();
        for profile in &PROFILES {
            for pwm in profile.pwm {
                let wanted =
                    if profile.header_chip == Chip::Rp1 { "pwm0".into() } else { format!("PWM{}", pwm.channel) };
                assert_eq!(profile.functions(pin(pwm.gpio))[usize::from(pwm.alt)], wanted, "{} {pwm:?}", profile.name);
            }
            let listed = profile.pwm.len();
            let able = Pin::all().map(|pin| {
                profile.functions(pin).iter().filter(|name| name.starts_with("PWM") || name.starts_with("pwm")).count()
            });
            assert_eq!(able.sum::<usize>(), listed, "{}: every pin that can is listed", profile.name);
            for bus in profile.i2c {
                let named = |line: &str| if profile.header_chip == Chip::Rp1 { "i2c".into() } else { line.to_owned() };
                assert!(profile.functions(pin(bus.sda)).contains(&format!("{}{}", named("SDA"), bus.bus).as_str()));
                assert!(profile.functions(pin(bus.scl)).contains(&format!("{}{}", named("SCL"), bus.bus).as_str()));
            }
        }
    }

    #[test]
    fn each_model_has_all_28_pins_with_the_functions_its_chip_has() {
        for profile in &PROFILES {
            let wanted = if profile.header_chip == Chip::Rp1 { 9 } else { 6 };
            assert!(Pin::all().all(|pin| profile.functions(pin).len() == wanted), "{}", profile.name);
            let chip = (profile.soc, profile.header_chip.label(), profile.header_chip.pwm_device());
            let known = [
                ("BCM2836", "pinctrl-bcm2835", "3f20c000.pwm"),
                ("BCM2837", "pinctrl-bcm2835", "3f20c000.pwm"),
                ("BCM2711", "pinctrl-bcm2711", "fe20c000.pwm"),
                ("BCM2712", "pinctrl-rp1", "1f00098000.pwm"),
            ];
            assert!(known.contains(&chip), "{}: {chip:?}", profile.name);
            assert_eq!(
                profile.header == HeaderAccess::OnCarrier,
                profile.name.contains("Compute Module"),
                "{}",
                profile.name
            );
            assert_eq!(
                profile.boot_flow == BootMethod::UBoot,
                profile.header_chip == Chip::Bcm2837,
                "{}",
                profile.name
            );
        }
        assert!(PROFILES.contains(simulated()));
    }

    #[test]
    fn the_header_has_each_pin_on_a_contact_of_its_own_and_no_power_contact() {
        let contacts: BTreeSet<_> = Pin::all().map(Pin::header).collect();
        assert_eq!(contacts.len(), 28);
        assert!(Pin::all().all(|pin| Pin::at_contact(pin.header()) == Some(pin)));
        assert_eq!((Pin::at_contact(0), Pin::at_contact(41)), (None, None));
        let pulled_up: Vec<u8> = Pin::all().filter(|pin| pin.pull_at_power_on() == Pull::Up).map(Pin::bcm).collect();
        assert_eq!(pulled_up, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(
            Pin::try_from(28).unwrap_err().to_string(),
            "there is no GPIO 28 on the 40-pin header; it has 0 to 27"
        );
    }
}
