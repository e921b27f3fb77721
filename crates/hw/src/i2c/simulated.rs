//! Simulated buses in memory: they hold devices, count transfers, and support fault injection.

use super::{
    Addresses,
    device::SimulatedI2cDevice,
    functions::{Functions, TransferKind},
    port::{BoundDevice, I2cAdapter, I2cError, I2cPort},
};
use contract::values::I2cAddress;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A fault of a simulated bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum I2cTrouble {
    /// Nothing is acknowledged, as with a loose wire.
    Nack,
    ArbitrationLost,
    Busy,
    /// The adapter times out after a second.
    Timeout,
    /// The adapter's driver hangs, until [`Buses::heal`].
    Hangs,
}

/// The buses of a simulated board. Clones share them.
#[derive(Clone, Debug)]
pub struct Buses(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<BTreeMap<u32, Adapter>>,
    healed: Condvar,
}

#[derive(Debug)]
struct Adapter {
    name: &'static str,
    functions: Functions,
    devices: BTreeMap<u8, SimulatedI2cDevice>,
    holders: Vec<BoundDevice>,
    trouble: Option<I2cTrouble>,
    /// Addresses that were used.
    touched: Addresses,
    inside: usize,
    most_inside: usize,
}

/// The default `I2C_TIMEOUT` of an adapter: one second (drivers/i2c/i2c-core-base.c).
const ADAPTER_TIMEOUT: Duration = Duration::from_secs(1);
/// `i2cdetect -F 1` on a Raspberry Pi 4.
pub const BCM2835: Functions = Functions(0x0eff_0009);
/// SMBus controllers of PCs, and i2c-stub: quick, byte, byte data, word data, I2C block.
pub const SMBUS: Functions = Functions(0x0c7f_0000);

impl Default for Buses {
    /// The bus of the header with typical devices: a thermometer (TMP102, 0x48), an EEPROM of 256 bytes (0x50), a part
    /// that acknowledges its address only (0x2a), a clock that is bound to a driver (0x68), and the registers of a BME280
    /// (0x76).
    fn default() -> Self {
        let mut header = Adapter::new("bcm2835 (i2c@7e804000)", BCM2835);
        header.devices.extend([
            (0x2a, SimulatedI2cDevice::deaf()),
            (0x50, SimulatedI2cDevice::memory()),
            (0x68, SimulatedI2cDevice::memory()),
            (0x76, SimulatedI2cDevice::bme280()),
        ]);
        header.holders =
            vec![BoundDevice { address: 0x68, driver: "rtc-ds1307".into(), device: Some("ds3231".into()) }];
        Self(Arc::new(Shared { state: Mutex::new(BTreeMap::from([(1, header)])), healed: Condvar::new() }))
    }
}

impl Adapter {
    /// An adapter with a thermometer.
    fn new(name: &'static str, functions: Functions) -> Self {
        Self {
            name,
            functions,
            devices: BTreeMap::from([(0x48, SimulatedI2cDevice::thermometer())]),
            holders: Vec::new(),
            trouble: None,
            touched: Addresses::default(),
            inside: 0,
            most_inside: 0,
        }
    }
}

impl Buses {
    /// Adds a bus, with a thermometer at 0x48.
    pub fn add(&self, bus: u32, name: &'static str, functions: Functions) {
        self.state().insert(bus, Adapter::new(name, functions));
    }

    /// A 16-bit register of a device in wire order, without a transfer; `None` without a device.
    pub fn register(&self, bus: u32, address: u8, register: u8) -> Option<[u8; 2]> {
        self.on(bus, |adapter| Some(adapter.devices.get(&address)?.peek(register)))?
    }

    /// Sets such a register.
    pub fn set_register(&self, bus: u32, address: u8, register: u8, bytes: [u8; 2]) {
        self.on(bus, |adapter| adapter.devices.get_mut(&address).map(|device| device.poke(register, bytes)));
    }

    /// From now on every transfer on `bus` fails this way.
    pub fn fail(&self, bus: u32, trouble: I2cTrouble) {
        self.on(bus, |adapter| adapter.trouble = Some(trouble));
    }

    /// Clears the fault of `bus`; hanging transfers continue.
    pub fn heal(&self, bus: u32) {
        self.on(bus, |adapter| adapter.trouble = None);
        self.0.healed.notify_all();
    }

    /// Sets the functionality of the adapter of `bus`.
    pub fn set_functions(&self, bus: u32, functions: Functions) {
        self.on(bus, |adapter| adapter.functions = functions);
    }

    /// Sets the temperature of the thermometers of `bus`, in degrees Celsius.
    pub fn set_celsius(&self, bus: u32, celsius: f64) {
        self.on(bus, |adapter| adapter.devices.values_mut().for_each(|device| device.set_celsius(celsius)));
    }

