//! `[approval]`: how long an ask stays open, how it can be answered, and the button.

use crate::{
    config::{
        ApproverKinds,
        declare::section,
        key::InState,
        kind::{SettingKind, count, seconds},
    },
    values::{Level, Pin},
};
use std::{collections::BTreeSet, net::SocketAddr};

section! {
    /// How long a request for a person's approval stays open, and how it can be answered.
    [approval] pub struct Approval {
        /// How long a call waits for the answer. After that it returns that approval is pending, and can be repeated.
        wait_seconds: u64 = 20, seconds(0, 300), InState::Lower;
        /// How long a request, or an unused approval, stays valid.
        expire_seconds: u64 = 300, seconds(30, 3600), InState::Lower;
        /// Clients, by the name that they report, whose own dialogue counts as the person's answer. Empty by default,
        /// because some clients answer it without a person.
        elicitation_clients: Vec<String> = Vec::new(), SettingKind::Clients, InState::Never;
        /// Which kinds of approver keys (`cli`, `passkey`, `browser`) may approve a tool: `system.reboot=cli`,
        /// `gpio=cli+passkey` for a namespace, `*=cli+passkey` for all tools. A key must be in every entry about the tool.
        /// Entries only take kinds away: `browser` never approves a restart, an update or a command. Every key may deny.
        kinds: ApproverKinds = ApproverKinds::default(), SettingKind::ApproverKinds, InState::Never;
        /// Where `raspi-mcp approval-page` listens with TLS, unless systemd passes it a socket.
        listen: SocketAddr = SocketAddr::from(([0, 0, 0, 0], 8444)), SettingKind::Address, InState::Never;
        /// GPIO of a button that approves the only pending request when it is held for two to five seconds and let go,
        /// and halts the machine when it is held for ten; 0: none. Only the agent can use this pin; no tool can. Anyone
        /// who can reach the button can approve, and the log records no name.
        button_pin: u8 = 0, count(0, 27), InState::Never;
        /// Level while the button is pressed. `low`: a button to ground, with the chip's internal pull-up; `high`: a
        /// button to 3.3 V.
        button_active: Level = Level::Low, SettingKind::Choice(&["low", "high"]), InState::Never;
        /// GPIO of an LED beside the button; 0: none. Slow blinking: one request is pending. Fast blinking: the button
        /// cannot answer, but `raspi-mcp approve` can. While the button is held: on, then off when letting go approves,
        /// then fast blinking when it does nothing any more, and on once it has halted.
        led_pin: u8 = 0, count(0, 27), InState::Never;
    }
}

impl Approval {
    /// The pin of the button, if there is one.
    pub fn button(&self) -> Option<Pin> {
        pin(self.button_pin)
    }

    /// The pin of the LED, which is used only with a button.
    pub fn led(&self) -> Option<Pin> {
        self.button().and(pin(self.led_pin))
    }

    /// The pins that belong to the agent, hidden from tools.
    pub fn pins(&self) -> BTreeSet<u8> {
        base::sort::set([self.button(), self.led()].into_iter().flatten().map(Pin::bcm))
    }
}

fn pin(number: u8) -> Option<Pin> {
    Pin::try_from(u64::from(number)).ok().filter(|pin| !pin.is_reserved())
}

/// The violated rules; `used` are the pins that `[gpio]` names, each with its key.
pub fn faults(approval: &Approval, used: &[(&'static str, &BTreeSet<u8>)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (key, number) in [("button_pin", approval.button_pin), ("led_pin", approval.led_pin)] {
        if number == 1 {
            faults.push(format!("approval.{key} = 1: GPIO 1 belongs to the identification EEPROM of add-on boards"));
        }
        if let Some((list, _)) = used.iter().find(|(_, pins)| number > 1 && pins.contains(&number)) {
            faults.push(format!("GPIO {number} is approval.{key} and belongs to the agent; take it out of {list}"));
        }
    }
    if approval.button_pin != 0 && approval.button_pin == approval.led_pin {
        faults.push(format!("GPIO {} cannot be both approval.button_pin and approval.led_pin", approval.led_pin));
    }
    if approval.led_pin != 0 && approval.button_pin == 0 {
        faults.push(
            "approval.led_pin needs approval.button_pin beside it: without a button the LED has nothing to say".into(),
        );
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(button: u8, led: u8) -> Approval {
        Approval { button_pin: button, led_pin: led, ..Approval::default() }
    }

    #[test]
    fn a_button_and_its_led_are_two_pins_of_the_agents_own() {
        let (allow, safe) = (BTreeSet::from([5, 6]), BTreeSet::from([7]));
        let faults = |approval: &Approval| faults(approval, &[("gpio.allow", &allow), ("gpio.safe_low", &safe)]);
        assert!(faults(&with(0, 0)).is_empty() && faults(&with(17, 27)).is_empty() && faults(&with(17, 0)).is_empty());
        for (bad, says) in [
            (with(1, 0), "EEPROM"),
            (with(17, 1), "EEPROM"),
            (with(5, 0), "take it out of gpio.allow"),
            (with(17, 7), "take it out of gpio.safe_low"),
            (with(17, 17), "both"),
            (with(0, 17), "needs approval.button_pin"),
        ] {
            let told = faults(&bad).join("; ");
            assert!(told.contains(says), "{bad:?}: {told}");
        }
    }

    #[test]
    fn zero_is_none() {
        assert_eq!((with(0, 0).button(), with(0, 5).led()), (None, None));
        assert_eq!(with(17, 27).pins(), BTreeSet::from([17, 27]));
        assert!(with(0, 27).pins().is_empty());
    }
}
