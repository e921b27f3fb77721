//! Asks a device for the registers that tell the chips apart which may be at its address.

use super::{
    I2c,
    chips::{Chip, at},
};
use base::error::{ErrorCode, ToolError};
use contract::values::I2cAddress;

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// Its registers hold what they should.
    Confirmed,
    /// They hold something else, or the device has no such register.
    Refuted,
    /// It was not asked.
    NotAsked,
    /// It has no register that tells it apart.
    NoRegister,
}

/// The chips that may be at an address.
#[derive(Debug)]
pub struct Candidates {
    pub chips: Vec<(Chip, Confirmation)>,
    /// The chip because of which no register is read: it would take the number as a command.
    pub hindered_by: Option<&'static str>,
}

impl Candidates {
    /// What the table has for that address; nothing is asked.
    pub fn of(address: I2cAddress) -> Self {
        let state = |chip: &Chip| {
            if chip.identity().is_empty() { Confirmation::NoRegister } else { Confirmation::NotAsked }
        };
        let chips: Vec<(Chip, Confirmation)> = at(address).map(|chip| (chip, state(&chip))).collect();
        let hindered_by = chips.iter().find(|(chip, _)| chip.acts_on_reads()).map(|(chip, _)| chip.name);
        Self { chips, hindered_by }
    }

    /// Whether one of them can be told by a register.
    pub fn can_be_asked(&self) -> bool {
        self.chips.iter().any(|(_, state)| *state == Confirmation::NotAsked)
    }
}

/// A register and its length, and what was read of it.
type RegisterRead = ((u8, usize), Option<Vec<u8>>);

impl I2c {
    /// Reads the registers of these candidates, each once.
    ///
    /// # Errors
    /// `not_found` if none of them is acknowledged; those of [`I2c::transfer`].
    pub async fn confirm(
        &self,
        tool: &'static str,
        bus: u32,
        address: I2cAddress,
        candidates: &mut Candidates,
    ) -> Result<(), ToolError> {
        // What was read, by register and length; `None` where it was not acknowledged.
        let mut read: Vec<RegisterRead> = Vec::new();
        let mut nobody = None;
        for (chip, state) in &mut candidates.chips {
            let mut fits = !chip.identity().is_empty();
            for register in chip.identity() {
                let key = (register.register, register.length());
                if !read.iter().any(|(known, _)| *known == key) {
                    let bytes = match self.transfer(tool, bus, address, vec![key.0], key.1).await {
                        Ok(bytes) => Some(bytes),
                        Err(error) if error.code == ErrorCode::NotFound => {
                            nobody.get_or_insert(error);
                            None
                        }
                        Err(error) => return Err(error),
                    };
                    read.push((key, bytes));
                }
                let held = read.iter().find(|(known, _)| *known == key).and_then(|(_, bytes)| bytes.as_deref());
                fits &= held.is_some_and(|bytes| register.fits(bytes));
            }
            if *state == Confirmation::NotAsked {
                *state = if fits { Confirmation::Confirmed } else { Confirmation::Refuted };
            }
        }
        match nobody {
            Some(error) if read.iter().all(|(_, bytes)| bytes.is_none()) => Err(error),
            _ => Ok(()),
        }
    }
}
