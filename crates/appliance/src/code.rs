//! The claim code: 128 random bits as 28 symbols of Crockford's base32, in seven groups of four.
//!
//! The last two symbols are a check: a Reed-Solomon code over GF(32), which detects any one or two wrong symbols, and
//! so any two swapped ones. Typing errors are reported before anything is sent, and use no try. The check does not help
//! an attacker, because it follows from the 128 bits.

use base::error::ToolError;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;

/// Without I, L, O and U, which are easily confused with others.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Symbols for the 128 bits; the first one has three of them.
const CARRIED: usize = 26;
/// All symbols.
const SYMBOLS: usize = CARRIED + 2;
const GROUP: usize = 4;
/// Maximum characters of a text that are read.
const LONGEST: usize = 64;

/// 128 bits that only somebody at the machine has seen. Its debug form does not show them.
#[derive(Clone, Copy)]
pub struct Code([u8; 16]);

/// What is wrong with a text that is not a code. Reveals nothing about the correct one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typo {
    /// The wrong number of symbols.
    Length(usize),
    /// A character that is not in the alphabet.
    Symbol(char),
    /// The check does not match: one or two symbols are wrong or swapped.
    Check,
}

impl fmt::Display for Typo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(found) => write!(f, "a claim code has {SYMBOLS} letters and digits, this has {found}"),
            Self::Symbol(odd) => write!(f, "a claim code has no {:?} in it", odd),
            Self::Check => f.write_str("the claim code is mistyped: its check does not fit"),
        }
    }
}

impl From<Typo> for ToolError {
    fn from(typo: Typo) -> Self {
        Self::invalid(typo.to_string()).with("name", "code").hint("compare it with what the device shows")
    }
}

impl Code {
    /// A new code, from the operating system's random numbers.
    ///
    /// # Errors
    /// `internal` when the system provides no random bytes.
    pub fn mint() -> Result<Self, ToolError> {
        let mut bits = [0; 16];
        SystemRandom::new().fill(&mut bits).map_err(|_| {
            ToolError::internal("the system gave no random bytes, so there is no claim code")
                .hint("check that /dev/urandom exists and the kernel has getrandom(2)")
        })?;
        Ok(Self(bits))
    }

    pub const fn of(bits: [u8; 16]) -> Self {
        Self(bits)
    }

    /// Parses a code as typed by a person: in either case, with or without hyphens and spaces, O for 0, I or L for 1.
    ///
    /// # Errors
    /// [`Typo`].
    pub fn parse(text: &str) -> Result<Self, Typo> {
        let mut symbols = [0; SYMBOLS];
        let mut count = 0;
        for letter in text.chars().take(LONGEST).filter(|letter| *letter != '-' && !letter.is_whitespace()) {
            let symbol = value(letter).ok_or(Typo::Symbol(letter))?;
            if let Some(place) = symbols.get_mut(count) {
                *place = symbol;
            }
            count += 1;
        }
        if count != SYMBOLS || text.chars().nth(LONGEST).is_some() {
            return Err(Typo::Length(count));
        }
        let bits = symbols[..CARRIED].iter().try_fold(0_u128, |bits, symbol| {
            // The first symbol has 3 bits, not 5.
            (bits >> 123 == 0).then_some(bits << 5 | u128::from(*symbol))
        });
        let code = Self(bits.ok_or(Typo::Check)?.to_be_bytes());
        if code.symbols() == symbols { Ok(code) } else { Err(Typo::Check) }
    }

    /// The 128 bits, from which keys are derived.
    pub(crate) const fn bits(&self) -> [u8; 16] {
        self.0
    }

    /// Compares in constant time.
    pub fn is(&self, other: &Self) -> bool {
        contract::access::token::same(&self.0, &other.0)
    }

    fn symbols(&self) -> [u8; SYMBOLS] {
        let bits = u128::from_be_bytes(self.0);
        let mut symbols = [0; SYMBOLS];
        for (index, symbol) in symbols[..CARRIED].iter_mut().enumerate() {
            *symbol = (bits >> (5 * (CARRIED - 1 - index)) & 31) as u8;
        }
        let check = check(&symbols[..CARRIED]);
        symbols[CARRIED..].copy_from_slice(&check);
        symbols
    }
}

