//! Which channel reaches which pin: by the configuration, or by the board's table and the pin's registers.

use super::port::{PwmChannelId, Without};
use crate::{
    line::Function,
    model::{BoardProfile, PwmChannel},
};
use contract::values::Pin;

pub struct Routing {
    pub profile: Option<&'static BoardProfile>,
    /// `gpio.pwm`, which takes precedence.
    pub configured: Vec<(Pin, PwmChannelId)>,
}

impl Routing {
    /// The channel that drives the pin now.
    pub fn route(&self, pin: Pin, function: Option<&Function>) -> Result<PwmChannelId, Without> {
        if let Some((_, slot)) = self.configured.iter().find(|(configured, _)| *configured == pin) {
            return Ok(slot.clone());
        }
        let Some((profile, channel)) = self.known(pin) else {
            let remedy = self.profile.is_none().then(|| "if it has, name it in gpio.pwm".into());
            return Err(Without { remedy, ..Without::no_channel(pin, &self.pins()) });
        };
        let wanted = profile.functions(pin).get(usize::from(channel.alt)).copied().unwrap_or_default();
        let bcm = pin.bcm();
        let why = match function {
            Some(Function::Alt(name)) if name == wanted => {
                let chip = profile.header_chip.pwm_device().to_owned();
                return Ok(PwmChannelId { chip, channel: channel.channel.into() });
            }
            Some(Function::Alt(name)) => format!("GPIO {bcm} is {name} now and not {wanted}"),
            Some(Function::Input | Function::Output | Function::NoFunction) => {
                format!("GPIO {bcm} is a plain GPIO now and not {wanted}")
            }
            Some(Function::Unknown) | None => {
                let remedy = format!("where it is, say so in gpio.pwm; {}", self.remedy(pin).unwrap_or_default());
                let why = format!("whether GPIO {bcm} is {wanted} cannot be read from its registers");
                return Err(Without { why, remedy: Some(remedy) });
            }
        };
        Err(Without { why, remedy: self.remedy(pin) })
    }

    pub fn pins(&self) -> Vec<Pin> {
        let known = self.profile.map(|profile| profile.pwm).unwrap_or_default();
        let known = known.iter().filter_map(|channel| Pin::try_from(u64::from(channel.gpio)).ok());
        let mut pins: Vec<Pin> = self.configured.iter().map(|(pin, _)| *pin).chain(known).collect();
        base::sort::sort(&mut pins);
        pins.dedup();
        pins
    }

    /// How to route the channel to the pin (Raspberry Pi's `overlays/README`, "pwm"): function numbers are those of the
    /// older chips, on a Raspberry Pi 5 too.
    pub fn remedy(&self, pin: Pin) -> Option<String> {
        let bcm = pin.bcm();
        let function = match bcm {
            12 | 13 => 4,
            18 | 19 => 2,
            _ => return self.known(pin).map(|_| "an overlay of your own has to route it".into()),
        };
        self.known(pin).map(|_| {
            format!("`dtoverlay=pwm,pin={bcm},func={function}` in config.txt routes it, from the next start on")
        })
    }

    fn known(&self, pin: Pin) -> Option<(&'static BoardProfile, PwmChannel)> {
        let profile = self.profile?;
        let channel = profile.pwm.iter().find(|channel| channel.gpio == pin.bcm())?;
        Some((profile, *channel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PROFILES;

    fn pin(number: u64) -> Pin {
        Pin::try_from(number).unwrap()
    }
    fn of(model: &str) -> Routing {
        let profile = PROFILES.iter().find(|profile| profile.name == model).unwrap();
        Routing { profile: Some(profile), configured: Vec::new() }
    }
    fn alt(name: &str) -> Function {
        Function::Alt(name.into())
    }

    #[test]
    fn a_pin_has_the_channel_that_its_registers_say() {
        let four = of("Raspberry Pi 4 Model B");
        let slot = four.route(pin(18), Some(&alt("PWM0"))).unwrap();
        assert_eq!(slot, PwmChannelId { chip: "fe20c000.pwm".into(), channel: 0 });
        assert_eq!(four.route(pin(13), Some(&alt("PWM1"))).unwrap().channel, 1);
        let five = of("Raspberry Pi 5");
        let slot = five.route(pin(19), Some(&alt("pwm0"))).unwrap();
        assert_eq!(slot, PwmChannelId { chip: "1f00098000.pwm".into(), channel: 3 });
        assert_eq!(four.pins(), [12, 13, 18, 19].map(pin));
        assert_eq!(five.pins(), [12, 13, 14, 15, 18, 19].map(pin));
    }

    #[test]
    fn a_pin_that_is_something_else_says_what_and_how_to_change_it() {
        let four = of("Raspberry Pi 4 Model B");
        let without = four.route(pin(18), Some(&alt("PCM_CLK"))).unwrap_err();
        assert_eq!(without.why, "GPIO 18 is PCM_CLK now and not PWM0");
        assert!(without.remedy.unwrap().contains("`dtoverlay=pwm,pin=18,func=2`"));
        let without = four.route(pin(12), Some(&Function::Output)).unwrap_err();
        assert_eq!(without.why, "GPIO 12 is a plain GPIO now and not PWM0");
        assert!(without.remedy.unwrap().contains("pin=12,func=4"));
        let without = four.route(pin(12), None).unwrap_err();
        assert_eq!(without.why, "whether GPIO 12 is PWM0 cannot be read from its registers");
        assert!(without.remedy.unwrap().starts_with("where it is, say so in gpio.pwm; `dtoverlay"));
        let without = four.route(pin(17), Some(&Function::Input)).unwrap_err();
        assert_eq!(
            (without.why.as_str(), without.remedy),
            ("GPIO 17 has no hardware PWM, GPIO 12, 13, 18 and 19 have", None)
        );
    }

    #[test]
    fn the_configuration_knows_better() {
        let slot = PwmChannelId { chip: "pwm".into(), channel: 0 };
        let elsewhere = Routing { profile: None, configured: vec![(pin(5), slot.clone())] };
        assert_eq!(elsewhere.route(pin(5), None), Ok(slot));
        assert_eq!(elsewhere.pins(), [pin(5)]);
        let without = elsewhere.route(pin(6), None).unwrap_err();
        assert_eq!(without.why, "GPIO 6 has no hardware PWM, GPIO 5 has");
        assert_eq!(without.remedy.unwrap(), "if it has, name it in gpio.pwm");
        let nothing = Routing { profile: None, configured: Vec::new() }.route(pin(6), None).unwrap_err();
        assert_eq!(nothing.why, "GPIO 6 has no hardware PWM, nor has any other pin that we know of");
    }
}
