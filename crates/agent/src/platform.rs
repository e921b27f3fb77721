//! The agent's ports to the machine, one for each kind of thing that it can do.

use super::{
    clock::{BootClock, Clock, boot_clock, system_clock},
    exec::{self, Runner, SimulatedRunner},
    header::HeaderRegisters,
    installer::CardPort,
    machine::{MachineControl, RealMachine, SimulatedMachine},
    network::{Network, RealNetwork, SimulatedNetwork},
    processes::{Processes, RealProcesses, SimulatedProcesses},
    settings::AgentSettings,
    units::{RealUnits, SimulatedUnits, Units},
};
use base::os::{Root, bus::DBus};
use hw::{
    board::Board,
    gpio::header,
    line::{GpioPort, LineError},
};
use std::sync::Arc;

/// The ports of one machine. Replaceable in tests.
pub struct Platform {
    pub clock: Clock,
    /// Time since power-on.
    pub boot_clock: BootClock,
    pub machine: Arc<dyn MachineControl>,
    pub runner: Arc<dyn Runner>,
    pub processes: Arc<dyn Processes>,
    pub units: Arc<dyn Units>,
    pub network: Arc<dyn Network>,
    /// The registers of the header, for reading.
    pub header: HeaderRegisters,
    /// The lines of the header, for an approval button; `None` without a header.
    pub gpio: Option<Result<Arc<dyn GpioPort>, LineError>>,
    /// The card and its boot chain, if there are two slots.
    pub update: CardPort,
}

impl Platform {
    /// That machine and clock, with matching other ports: simulated ones for a simulated machine.
    pub fn new(clock: Clock, machine: Arc<dyn MachineControl>) -> Self {
        let runner: Arc<dyn Runner> =
            if machine.is_simulated() { Arc::new(SimulatedRunner) } else { exec::of_machine(&Root::system()) };
        let processes: Arc<dyn Processes> = if machine.is_simulated() {
            Arc::new(SimulatedProcesses::default())
        } else {
            Arc::new(RealProcesses { root: Root::system() })
        };
        let units: Arc<dyn Units> = if machine.is_simulated() {
            Arc::new(SimulatedUnits::default())
        } else {
            Arc::new(RealUnits::new(DBus::system(), Root::system()))
        };
        let network: Arc<dyn Network> = if machine.is_simulated() {
            Arc::new(SimulatedNetwork::default())
        } else {
            Arc::new(RealNetwork { bus: DBus::system() })
        };
        Self {
            clock,
            boot_clock: boot_clock(),
            machine,
            runner,
            processes,
            units,
            network,
            header: HeaderRegisters::default(),
            gpio: None,
            update: CardPort::none(),
        }
    }

    /// The machine that `settings` describe, on that board, with its clock.
    pub fn of(settings: &AgentSettings, board: &Board) -> Self {
        let machine: Arc<dyn MachineControl> = if settings.simulated {
            Arc::new(SimulatedMachine::on(&settings.root))
        } else {
            Arc::new(RealMachine { root: settings.root.clone(), bus: DBus::system() })
        };
        // Without a configured button no device is opened.
        let button = settings.approval.button();
        let gpio = button.map(|_| header::lines(&settings.root, &board.pins(), &settings.gpio_chip));
        let update = CardPort::of(settings);
        Self { gpio, update, header: HeaderRegisters::of(board), ..Self::new(system_clock(), machine) }
    }
}
