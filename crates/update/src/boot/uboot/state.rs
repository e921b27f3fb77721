//! One copy of the state that U-Boot and this program share: what `env export -c -s 200` writes (docs/boot.md).

use super::super::Tries;
use crate::Slot;

/// Size of a copy in bytes: one sector, which most cards write atomically.
pub const COPY: usize = 512;
/// Boots of a slot that is not on trial.
pub const ALL_TRIES: u32 = 3;

/// The first slot, and the remaining boots of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UbootState {
    /// Incremented with each write; of two valid copies the larger one counts.
    pub seq: u64,
    /// The slot that is tried first.
    pub first: Slot,
    pub left: Tries,
}

impl UbootState {
    /// What dist/boot/boot.cmd assumes without a valid copy.
    pub const LOST: Self = Self { seq: 0, first: Slot::A, left: Tries { a: ALL_TRIES, b: ALL_TRIES } };

    /// The slot that the next boot starts: the first in order that has boots left, or A when none has (boot.cmd then
    /// resets the order, and gives both slots all their boots back).
    pub fn next(&self) -> Slot {
        [self.first, self.first.other()].into_iter().find(|slot| self.left.of(*slot) > 0).unwrap_or(Slot::A)
    }

    /// The slot that has one boot before the other one is used, or has had it.
    pub fn armed(&self) -> Option<Slot> {
        (self.left.of(self.first) <= 1).then_some(self.first)
    }

    /// As U-Boot writes it: names in order, hexadecimal numbers without 0x.
    pub fn encode(&self) -> [u8; COPY] {
        let text = format!(
            "ab_left_A={:x}\0ab_left_B={:x}\0ab_order={} {}\0ab_seq={:x}\0",
            self.left.a,
            self.left.b,
            self.first,
            self.first.other(),
            self.seq
        );
        let mut copy = [0; COPY];
        copy[4..4 + text.len()].copy_from_slice(text.as_bytes());
        let sum = crc32(&copy[4..]);
        copy[..4].copy_from_slice(&sum.to_le_bytes());
        copy
    }

    /// # Errors
    /// Why this copy is invalid, for people.
    pub fn decode(copy: &[u8; COPY]) -> Result<Self, String> {
        let mut state = Self::LOST;
        for (name, value) in variables(copy).ok_or("its checksum is wrong")? {
            let number = || u32::from_str_radix(value, 16).map_err(|_| format!("{name}={value} is no number"));
            match name {
                "ab_seq" => {
                    // U-Boot compares them as signed numbers.
                    let seq = i64::from_str_radix(value, 16).ok().and_then(|seq| u64::try_from(seq).ok());
                    state.seq = seq.ok_or_else(|| format!("{name}={value} is no number that counts"))?;
                }
                "ab_order" => {
                    state.first = match value {
                        "A B" => Slot::A,
                        "B A" => Slot::B,
                        other => return Err(format!("ab_order={other} is neither \"A B\" nor \"B A\"")),
                    }
                }
                "ab_left_A" => state.left.a = number()?,
                "ab_left_B" => state.left.b = number()?,
                // Not ours: U-Boot ignores it as well.
                _ => {}
            }
        }
        // U-Boot never uses one without a number.
        if state.seq > 0 { Ok(state) } else { Err("it has no ab_seq".into()) }
    }
}

/// The number of a copy with the right checksum, whatever the rest; 0 when it has none.
pub fn number(copy: &[u8; COPY]) -> u64 {
    let mut variables = variables(copy).into_iter().flatten();
    let seq = variables.find(|(name, _)| *name == "ab_seq").and_then(|(_, value)| i64::from_str_radix(value, 16).ok());
    seq.and_then(|seq| u64::try_from(seq).ok()).unwrap_or(0)
}

/// The variables of a copy with the right checksum, in their order.
pub fn variables(copy: &[u8; COPY]) -> Option<impl Iterator<Item = (&str, &str)>> {
    let (sum, body) = copy.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*sum) != crc32(body) {
        return None;
    }
    // Two NULs end the list.
    let lines = body.split(|byte| *byte == 0).take_while(|line| !line.is_empty());
    Some(lines.filter_map(|line| std::str::from_utf8(line).ok()?.split_once('=')))
}

/// CRC-32 as in zlib and U-Boot (reflected, 0xedb88320), four bits at a time: a table of 64 bytes is enough for 508 bytes a boot.
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut nibble = 0;
        while nibble < 16 {
            let mut sum = nibble as u32;
            let mut bit = 0;
            while bit < 4 {
                sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
                bit += 1;
            }
            table[nibble] = sum;
            nibble += 1;
        }
        table
    };
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        sum = sum >> 4 ^ TABLE[(sum & 15) as usize];
        sum = sum >> 4 ^ TABLE[(sum & 15) as usize];
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_everybody_has() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