/// `7K3M-9QPA-…`: to be shown only to a person at the machine.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, symbol) in self.symbols().into_iter().enumerate() {
            if index > 0 && index % GROUP == 0 {
                f.write_str("-")?;
            }
            write!(f, "{}", char::from(ALPHABET[usize::from(symbol)]))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

fn value(letter: char) -> Option<u8> {
    let letter = match letter.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    ALPHABET.iter().position(|symbol| char::from(*symbol) == letter).and_then(|at| u8::try_from(at).ok())
}

/// The remainder of the symbols times x² divided by (x - 2)(x - 4) = x² + 6x + 8. With it appended, 2 and 4 are roots.
fn check(carried: &[u8]) -> [u8; 2] {
    carried.iter().fold([0, 0], |[high, low], symbol| {
        let carry = high ^ symbol;
        [low ^ times(carry, 6), times(carry, 8)]
    })
}

/// Multiplication in GF(32) modulo x⁵ + x² + 1, where 2 is a generator.
fn times(mut left: u8, mut right: u8) -> u8 {
    let mut product = 0;
    while right != 0 {
        if right & 1 == 1 {
            product ^= left;
        }
        left <<= 1;
        if left & 32 != 0 {
            left ^= 0b10_0101;
        }
        right >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Code {
        Code::of(*b"\xf1sixteen bytes\x00\x7f")
    }

    #[test]
    fn a_code_is_read_as_people_copy_it() {
        let shown = sample().to_string();
        assert_eq!(shown.len(), 34);
        for copy in [
            shown.clone(),
            shown.to_lowercase(),
            shown.replace('-', ""),
            shown.replace('-', " "),
            format!("  {shown}\n"),
            shown.replace('0', "o").replace('1', "L"),
            shown.replace('0', "O").replace('1', "i"),
        ] {
            assert!(Code::parse(&copy).unwrap().is(&sample()), "{copy}");
        }
        assert!(!Code::of([0; 16]).is(&sample()));
        for extreme in [[0; 16], [255; 16]] {
            assert!(Code::parse(&Code::of(extreme).to_string()).unwrap().is(&Code::of(extreme)));
        }
        assert!(!Code::mint().unwrap().is(&Code::mint().unwrap()));
        assert_eq!(format!("{:?}", sample()), "Code(…)");
    }

    #[test]
    fn every_slip_of_one_or_two_symbols_is_found() {
        let shown: Vec<char> = sample().to_string().replace('-', "").chars().collect();
        let wrong = |changes: &[(usize, char)]| {
            let mut text = shown.clone();
            changes.iter().for_each(|(at, letter)| text[*at] = *letter);
            if text == shown {
                return;
            }
            let text: String = text.into_iter().collect();
            assert_eq!(Code::parse(&text).err(), Some(Typo::Check), "{text}");
        };
        for first in 0..SYMBOLS {
            for letter in ALPHABET.iter().map(|letter| char::from(*letter)) {
                wrong(&[(first, letter)]);
                wrong(&[(first, letter), ((first + 1) % SYMBOLS, letter)]);
                wrong(&[(first, letter), ((first + 11) % SYMBOLS, 'Z')]);
            }
            for second in 0..first {
                wrong(&[(first, shown[second]), (second, shown[first])]);
            }
        }
    }

    #[test]
    fn what_is_no_code_is_told_apart() {
        let shown = sample().to_string();
        for (text, typo) in [
            ("", Typo::Length(0)),
            (&shown[1..], Typo::Length(27)),
            (&format!("{shown}0"), Typo::Length(29)),
            (&"0".repeat(1000), Typo::Length(64)),
            (&format!("{shown}{}", " ".repeat(40)), Typo::Length(28)),
            (&shown.replacen('-', "U", 1), Typo::Symbol('U')),
            (&shown.replacen('-', "\0", 1), Typo::Symbol('\0')),
            (&shown.replacen('-', "é", 1), Typo::Symbol('é')),
            // More than 128 bits.
            (&format!("Z{}", &shown[1..]), Typo::Check),
        ] {
            assert_eq!(Code::parse(text).err(), Some(typo), "{text}");
        }
    }
}
