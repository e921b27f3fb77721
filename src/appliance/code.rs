//! A claim code: 128 random bits, in letters that survive being read aloud and typed (Crockford's base 32: no I, L, O or U).

use crate::error::ToolError;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters of a code: 26 of five bits hold 128.
const LETTERS: usize = 26;
/// Of them together, with a dash between.
const GROUP: usize = 4;

/// What whoever stands before the machine can read, and nobody else. Its debug form does not show it.
#[derive(Clone, Copy)]
pub struct Code([u8; 16]);

impl Code {
    /// 128 random bits from the operating system.
    ///
    /// # Errors
    /// `internal` when the system has no randomness to give.
    pub fn mint() -> Result<Self, ToolError> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            ToolError::internal("the system gave no random bytes, so no claim code was made")
                .hint("check that /dev/urandom exists and the kernel has getrandom(2)")
        })?;
        Ok(Self(bytes))
    }

    /// As a person types it: small letters, `O` for 0, `I` and `L` for 1, dashes and spaces anywhere. `None` when it is no code.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = 0_u128;
        let mut letters = 0;
        // The longest text that a code has, with a separator around every letter.
        for byte in text.bytes().take(4 * LETTERS).filter(|byte| !b"- \t\r\n".contains(byte)) {
            let letter = match byte.to_ascii_uppercase() {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                other => other,
            };
            let value = ALPHABET.iter().position(|known| *known == letter)?;
            letters += 1;
            // The first letter has three bits of the code, all others five.
            if letters > LETTERS || (letters == 1 && value > 7) {
                return None;
            }
            bits = bits << 5 | value as u128;
        }
        (letters == LETTERS && text.len() <= 4 * LETTERS).then(|| Self(bits.to_be_bytes()))
    }

    /// Equal, found out without stopping at the first difference.
    pub fn is(&self, other: &Self) -> bool {
        // The black box keeps the compiler from turning the loop back into an early exit.
        let differ = |all, (one, two): (&u8, &u8)| std::hint::black_box(all | (one ^ two));
        self.0.iter().zip(&other.0).fold(0, differ) == 0
    }
}

/// In capitals, four letters at a time: `4KX7-…`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from_be_bytes(self.0);
        for letter in 0..LETTERS {
            if letter > 0 && letter % GROUP == 0 {
                f.write_str("-")?;
            }
            let value = bits >> (5 * (LETTERS - 1 - letter)) & 31;
            write!(f, "{}", char::from(ALPHABET[value as usize]))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_back_as_people_write_it() {
        for bytes in [[0; 16], [0xff; 16], *b"0123456789abcdef"] {
            let code = Code(bytes);
            let shown = code.to_string();
            assert_eq!(shown.len(), LETTERS + 6, "{shown}");
            let typed = shown.to_lowercase().replace('-', " ").replace('0', "o").replace('1', "l");
            for text in [shown.clone(), typed, shown.replace('-', "")] {
                assert!(Code::parse(&text).is_some_and(|read| read.is(&code)), "{text}");
            }
        }
        assert_eq!(format!("{:?}", Code([1; 16])), "Code(…)");
    }

    #[test]
    fn what_is_none_is_none() {
        let good = Code([7; 16]).to_string();
        for bad in ["", "x", &good[1..], &format!("{good}0"), &good.replace('-', "_"), &format!("8{}", &good[1..])] {
            assert!(Code::parse(bad).is_none(), "{bad}");
        }
        assert!(Code::parse(&"-".repeat(10_000)).is_none());
        assert!(Code::parse(&format!("{good}{}", " ".repeat(200))).is_none());
    }

    #[test]
    fn two_are_not_alike() {
        let (one, two) = (Code::mint().unwrap(), Code::mint().unwrap());
        assert!(one.is(&one) && !one.is(&two));
        let mut near = one;
        near.0[15] ^= 1;
        assert!(!one.is(&near));
    }
}
