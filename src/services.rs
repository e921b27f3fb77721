//! Everything that a server's tools can use, created once by `daemon.rs`.

use crate::{
    agents::Agents,
    audit::Audit,
    authentication::{outside::OutsideRequests, tokens::Tokens},
    claim::ownership::Ownership,
    halt::Halt,
    indexing::Indexing,
    log::Ring,
    notifications::Notifications,
    sampling::Sampling,
    store::Store,
};
use agent::AgentLink;
use base::{clock::Wall, os::roots::FolderRoots, reload_on_change::ReloadOnChange};
use contract::{
    access::{policy::Policy, presence::Presence, seats::Seats},
    config::{FileRoot, Settings},
};
use hw::{camera::Cameras, gpio::GpioLines, i2c::I2c, machine::Machine, onewire::OneWire, serial::Serial, spi::Spi};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use time::OffsetDateTime;
use update_client::UpdateClient;

pub struct Services {
    pub settings: Arc<Settings>,
    /// The policy in force: reloaded after `raspi-mcp allow` has changed the configuration.
    pub policy: ReloadOnChange<Policy>,
    /// The halt as the agent reported it last.
    pub halt: Halt,
    /// The link to the agent, which may change the machine.
    pub agent: AgentLink,
    pub audit: Audit,
    /// Storage of samples, jobs and the audit.
    pub store: Store,
    /// The sampling jobs and their samples.
    pub sampling: Sampling,
    /// The newest lines of the server's own log.
    pub log: Ring,
    /// The machine itself, read-only.
    pub machine: Arc<Machine>,
    /// The I2C buses.
    pub i2c: I2c,
    /// The SPI devices.
    pub spi: Spi,
    /// The 1-Wire devices.
    pub onewire: OneWire,
    /// The serial ports, and their leases.
    pub serial: Arc<Serial>,
    /// The folders that `files.*` may reach.
    pub files: FolderRoots,
    /// What `vector.search` searches.
    pub indexing: Indexing,
    /// Programs that bring tools of their own.
    pub agents: Arc<Agents>,
    /// The way to the routers; set if there are some.
    #[cfg(feature = "routeros")]
    pub routeros: std::sync::OnceLock<crate::routeros::link::RouterosLink>,
    /// The pins of the header, and their leases.
    pub gpio: Arc<GpioLines>,
    /// Cameras and their photos.
    pub cameras: Cameras,
    /// The updates.
    pub updates: UpdateClient,
    /// News of asks and of trouble for the owner.
    pub notifications: Notifications,
    /// Whether this machine has an owner.
    pub ownership: Ownership,
    /// Where `raspi-mcp allow` writes for this server; `None` if it does not read such fragments.
    pub site: Option<PathBuf>,
    /// The valid bearer tokens.
    pub tokens: Arc<Tokens>,
    /// Requests from beyond this machine to the listener on loopback.
    pub outside: OutsideRequests,
    /// The connections of each listener.
    pub seats: Mutex<Vec<Arc<Seats>>>,
    /// The fleet that this server serves, at its owner's console.
    #[cfg(feature = "console")]
    pub fleet: std::sync::OnceLock<crate::fleet_port::ServedFleet>,
    pub started: OffsetDateTime,
}

impl Services {
    /// The ids of the configured routers.
    pub fn routers(&self) -> Vec<String> {
        #[cfg(feature = "routeros")]
        return self.routeros.get().map(crate::routeros::link::RouterosLink::devices).unwrap_or_default();
        #[cfg(not(feature = "routeros"))]
        return Vec::new();
    }

    /// A connection has ended: what was lent to it is given back.
    pub fn left(&self, presence: &Presence) {
        self.gpio.left(presence);
        self.serial.left(presence);
    }

    /// A credential was revoked: what was lent to it is given back.
    pub fn revoked(&self, principal: &str) {
        self.gpio.revoked(principal);
        self.serial.revoked(principal);
    }

    /// Room for `most` connections of one more listener.
    pub fn seats(&self, most: usize) -> Arc<Seats> {
        let seats = Seats::new(most);
        self.seats.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&seats));
        seats
    }

    /// How many connections each caller has that is known.
    pub fn connections(&self) -> BTreeMap<Arc<str>, usize> {
        let mut all = BTreeMap::new();
        for (caller, count) in
            self.seats.lock().unwrap_or_else(PoisonError::into_inner).iter().flat_map(|seats| seats.callers())
        {
            *all.entry(caller).or_default() += count;
        }
        all
    }

    /// The services of a new server with these settings.
    pub fn new(
        settings: Arc<Settings>,
        machine: Arc<Machine>,
        agent: AgentLink,
        store: Store,
        audit: Audit,
        log: Ring,
    ) -> Self {
        let files = FolderRoots::of(settings.files.roots.iter().map(FileRoot::folder));
        let gpio = GpioLines::new(
            &settings.gpio,
            settings.approval.pins(),
            &machine.root,
            &machine.board.pins(),
            &settings.places,
        );
        Self {
            policy: ReloadOnChange::after(Policy::of(&settings), Vec::new(), |_| {
                Err("nothing is read again here".into())
            }),
            halt: Halt::of(&settings, agent.clone(), audit.clone(), Arc::clone(&gpio)),
            audit,
            sampling: Sampling::new(store.clone(), settings.metrics.max_bytes, Wall::system()),
            store,
            log,
            gpio,
            spi: Spi::of(&settings.spi, &machine.root, machine.board.simulated.as_ref().map(|board| &board.spi)),
            onewire: OneWire::of(&machine.root, machine.board.simulated.as_ref().map(|board| &board.onewire)),
            serial: Serial::of(
                &settings.serial,
                &machine.root,
                machine.board.simulated.as_ref().map(|board| &board.serial),
            ),
            i2c: I2c::of(&settings.i2c, &machine.root, machine.board.simulated.as_ref().map(|board| &board.i2c)),
            cameras: Cameras::of(
                &settings.camera,
                machine.board.simulated.as_ref().map(|board| &board.camera),
                &machine.root,
            ),
            updates: UpdateClient::of(&settings, &machine, agent.clone(), Wall::system()),
            notifications: Notifications::of(&settings, &machine.root, Wall::system()),
            indexing: Indexing::of(&files, &settings.places.state_dir, &machine.root),
            files,
            #[cfg(feature = "routeros")]
            routeros: std::sync::OnceLock::new(),
            agents: Agents::of(&settings.agents, agent.clone()),
            agent,
            machine,
            ownership: Ownership::of(&settings),
            site: None,
            tokens: Tokens::of(&settings),
            outside: OutsideRequests::default(),
            seats: Mutex::default(),
            #[cfg(feature = "console")]
            fleet: std::sync::OnceLock::new(),
            started: OffsetDateTime::now_utc(),
            settings,
        }
    }
}
