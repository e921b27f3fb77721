//! Simulated SPI devices: a wire from output to input, and an analogue-to-digital converter.

use super::{SpiClock, SpiDevice, SpiPort};
use rustix::io::Errno;
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The devices of a simulated board: at chip select 0 of bus 0 MOSI is connected to MISO, at chip select 1 is an MCP3008
/// (Microchip DS21295, eight channels of ten bits). Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SimulatedSpi(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    channels: [u16; 8],
    fault: Option<Errno>,
    last: Option<SpiClock>,
}

const NAMES: [&str; 2] = ["loopback", "mcp3008"];

impl SimulatedSpi {
    /// Sets a channel of the converter, 0 to 1023.
    pub fn set_channel(&self, channel: u8, value: u16) {
        if let Some(place) = self.state().channels.get_mut(usize::from(channel)) {
            *place = value.min(1023);
        }
    }

    /// From now on every transfer fails this way; `None`: it works again.
    pub fn fail(&self, fault: Option<Errno>) {
        self.state().fault = fault;
    }

    /// How the last transfer went.
    pub fn last(&self) -> Option<SpiClock> {
        self.state().last
    }

    /// Every change is a single assignment, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpiPort for SimulatedSpi {
    fn devices(&self) -> Vec<SpiDevice> {
        let device = |(chip_select, name): (u32, &str)| SpiDevice { bus: 0, chip_select, name: Some(name.into()) };
        (0..).zip(NAMES).map(device).collect()
    }

    fn exchange(&self, bus: u32, chip_select: u32, clock: SpiClock, data: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        match (state.fault, bus, chip_select) {
            (Some(fault), ..) => return Err(fault.into()),
            (None, 0, 0) => {}
            (None, 0, 1) => convert(&state.channels, data),
            _ => return Err(Errno::NOENT.into()),
        }
        state.last = Some(clock);
        Ok(())
    }
}

/// A start bit in the last place of the first byte, single-ended and the channel in the upper half of the second; the
/// value comes in the last ten of these 24 bits.
fn convert(channels: &[u16; 8], data: &mut [u8]) {
    let value = match *data {
        [1, what, _, ..] if what & 0x80 != 0 => channels[usize::from(what >> 4 & 7)],
        _ => 0,
    };
    data.fill(0);
    if let [_, high, low, ..] = data {
        [*high, *low] = value.to_be_bytes();
    }
}
