//! The 40-pin header as a picture: in the terminal, as SVG, as data. Drawn by `raspi-mcp pins`.
//!
//! Its input are the entries of `gpio.list_pins`, from a server or made from the board itself; here they are placed on
//! their contacts.

mod svg;
mod terminal;

pub use svg::svg;
pub use terminal::terminal;

use contract::values::Pin;
use hw::{
    line::{Function, GpioPort, Level},
    model::Contact,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// The function of a pin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinFunction {
    Input,
    Output,
    /// Driven by one of the chip's other functions.
    Alt,
    /// Nothing has used it since power-on.
    None,
    #[default]
    #[serde(other)]
    Unknown,
}

/// One pin as described by `gpio.list_pins`, without fields that are not drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "struct Entry")]
pub struct PinEntry {
    /// The Broadcom number.
    pub pin: u64,
    #[serde(default)]
    pub mode: PinFunction,
    #[serde(default)]
    pub value: Option<Level>,
    /// Whether tools may use it.
    #[serde(default)]
    pub allowed: bool,
    /// The resistor of an input that is lent: `up`, `down` or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<String>,
    /// The wave on it, if it makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pwm: Option<PinWave>,
    /// The chip's function on it, if it is not a plain line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The user of the line, according to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// The caller of this server that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Value>,
}

/// A PWM wave as described by `gpio.list_pins`, without fields that are not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinWave {
    /// In hertz.
    pub frequency_hz: f64,
    /// The share of the time that the line is high, in per cent.
    pub duty_cycle_percent: f64,
}

/// One contact of the header with its state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeaderContact {
    /// 1-40, as numbered on the board.
    pub contact: u8,
    /// `3V3`, `5V`, `GND` or `GPIO17`.
    pub name: String,
    #[serde(skip)]
    pub look: ContactStyle,
    /// The entry of `gpio.list_pins`; `None` for power, and for pins that tools may not see.
    #[serde(flatten)]
    pub entry: Option<PinEntry>,
}

/// How a contact is drawn. High is a filled mark and low an outlined one, so that colour is not the only sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactStyle {
    Power,
    Ground,
    Output(Option<Level>),
    Input(Option<Level>),
    Function,
    /// Unknown or not reported: a pin reserved for the machine.
    Unknown,
}

/// The whole header.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeaderDrawing {
    /// The board's name.
    pub board: String,
    /// Whether the board is simulated.
    pub simulated: bool,
    /// The source of the data, for people: the server, or the board itself.
    pub source: String,
    /// Contacts 1 to 40.
    pub contacts: Vec<HeaderContact>,
}

impl HeaderDrawing {
    pub fn new(board: impl Into<String>, simulated: bool, source: impl Into<String>, entries: &[PinEntry]) -> Self {
        let contacts = (1..=40).filter_map(|contact| HeaderContact::at(contact, entries)).collect();
        Self { board: board.into(), simulated, source: source.into(), contacts }
    }

    /// The pairs as arranged on the board: an odd contact with the even one beside it.
    fn rows(&self) -> impl Iterator<Item = (&HeaderContact, &HeaderContact)> {
        self.contacts.chunks_exact(2).map(|pair| (&pair[0], &pair[1]))
    }
}

/// Every pin as read from the board, without changing any. `allowed` are the pins of tools. A pin that the kernel does
/// not report has an unknown mode.
pub fn entries(port: &dyn GpioPort, allowed: &BTreeSet<u8>) -> Vec<PinEntry> {
    let entry = |pin: Pin| {
        let look = port.look(pin).ok();
        let (mode, function) = match look.as_ref().map(|look| &look.function) {
            Some(Function::Input) => (PinFunction::Input, None),
            Some(Function::Output) => (PinFunction::Output, None),
            Some(Function::Alt(name)) => (PinFunction::Alt, Some(name.clone())),
            Some(Function::NoFunction) => (PinFunction::None, None),
            Some(Function::Unknown) | None => (PinFunction::Unknown, None),
        };
        let free = look.as_ref().is_some_and(|look| !look.held);
        let value = look.as_ref().and_then(|look| look.level).or_else(|| free.then(|| port.peek(pin).ok()).flatten());
        let consumer = look.and_then(|look| look.consumer);
        let (pin, allowed) = (pin.bcm().into(), allowed.contains(&pin.bcm()));
        PinEntry { pin, mode, value, allowed, pull: None, pwm: None, function, consumer, lease: None }
    };
    Pin::all().map(entry).collect()
}

impl HeaderContact {
    fn at(contact: u8, entries: &[PinEntry]) -> Option<Self> {
        let (kind, pin) = Contact::at(contact)?;
        let entry = pin.and_then(|pin| entries.iter().find(|entry| entry.pin == u64::from(pin.bcm()))).cloned();
        let look = match (kind, &entry) {
            (Contact::V3_3 | Contact::V5, _) => ContactStyle::Power,
            (Contact::Ground, _) => ContactStyle::Ground,
            (Contact::Gpio, None) => ContactStyle::Unknown,
            (Contact::Gpio, Some(entry)) => match entry.mode {
                PinFunction::Output => ContactStyle::Output(entry.value),
                PinFunction::Input => ContactStyle::Input(entry.value),
                PinFunction::Alt => ContactStyle::Function,
                PinFunction::None | PinFunction::Unknown => ContactStyle::Unknown,
            },
        };
        let name = pin.map_or_else(|| kind.label().to_owned(), |pin: Pin| format!("GPIO{}", pin.bcm()));
        Some(Self { contact, name, look, entry })
    }

