//! The 40 contacts of the header in their physical order: odd ones in one row, even ones in the other.
//!
//! Source: Raspberry Pi documentation, "GPIO and the 40-pin header". Identical on every model since the Raspberry Pi 1
//! B+.

use contract::values::Pin;

/// The kind of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// 3.3 V out.
    V3_3,
    /// 5 V, the board's supply.
    V5,
    Ground,
    Gpio,
}

impl Contact {
    /// The kind of contact `number`, 1-40, and its pin if it has one; `None` beyond.
    pub fn at(number: u8) -> Option<(Contact, Option<Pin>)> {
        let index = usize::from(number).checked_sub(1)?;
        CONTACTS.get(index).map(|contact| (*contact, Pin::at_contact(number)))
    }

    /// As printed on pinouts: `3V3`, `5V`, `GND`; empty for a GPIO, which has a number.
    pub const fn label(self) -> &'static str {
        match self {
            Self::V3_3 => "3V3",
            Self::V5 => "5V",
            Self::Ground => "GND",
            Self::Gpio => "",
        }
    }
}

use Contact::{Gpio, Ground, V3_3, V5};

/// Contact `n` is entry `n - 1`; each line is a pair as on the board.
#[rustfmt::skip]
pub const CONTACTS: [Contact; 40] = [
    V3_3,   V5,
    Gpio,   V5,
    Gpio,   Ground,
    Gpio,   Gpio,
    Ground, Gpio,
    Gpio,   Gpio,
    Gpio,   Ground,
    Gpio,   Gpio,
    V3_3,   Gpio,
    Gpio,   Ground,
    Gpio,   Gpio,
    Gpio,   Gpio,
    Ground, Gpio,
    Gpio,   Gpio,
    Gpio,   Ground,
    Gpio,   Gpio,
    Gpio,   Ground,
    Gpio,   Gpio,
    Gpio,   Gpio,
    Ground, Gpio,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contact_is_a_pin_or_power() {
        for number in 1..=40 {
            let (contact, pin) = Contact::at(number).unwrap();
            assert_eq!(contact == Gpio, pin.is_some(), "contact {number}");
            assert_eq!(contact.label().is_empty(), pin.is_some());
        }
        assert_eq!((Contact::at(0), Contact::at(41)), (None, None));
    }

    #[test]
    fn power_where_the_documentation_has_it() {
        let of = |wanted: Contact| -> Vec<usize> { (1..=40).filter(|number| CONTACTS[number - 1] == wanted).collect() };
        assert_eq!((of(V3_3), of(V5)), (vec![1, 17], vec![2, 4]));
        assert_eq!(of(Ground), [6, 9, 14, 20, 25, 30, 34, 39]);
    }
}
