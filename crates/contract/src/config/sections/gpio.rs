//! `[gpio]`: the pins that tools may use, and their safe states.

use crate::config::{
    declare::{choice, section},
    key::InState,
    kind::SettingKind,
};
use std::collections::BTreeSet;

section! {
    /// Pins that `gpio.*` can use, by Broadcom (BCM) number. Without one, those tools can access nothing on a real
    /// board.
    [gpio] pub struct GpioSettings {
        /// Pins that may be used. An empty list allows none; on a simulated board, 2 to 27. 0 and 1 are never allowed:
        /// add-on boards identify themselves there.
        allow: BTreeSet<u8> = BTreeSet::new(), SettingKind::Pins, InState::Fewer;
        /// The GPIO chip whose line numbers are the pin numbers, by label or device file. Empty: the header's chip on a
        /// Raspberry Pi, the first chip elsewhere.
        chip: String = String::new(), SettingKind::Text, InState::Never;
        /// Pins that are driven low while nobody uses them, from the server's start to its end. All others are inputs
        /// while unused.
        safe_low: BTreeSet<u8> = BTreeSet::new(), SettingKind::Pins, InState::Never;
        /// Pins that are driven high while nobody uses them, in the same way.
        safe_high: BTreeSet<u8> = BTreeSet::new(), SettingKind::Pins, InState::Never;
        /// The level that follows one written with a duration: the level before it, or its opposite.
        revert: Revert = Revert::Previous, Revert::KIND, InState::Never;
        /// Hardware PWM channels routed to pins, where this cannot be detected: on boards other than Raspberry Pis, and
        /// where the pin registers cannot be read. Each entry names the device of `/sys/class/pwm/pwmchipN` and the
        /// channel.
        // Each is a [`PwmPin`].
        pwm: Vec<String> = Vec::new(), SettingKind::PwmPins, InState::Never;
    }
}

/// One entry of `gpio.pwm`: `"18=3f20c000.pwm:0"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PwmPin {
    /// The Broadcom number, 2-27.
    pub pin: u8,
    /// The device of the PWM chip, or `pwmchipN`.
    pub chip: String,
    pub channel: u32,
}

/// Maximum bytes of a device's name.
const CHIP_BYTES: usize = 64;
/// Channel numbers are below this; the kernel's drivers have at most 24 channels.
const CHANNELS: u32 = 64;

impl PwmPin {
    /// `None` for a malformed entry.
    pub fn parse(text: &str) -> Option<Self> {
        let (pin, rest) = text.split_once('=')?;
        let (chip, channel) = rest.rsplit_once(':')?;
        let whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 2;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:_@-".contains(&byte);
        let named = (1..=CHIP_BYTES).contains(&chip.len()) && chip.bytes().all(plain);
        let pin = whole(pin).then(|| pin.parse().ok()).flatten().filter(|pin| (2..=27).contains(pin))?;
        let channel = whole(channel).then(|| channel.parse().ok()).flatten().filter(|number| *number < CHANNELS)?;
        named.then(|| Self { pin, chip: chip.to_owned(), channel })
    }
}

choice! {
    /// `gpio.revert`: what follows a level that was written with a duration.
    pub enum Revert {
        Previous = "previous",
        Invert = "invert",
    }
}

impl GpioSettings {
    /// The entries of `gpio.pwm`, which were checked when they were read.
    pub fn pwm_pins(&self) -> impl Iterator<Item = PwmPin> {
        self.pwm.iter().filter_map(|text| PwmPin::parse(text))
    }

    /// The pins that tools may use. On a simulated board an empty list allows all but the reserved ones.
    pub fn allowed(&self, simulated: bool) -> BTreeSet<u8> {
        if simulated && self.allow.is_empty() { base::sort::set(2..=27) } else { self.allow.clone() }
    }
}

/// The violated rules between its keys.
pub fn faults(gpio: &GpioSettings) -> Vec<String> {
    let both = gpio.safe_low.intersection(&gpio.safe_high);
    let both = both.map(|pin| format!("GPIO {pin} is in gpio.safe_low and in gpio.safe_high; leave it in one"));
    let channels: Vec<PwmPin> = gpio.pwm_pins().collect();
    let again =
        channels.iter().enumerate().filter(|(at, one)| channels[..*at].iter().any(|other| other.pin == one.pin));
    let again = again.map(|(_, one)| format!("GPIO {} has two channels in gpio.pwm; leave it one", one.pin));
    both.chain(again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_written_as_pin_chip_and_number() {
        let parsed = |text: &str| PwmPin::parse(text).map(|one| (one.pin, one.chip, one.channel));
        assert_eq!(parsed("18=3f20c000.pwm:0"), Some((18, "3f20c000.pwm".into(), 0)));
        assert_eq!(parsed("5=soc:pwm@1:63"), Some((5, "soc:pwm@1".into(), 63)));
        for wrong in [
            "",
            "18",
            "18=",
            "18=pwm",
            "18=:0",
            "=pwm:0",
            "18=pwm:",
            "1=pwm:0",
            "28=pwm:0",
            "18=pwm:64",
            "+5=pwm:0",
            "5=pwm:-1",
            "5=pwm:+1",
            "005=pwm:0",
            "5=../pwm:0",
            "5=a/b:0",
            "5=pwm chip:0",
            "5=pwm\0:0",
            " 5=pwm:0",
            "5=pwm:0 ",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
        assert_eq!(parsed(&format!("5={}:0", "c".repeat(64))).map(|one| one.0), Some(5));
        assert_eq!(parsed(&format!("5={}:0", "c".repeat(65))), None);
    }

    #[test]
    fn a_pin_has_one_channel() {
        let pwm = vec!["5=pwm:0".to_owned(), "6=pwm:0".into(), "5=pwm:1".into()];
        let faults = faults(&GpioSettings { pwm, ..GpioSettings::default() });
        assert_eq!(faults, ["GPIO 5 has two channels in gpio.pwm; leave it one"]);
    }
}
