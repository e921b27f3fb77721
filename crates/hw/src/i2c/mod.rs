//! I2C buses: access to devices, one transfer at a time per bus, and errors.
//!
//! A transfer may block for as long as its adapter takes, so it runs where that is allowed ([`base::os::blocking`]) and
//! holds its bus until it is over, even if its caller is gone. So at most one thread is stuck on a bus that hangs.

mod allow;
mod chips;
mod dev;
mod device;
mod functions;
mod identify;
mod port;
mod scan;
pub mod simulated;
mod sysfs;
mod told;

pub use allow::{Allow, AllowedAddresses, I2cAccessKind};
pub use chips::Chip;
pub use contract::values::address::{Addresses, HIGHEST, I2cAddress, LOWEST};
pub use dev::Dev;
pub use functions::{BLOCK, Functions, Lack, TransferKind};
pub use identify::{Candidates, Confirmation};
pub use port::{BoundDevice, I2cAdapter, I2cError, I2cPort};
pub use scan::Scan;
pub use told::I2cAccess;

use base::{
    error::ToolError,
    os::{Root, blocking},
};
use contract::config::I2cSettings;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// How long a call waits for a bus. The longest transfer of 64 bytes takes 6 ms at 100 kHz, and an adapter times out
/// after a second: a longer wait means that the bus hangs.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The buses of this machine, for tools.
pub struct I2c {
    port: Arc<dyn I2cPort>,
    allow: Allow,
    /// One permit per bus that was ever used.
    turns: Mutex<BTreeMap<u32, Arc<Semaphore>>>,
}

impl I2c {
    /// The buses of this machine, or of a simulated board.
    pub fn of(settings: &I2cSettings, root: &Root, simulated: Option<&simulated::Buses>) -> Self {
        let allow = Allow::of(settings, simulated.is_some());
        match simulated {
            Some(buses) => Self::on(Arc::new(buses.clone()), allow),
            None => Self::on(Arc::new(Dev::new(root.clone())), allow),
        }
    }

    pub fn on(port: Arc<dyn I2cPort>, allow: Allow) -> Self {
        Self { port, allow, turns: Mutex::default() }
    }

    pub fn allow(&self) -> &Allow {
        &self.allow
    }

    /// The port, for queries that cause no traffic on a bus.
    pub fn port(&self) -> &dyn I2cPort {
        &*self.port
    }

    /// Writes `write`, then reads `length` bytes, in one transfer; either may be empty. `tool` is the caller's tool.
    ///
    /// # Errors
    /// Those of [`I2cAccess::ended`].
    pub async fn transfer(
        &self,
        tool: &'static str,
        bus: u32,
        address: I2cAddress,
        write: Vec<u8>,
        length: usize,
    ) -> Result<Vec<u8>, ToolError> {
        self.try_transfer(tool, bus, address, write, length).await?.map_err(|fault| self.told(bus, address, &fault))
    }

    async fn try_transfer(
        &self,
        tool: &'static str,
        bus: u32,
        address: I2cAddress,
        write: Vec<u8>,
        length: usize,
    ) -> Result<Result<Vec<u8>, I2cError>, ToolError> {
        let ready = self.port.functions(bus);
        let ready = ready.and_then(|functions| functions.way(write.len(), length).map_err(I2cError::Lacks));
        let (way, turn) = match ready {
            Ok(way) => match blocking::unless_told(tool, self.turn(bus)).await? {
                Ok(turn) => (way, turn),
                Err(fault) => return Ok(Err(fault)),
            },
            Err(fault) => return Ok(Err(fault)),
        };
        let port = Arc::clone(&self.port);
        blocking::run(tool, move |stop| {
            let _turn = turn;
            // The caller may have gone while this waited for a thread.
            stop.check()?;
            let mut read = vec![0; length];
            let ended = port.perform(bus, address, way, &write, &mut read);
            Ok(ended.map(|()| read))
        })
        .await
    }

    /// A permit for the bus; dropping it frees the bus.
    async fn turn(&self, bus: u32) -> Result<OwnedSemaphorePermit, I2cError> {
        let place = {
            // Only existing buses get here, so there are as many permits as adapters.
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(bus).or_insert_with(|| Arc::new(Semaphore::new(1))))
        };
        match timeout(PATIENCE, place.acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            // Never closed; reported like a timeout.
            Ok(Err(_)) | Err(_) => Err(I2cError::Queue(PATIENCE)),
        }
    }

    fn told(&self, bus: u32, address: I2cAddress, fault: &I2cError) -> ToolError {
        let held = if matches!(fault, I2cError::Held) { self.port.holders(bus) } else { Vec::new() };
        let holder = held.iter().find(|holder| holder.address == address.number());
        I2cAccess { bus, address: Some(address), driver: holder.map(|holder| holder.driver.as_str()) }.ended(fault)
    }
}
