//! Simulated serial ports: a wire from output to input, and a modem that answers. Each is a pair of sockets, so that what
//! waits for a descriptor waits here as well.

use super::{
    port::{Line, SerialBackend, SerialPort, Wire},
    told::SerialError,
};
use rustix::io::Errno;
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The ports of a simulated board: at `ttyAMA0` the output is connected to the input, at `ttyUSB0` is a modem that answers
/// each line with `OK`. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SimulatedSerial(Arc<Mutex<BTreeMap<&'static str, State>>>);

#[derive(Debug, Default)]
struct State {
    /// This end and the other one, while the port is open.
    ends: Option<(UnixStream, UnixStream)>,
    /// How often it was opened.
    opened: u64,
    /// All that was sent.
    sent: Vec<u8>,
    line: Option<Line>,
    breaks: u32,
    faults: [u32; 5],
    /// It does not take bytes, as with a line that is held.
    stuck: bool,
    /// Bytes in its driver's buffer, while none leaves it.
    kept: Option<usize>,
    unplugged: bool,
}

pub const LOOPBACK: &str = "ttyAMA0";
pub const MODEM: &str = "ttyUSB0";
const PORTS: [&str; 2] = [LOOPBACK, MODEM];
const NAMES: [(&str, Option<&str>); 2] = [("uart-pl011", None), ("ftdi_sio", Some("Simulated modem"))];
/// Bytes of the record of what was sent; it begins anew beyond them.
const RECORD: usize = 64 * 1024;

impl SimulatedSerial {
    /// Sends bytes to an open port as its device would, and returns how many fitted into the line's own buffer.
    pub fn feed(&self, port: &str, bytes: &[u8]) -> usize {
        self.on(port, |state| state.ends.as_mut().and_then(|(_, far)| far.write(bytes).ok()).unwrap_or_default())
    }

    /// What was sent to the device since the last call, with the settings of the line, and how many breaks.
    pub fn sent(&self, port: &str) -> (Vec<u8>, Option<Line>, u32) {
        self.on(port, |state| (std::mem::take(&mut state.sent), state.line, std::mem::take(&mut state.breaks)))
    }

    /// Sets what its driver has counted.
    pub fn set_faults(&self, port: &str, faults: [u32; 5]) {
        self.on(port, |state| state.faults = faults);
    }

    /// Makes the line take no more bytes, or again.
    pub fn hold(&self, port: &str, stuck: bool) {
        self.on(port, |state| {
            state.stuck = stuck;
            // So that the descriptor tells it as well.
            if let Some((near, far)) = &mut state.ends {
                if stuck {
                    while near.write(&[0; 4096]).is_ok() {}
                } else {
                    while far.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
                }
            }
        });
    }

    /// Makes the driver take bytes of which none leaves, as with a line that is held, or again.
    pub fn keep(&self, port: &str, kept: bool) {
        self.on(port, |state| state.kept = kept.then_some(0));
    }

    /// Unplugs the device, which hangs up the line, or plugs it in again.
    pub fn unplug(&self, port: &str, unplugged: bool) {
        self.on(port, |state| (state.unplugged, state.ends) = (unplugged, None));
    }

    fn on<T: Default>(&self, port: &str, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        PORTS.iter().find(|name| **name == port).map(|name| act(state.entry(name).or_default())).unwrap_or_default()
    }

    /// Every change leaves the state consistent, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, BTreeMap<&'static str, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SerialBackend for SimulatedSerial {
    fn ports(&self, _listed: &[String]) -> Vec<SerialPort> {
        let there = PORTS.iter().zip(NAMES).filter(|(name, _)| !self.on(name, |state| state.unplugged));
        let owned = |text: &str| Some(text.to_owned());
        there
            .map(|(name, (driver, product))| SerialPort {
                name: (*name).to_owned(),
                driver: owned(driver),
                product: product.and_then(owned),
                taken: None,
            })
            .collect()
    }

    fn open(&self, name: &str, line: Line) -> Result<Arc<dyn Wire>, SerialError> {
        let known = PORTS.iter().find(|known| **known == name).ok_or(SerialError::NoPort)?;
        if self.on(name, |state| state.unplugged) {
            return Err(SerialError::NoPort);
        }
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        let kept = near.try_clone()?;
        let number = self.on(name, |state| {
            (state.ends, state.line, state.stuck, state.kept) = (Some((kept, far)), Some(line), false, None);
            state.opened += 1;
            state.opened
        });
        Ok(Arc::new(SimulatedWire { near, name: known, number, ports: self.clone() }))
    }
}

struct SimulatedWire {
    near: UnixStream,
    name: &'static str,
    /// Which opening of the port it is.
    number: u64,
    ports: SimulatedSerial,
}

impl Drop for SimulatedWire {
    fn drop(&mut self) {
        // A write that ends after the port was closed and opened again must not hang up the new line.
        self.ports.on(self.name, |state| {
            if state.opened == self.number {
                state.ends = None;
            }
        });
    }
}

impl Wire for SimulatedWire {
    fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(self.near.try_clone()?.into())
    }

    fn configure(&self, line: Line) -> Result<(), SerialError> {
        self.ports.on(self.name, |state| state.line = Some(line));
        Ok(())
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.ports.state();
        let Some(state) = state.get_mut(self.name) else { return Err(Errno::IO.into()) };
        let Some((_, far)) = &mut state.ends else { return Err(Errno::IO.into()) };
        if state.stuck {
            return Err(Errno::AGAIN.into());
        }
        if let Some(kept) = &mut state.kept {
            *kept += bytes.len();
            return Ok(bytes.len());
        }
        match self.name {
            LOOPBACK => far.write_all(bytes)?,
            _ => bytes.iter().filter(|byte| **byte == b'\r').try_for_each(|_| far.write_all(b"\r\nOK\r\n"))?,
        }
        if state.sent.len() + bytes.len() > RECORD {
            state.sent.clear();
        }
        state.sent.extend(bytes);
        Ok(bytes.len())
    }

    fn unsent(&self) -> io::Result<usize> {
        Ok(self.ports.on(self.name, |state| state.kept.unwrap_or_default()))
    }

    fn discard(&self) {
        self.ports.on(self.name, |state| state.kept = state.kept.map(|_| 0));
    }

    fn set_break(&self, on: bool) -> io::Result<()> {
        self.ports.on(self.name, |state| state.breaks += u32::from(on));
        Ok(())
    }

    fn faults(&self) -> Option<[u32; 5]> {
        Some(self.ports.on(self.name, |state| state.faults))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serial::port::{Flow, Parity};

    #[test]
    fn a_line_that_was_closed_late_does_not_hang_up_the_next_one() {
        let ports = SimulatedSerial::default();
        let line = Line { baud: 9600, data_bits: 8, parity: Parity::None, stop_bits: 1, flow: Flow::None };
        let old = ports.open(LOOPBACK, line).expect("it is there");
        let new = ports.open(LOOPBACK, line).expect("it is there");
        drop(old);
        assert_eq!(new.send(b"soak").expect("the new line is there"), 4);
        drop(new);
        assert_eq!(ports.feed(LOOPBACK, b"x"), 0, "nobody has it open");
    }
}
