//! What the agent reaches outside itself: one port for each kind of thing it can do.

use super::{
    clock::{BootClock, Clock, boot_clock, system_clock},
    exec::{self, Runner, SimulatedRunner},
    header::Header,
    installer::CardPort,
    machine::{Machine, RealMachine, SimulatedMachine},
    network::{Network, RealNetwork, SimulatedNetwork},
    processes::{Processes, RealProcesses, SimulatedProcesses},
    settings::AgentSettings,
    units::{RealUnits, SimulatedUnits, Units},
};
use base::os::{Root, bus::Bus};
use hw::{
    board::Board,
    gpio::header,
    line::{Fault, Port},
};
use std::sync::Arc;

/// The ports of one machine. Tests bring simulated ones.
pub struct Platform {
    pub clock: Clock,
    /// Time since power-on.
    pub boot_clock: BootClock,
    pub machine: Arc<dyn Machine>,
    pub runner: Arc<dyn Runner>,
    pub processes: Arc<dyn Processes>,
    pub units: Arc<dyn Units>,
    pub network: Arc<dyn Network>,
    /// The registers of the header, to be looked at.
    pub header: Header,
    /// The lines of the header, for an approval button; `None` where there is none.
    pub gpio: Option<Result<Arc<dyn Port>, Fault>>,
    /// The card and its boot chain, where there are two slots.
    pub update: CardPort,
}

impl Platform {
    /// That machine and clock, and every other port to go with them: simulated ones where the machine is.
    pub fn new(clock: Clock, machine: Arc<dyn Machine>) -> Self {
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
            Arc::new(RealUnits::new(Bus::system(), Root::system()))
        };
        let network: Arc<dyn Network> = if machine.is_simulated() {
            Arc::new(SimulatedNetwork::default())
        } else {
            Arc::new(RealNetwork { bus: Bus::system() })
        };
        Self {
            clock,
            boot_clock: boot_clock(),
            machine,
            runner,
            processes,
            units,
            network,
            header: Header::default(),
            gpio: None,
            update: CardPort::none(),
        }
    }

    /// The machine `settings` speak of with that board, and its clock.
    pub fn of(settings: &AgentSettings, board: &Board) -> Self {
        let machine: Arc<dyn Machine> = if settings.simulated {
            Arc::new(SimulatedMachine::on(&settings.root))
        } else {
            Arc::new(RealMachine { root: settings.root.clone(), bus: Bus::system() })
        };
        // Without a button it opens no device.
        let button = settings.approval.button();
        let gpio = button.map(|_| header::lines(&settings.root, &board.pins(), &settings.gpio_chip));
        let update = CardPort::of(settings);
        Self { gpio, update, header: Header::of(board), ..Self::new(system_clock(), machine) }
    }
}