    /// The addresses used since the last call.
    pub fn touched(&self, bus: u32) -> Addresses {
        self.on(bus, |adapter| std::mem::take(&mut adapter.touched)).unwrap_or_default()
    }

    /// The most simultaneous transfers so far on `bus`.
    pub fn most_at_once(&self, bus: u32) -> usize {
        self.on(bus, |adapter| adapter.most_inside).unwrap_or_default()
    }

    /// Transfers in progress on `bus`.
    pub fn inside(&self, bus: u32) -> usize {
        self.on(bus, |adapter| adapter.inside).unwrap_or_default()
    }

    fn on<T>(&self, bus: u32, act: impl FnOnce(&mut Adapter) -> T) -> Option<T> {
        self.state().get_mut(&bus).map(act)
    }

    /// Every change leaves the state consistent, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, BTreeMap<u32, Adapter>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a transfer, and blocks while the bus hangs. Returns the current fault.
    fn enter(&self, bus: u32, address: I2cAddress) -> Option<I2cTrouble> {
        let mut state = self.state();
        if let Some(adapter) = state.get_mut(&bus) {
            adapter.touched = adapter.touched.and([address].into_iter().collect());
            adapter.inside += 1;
            adapter.most_inside = adapter.most_inside.max(adapter.inside);
        }
        let trouble = state.get(&bus).and_then(|adapter| adapter.trouble);
        let hangs = |state: &mut BTreeMap<u32, Adapter>| {
            state.get(&bus).is_some_and(|adapter| adapter.trouble == Some(I2cTrouble::Hangs))
        };
        state = self.0.healed.wait_while(state, hangs).unwrap_or_else(PoisonError::into_inner);
        if let Some(adapter) = state.get_mut(&bus) {
            adapter.inside -= 1;
        }
        trouble
    }
}

impl I2cPort for Buses {
    fn buses(&self) -> Vec<I2cAdapter> {
        let state = self.state();
        state.iter().map(|(number, adapter)| I2cAdapter { number: *number, name: Some(adapter.name.into()) }).collect()
    }

    fn holders(&self, bus: u32) -> Vec<BoundDevice> {
        self.on(bus, |adapter| adapter.holders.clone()).unwrap_or_default()
    }

    fn functions(&self, bus: u32) -> Result<Functions, I2cError> {
        self.on(bus, |adapter| adapter.functions).ok_or(I2cError::NoBus)
    }

    fn perform(
        &self,
        bus: u32,
        address: I2cAddress,
        way: TransferKind,
        write: &[u8],
        read: &mut [u8],
    ) -> Result<(), I2cError> {
        let number = address.number();
        let held = |adapter: &mut Adapter| adapter.holders.iter().any(|holder| holder.address == number);
        if self.on(bus, held).ok_or(I2cError::NoBus)? {
            return Err(I2cError::Held);
        }
        match self.enter(bus, address) {
            Some(I2cTrouble::Nack) => return Err(I2cError::Nack),
            Some(I2cTrouble::ArbitrationLost) => return Err(I2cError::ArbitrationLost),
            Some(I2cTrouble::Busy) => return Err(I2cError::Busy),
            Some(I2cTrouble::Timeout | I2cTrouble::Hangs) => return Err(I2cError::Timeout(ADAPTER_TIMEOUT)),
            None => {}
        }
        let spoken = self.on(bus, |adapter| {
            // The driver refuses what the adapter lacks. The ways do not differ further: all have the same wire format.
            if !adapter.functions.has(needed(way)) {
                return Err(I2cError::Refused(io::Error::from_raw_os_error(
                    rustix::io::Errno::OPNOTSUPP.raw_os_error(),
                )));
            }
            let device = adapter.devices.get_mut(&number).ok_or(I2cError::Nack)?;
            if !write.is_empty() {
                device.written(write).ok_or(I2cError::Nack)?;
            }
            if !read.is_empty() {
                device.read(read);
            }
            Ok(())
        });
        spoken.unwrap_or(Err(I2cError::NoBus))
    }
}

/// The functionality that a way belongs to.
const fn needed(way: TransferKind) -> Functions {
    match way {
        TransferKind::Plain => Functions::I2C,
        TransferKind::Quick => Functions::QUICK,
        TransferKind::ReceiveByte => Functions::READ_BYTE,
        TransferKind::SendByte => Functions::WRITE_BYTE,
        TransferKind::ReadByteData => Functions::READ_BYTE_DATA,
        TransferKind::WriteByteData => Functions::WRITE_BYTE_DATA,
        TransferKind::ReadWordData => Functions::READ_WORD_DATA,
        TransferKind::WriteWordData => Functions::WRITE_WORD_DATA,
        TransferKind::ReadBlock => Functions::READ_I2C_BLOCK,
        TransferKind::WriteBlock => Functions::WRITE_I2C_BLOCK,
    }
}