    /// Its state, in at most three words: `out high`, `in low up`, `SDA1`, `PWM 50Hz 7.5%`.
    fn state(&self) -> String {
        if let Some(wave) = self.entry.as_ref().and_then(|entry| entry.pwm) {
            let tenths = |number: f64| (number * 10.0).round() / 10.0;
            return format!("PWM {}Hz {}%", tenths(wave.frequency_hz), tenths(wave.duty_cycle_percent));
        }
        let pull = match self.entry.as_ref().and_then(|entry| entry.pull.as_deref()) {
            Some("up") => " up",
            Some("down") => " down",
            _ => "",
        };
        let level = |level: Option<Level>| match level {
            Some(Level::High) => " high",
            Some(Level::Low) => " low",
            None => "",
        };
        match self.look {
            ContactStyle::Power | ContactStyle::Ground => String::new(),
            ContactStyle::Output(at) => format!("out{}", level(at)),
            ContactStyle::Input(at) => format!("in{}{pull}", level(at)),
            ContactStyle::Function => {
                let name = self.entry.as_ref().and_then(|entry| entry.function.as_deref()).unwrap_or("function");
                let at = self.entry.as_ref().and_then(|entry| entry.value);
                shown(&format!("{name}{}", level(at)))
            }
            ContactStyle::Unknown => match &self.entry {
                None => "kept back".into(),
                Some(entry) if entry.mode == PinFunction::None => "unused".into(),
                Some(_) => "?".into(),
            },
        }
    }

    /// Its holder: the caller, otherwise the kernel's consumer, otherwise whether tools may use it.
    fn holder(&self) -> String {
        let Some(entry) = &self.entry else { return String::new() };
        let leased = entry.lease.as_ref().and_then(|lease| {
            let named = |name: &str| lease.get(name).and_then(Value::as_str);
            lease.as_str().or_else(|| named("holder")).or_else(|| named("principal"))
        });
        let closed = if entry.allowed { "" } else { "not allowed" };
        shown(leased.or(entry.consumer.as_deref()).unwrap_or(closed))
    }
}

/// Longest name of a holder that is drawn: the kernel's own limit is 31 bytes.
const LONGEST: usize = 31;

/// A name chosen by others, with terminal control characters escaped.
fn shown(name: &str) -> String {
    cut(name, LONGEST)
}

fn cut(text: &str, longest: usize) -> String {
    crate::terminal::printable(text).chars().take(longest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    fn cell(contact: usize, entry: Value) -> HeaderContact {
        let entry: PinEntry = from_value(entry).unwrap();
        HeaderDrawing::new("board", true, "test", &[entry]).contacts[contact - 1].clone()
    }

    #[test]
    fn what_is_told_of_a_pin_stands_at_its_contact() {
        let cell = |value: Value| {
            let cell = cell(11, value);
            (cell.name.clone(), cell.state(), cell.holder())
        };
        let told = |state: &str, holder: &str| ("GPIO17".to_owned(), state.to_owned(), holder.to_owned());
        assert_eq!(
            cell(
                json!({"pin": 17, "mode": "output", "value": "high", "allowed": true, "lease": {"holder": "agent-7"}})
            ),
            told("out high", "agent-7")
        );
        assert_eq!(
            cell(json!({"pin": 17, "mode": "input", "value": null, "allowed": false})),
            told("in", "not allowed")
        );
        assert_eq!(
            cell(
                json!({"pin": 17, "mode": "alt", "value": "low", "allowed": true, "function": "SDA1", "consumer": "i2c"})
            ),
            told("SDA1 low", "i2c")
        );
        assert_eq!(
            cell(json!({"pin": 17, "mode": "input", "value": "low", "pull": "down", "allowed": true})),
            told("in low down", "")
        );
        assert_eq!(
            cell(json!({"pin": 17, "mode": "output", "value": "low", "allowed": true,
                "pwm": {"frequency_hz": 49.98, "duty_cycle_percent": 7.5, "source": "software", "jitter": "low"}})),
            told("PWM 50Hz 7.5%", "")
        );
        assert_eq!(cell(json!({"pin": 17, "mode": "a later word", "allowed": true})), told("?", ""));
        assert_eq!(cell(json!({"pin": 18, "mode": "input", "allowed": true})), told("kept back", ""));
    }

    #[test]
    fn a_name_cannot_move_the_cursor_or_fill_the_screen() {
        let entry =
            json!({"pin": 17, "mode": "input", "allowed": true, "consumer": format!("\u{1b}[2J{}", "x".repeat(99))});
        let holder = cell(11, entry).holder();
        assert!(holder.starts_with("\\u{1b}[2Jxxx"), "{holder}");
        assert_eq!(holder.chars().count(), LONGEST);
    }

    #[test]
    fn forty_contacts_in_twenty_pairs() {
        let picture = HeaderDrawing::new("board", false, "test", &[]);
        assert_eq!(picture.contacts.len(), 40);
        assert!(picture.rows().all(|(odd, even)| odd.contact % 2 == 1 && even.contact == odd.contact + 1));
    }
}
