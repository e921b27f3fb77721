//! Simulated 1-Wire devices: a thermometer and a memory.

use super::W1Port;
use rustix::io::Errno;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The thermometer of a simulated board, a DS18B20, which [`crate::sensors`] has as well.
pub const THERMOMETER: &str = "28-0000075bcd15";
/// Its memory, a DS2431.
pub const MEMORY: &str = "2d-0000005ca1ab";
/// Nobody pulls the line low.
const SILENCE: u8 = 0xff;
/// What it shows, in sixteenths of a degree, as the simulated sensors do: 19.25.
const ROOM: i16 = 308;

/// The devices of a simulated board. Clones share them.
#[derive(Clone, Debug)]
pub struct SimulatedW1(Arc<Mutex<BTreeMap<String, Device>>>);

#[derive(Debug)]
enum Device {
    /// Sixteenths of a degree, and whether its bits arrive whole.
    Thermometer {
        sixteenths: i16,
        whole: bool,
    },
    Memory,
}

impl Default for SimulatedW1 {
    fn default() -> Self {
        let thermometer = Device::Thermometer { sixteenths: ROOM, whole: true };
        let devices = [(THERMOMETER.to_owned(), thermometer), (MEMORY.to_owned(), Device::Memory)];
        Self(Arc::new(Mutex::new(BTreeMap::from(devices))))
    }
}

impl SimulatedW1 {
    /// Sets the thermometer, in sixteenths of a degree Celsius, and whether its bits arrive whole.
    pub fn set(&self, sixteenths: i16, whole: bool) {
        self.state().insert(THERMOMETER.into(), Device::Thermometer { sixteenths, whole });
    }

    /// Takes a device away.
    pub fn take(&self, address: &str) {
        self.state().remove(address);
    }

    /// Every change is a single insertion or removal, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, BTreeMap<String, Device>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl W1Port for SimulatedW1 {
    fn devices(&self) -> Vec<String> {
        self.state().keys().cloned().collect()
    }

    fn masters(&self) -> Vec<String> {
        vec!["w1_bus_master1".into()]
    }

    fn read(&self, address: &str, _file: &str) -> io::Result<Vec<u8>> {
        match self.state().get(address) {
            None => Err(Errno::NOENT.into()),
            Some(Device::Memory) => Ok(vec![SILENCE; 128]),
            Some(Device::Thermometer { sixteenths, whole }) => Ok(lines(*sixteenths, *whole).into_bytes()),
        }
    }
}

/// What w1_therm writes.
fn lines(sixteenths: i16, whole: bool) -> String {
    let [low, high] = sixteenths.to_le_bytes();
    let mut bytes = vec![low, high, 0x4b, 0x46, 0x7f, 0xff, 0x0c, 0x10];
    let crc = crc8(&bytes);
    bytes.push(if whole { crc } else { !crc });
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (hex, word) = (hex.join(" "), if whole { "YES" } else { "NO" });
    format!("{hex} : crc={crc:02x} {word}\n{hex} t={}\n", i32::from(sixteenths) * 1000 / 16)
}

/// The check sum of 1-Wire: x^8 + x^5 + x^4 + 1, low bit first (Maxim's application note 27).
fn crc8(bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(0, |crc, byte| (0..8).fold(crc ^ byte, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x8c } else { crc >> 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_the_data_sheet() {
        // The scratchpad of a DS18B20 after power-up, and its check sum.
        assert_eq!(crc8(&[0x50, 0x05, 0x4b, 0x46, 0x7f, 0xff, 0x0c, 0x10]), 0x1c);
        assert!(lines(-8, true).ends_with("t=-500\n") && lines(0, false).contains("NO"));
    }
}
