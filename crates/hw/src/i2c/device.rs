//! Devices on a simulated bus.

/// One device. It acknowledges its address; the rest depends on its kind.
#[derive(Debug)]
pub struct SimulatedI2cDevice {
    /// The first byte of the last write: where reads and writes begin.
    pointer: u8,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// 256 consecutive bytes, like a 24C02: the pointer advances with each byte, and wraps around.
    Memory(Box<[u8; 256]>),
    /// A TMP102 (Texas Instruments SBOS397): four registers of two bytes, high byte first. The first one is the
    /// temperature, in sixteenths of a degree, left-aligned and read-only.
    Thermometer([u16; 4]),
    /// Acknowledges no data.
    Deaf,
}

/// The bits of the pointer that a TMP102 uses.
const REGISTERS: u8 = 0b11;
/// Nothing pulls the line low.
const SILENCE: u8 = 0xff;
/// Temperature of a board on a desk.
const ROOM_CELSIUS: f64 = 21.5;

impl SimulatedI2cDevice {
    /// An EEPROM from the factory: all ones.
    pub fn memory() -> Self {
        Self { pointer: 0, kind: Kind::Memory(Box::new([SILENCE; 256])) }
    }

    /// The registers of a BME280 after power-up (Bosch BST-BME280-DS001): its identity, and measurements not made yet.
    pub fn bme280() -> Self {
        let mut registers = Box::new([0; 256]);
        registers[0xd0] = 0x60;
        (registers[0xf7], registers[0xfa], registers[0xfd]) = (0x80, 0x80, 0x80);
        Self { pointer: 0, kind: Kind::Memory(registers) }
    }

    /// At room temperature; the other registers as after power-up.
    pub fn thermometer() -> Self {
        let mut device = Self { pointer: 0, kind: Kind::Thermometer([0, 0x60a0, 0x4b00, 0x5000]) };
        device.set_celsius(ROOM_CELSIUS);
        device
    }

    pub fn deaf() -> Self {
        Self { pointer: 0, kind: Kind::Deaf }
    }

    /// Sets a thermometer's temperature, -128 to 127.9375; ignored by other devices.
    pub fn set_celsius(&mut self, celsius: f64) {
        if let Kind::Thermometer(registers) = &mut self.kind {
            // Saturates like the real part.
            #[expect(clippy::cast_possible_truncation)]
            let sixteenths = (celsius * 16.0).round().clamp(-2048.0, 2047.0) as i16;
            registers[0] = sixteenths.cast_unsigned() << 4;
        }
    }

    /// Two bytes from a register on, as they would be transferred. Does not move the pointer.
    pub fn peek(&self, register: u8) -> [u8; 2] {
        match &self.kind {
            Kind::Deaf => [SILENCE; 2],
            Kind::Memory(cells) => [register, register.wrapping_add(1)].map(|at| cells[usize::from(at)]),
            Kind::Thermometer(registers) => registers[usize::from(register & REGISTERS)].to_be_bytes(),
        }
    }

    /// Writes two bytes, also to read-only registers.
    pub fn poke(&mut self, register: u8, bytes: [u8; 2]) {
        match &mut self.kind {
            Kind::Deaf => {}
            Kind::Memory(cells) => {
                for (at, byte) in [register, register.wrapping_add(1)].into_iter().zip(bytes) {
                    cells[usize::from(at)] = byte;
                }
            }
            Kind::Thermometer(registers) => registers[usize::from(register & REGISTERS)] = u16::from_be_bytes(bytes),
        }
    }

    /// Takes `bytes`, at least one; `None` when it does not acknowledge them.
    pub fn written(&mut self, bytes: &[u8]) -> Option<()> {
        let (first, data) = bytes.split_first()?;
        match &mut self.kind {
            Kind::Deaf => return None,
            Kind::Memory(cells) => {
                self.pointer = *first;
                for byte in data {
                    cells[usize::from(self.pointer)] = *byte;
                    self.pointer = self.pointer.wrapping_add(1);
                }
            }
            Kind::Thermometer(registers) => {
                self.pointer = *first & REGISTERS;
                if let (1.., [high, low, ..]) = (self.pointer, data) {
                    registers[usize::from(self.pointer)] = u16::from_be_bytes([*high, *low]);
                }
            }
        }
        Some(())
    }

    /// Fills `into`.
    pub fn read(&mut self, into: &mut [u8]) {
        match &self.kind {
            Kind::Deaf => into.fill(SILENCE),
            Kind::Memory(cells) => {
                for byte in into {
                    *byte = cells[usize::from(self.pointer)];
                    self.pointer = self.pointer.wrapping_add(1);
                }
            }
            Kind::Thermometer(registers) => {
                let register = registers[usize::from(self.pointer)].to_be_bytes();
                for (n, byte) in into.iter_mut().enumerate() {
                    *byte = register.get(n).copied().unwrap_or(SILENCE);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(device: &mut SimulatedI2cDevice) -> [u8; N] {
        let mut into = [0; N];
        device.read(&mut into);
        into
    }

    #[test]
    fn memory_goes_on_where_it_was_and_from_the_end_to_the_beginning() {
        let mut memory = SimulatedI2cDevice::memory();
        memory.written(&[0xfe, 1, 2, 3]).unwrap();
        memory.written(&[0xfe]).unwrap();
        assert_eq!((read::<2>(&mut memory), read::<2>(&mut memory)), ([1, 2], [3, SILENCE]));
    }

    #[test]
    fn a_thermometer_measures_and_only_its_other_registers_are_written() {
        let mut tmp102 = SimulatedI2cDevice::thermometer();
        assert_eq!(read::<3>(&mut tmp102), [0x15, 0x80, SILENCE], "21.5 degrees, and then nothing");
        tmp102.set_celsius(-0.25);
        tmp102.written(&[0, 0x7f, 0xf0]).unwrap();
        assert_eq!(read::<2>(&mut tmp102), [0xff, 0xc0], "Texas Instruments' table says FFC");
        tmp102.set_celsius(1000.0);
        assert_eq!(read::<2>(&mut tmp102), [0x7f, 0xf0]);
        tmp102.written(&[3, 0x55, 0x10]).unwrap();
        tmp102.written(&[2]).unwrap();
        assert_eq!(read::<2>(&mut tmp102), [0x4b, 0x00]);
        tmp102.written(&[7]).unwrap();
        assert_eq!(read::<2>(&mut tmp102), [0x55, 0x10], "two bits of the pointer count");
    }

    #[test]
    fn a_deaf_one_takes_nothing() {
        let mut deaf = SimulatedI2cDevice::deaf();
        assert_eq!((deaf.written(&[0]), read::<1>(&mut deaf)), (None, [SILENCE]));
    }
}
