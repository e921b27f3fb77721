//! The lines of the header, leased to one caller at a time.
//!
//! Everything runs under one lock and does not block: ioctls of the header's chips are register writes.

use super::{
    edge_hub::EdgeHub,
    hardware::Hardware,
    header,
    lease::{Back, Drive, HeldBy, Lease, Owner},
    listen::Watched,
    pin_cache::PinCache,
    record::OutputsFile,
    refusal::GpioRefusal,
    rules::Rules,
};
use crate::line::{Function, GpioPort, Level, Line, LineError, Pull, Take};
use crate::pwm::Pwm;
use base::os::Root;
use contract::{
    access::presence::Presence,
    config::{GpioSettings, PlaceSettings, Revert},
    values::Pin,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, broadcast},
    time::Instant,
};

/// The consumer label of our lines in the kernel.
pub(super) const CONSUMER: &str = "raspi-mcp";
/// Changes buffered for a slow listener.
const BEHIND: usize = 64;

/// The lines of one board, as one server leases them.
pub struct GpioLines {
    pub rules: Rules,
    pub(super) pwm: Pwm,
    pub(super) pin_cache: Arc<PinCache>,
    root: Root,
    pub(super) hardware: Hardware,
    chip: String,
    state: Mutex<LinesState>,
    /// Pins that changed, other than by an edge of an input.
    altered: broadcast::Sender<Pin>,
    pub(super) earlier: Notify,
}

pub(super) struct LinesState {
    /// Opened on first use: a chip may appear after the server started.
    port: Option<Arc<dyn GpioPort>>,
    pub(super) leases: BTreeMap<Pin, Lease>,
    /// Unused lines that are driven to their safe level.
    pub(super) resting: BTreeMap<Pin, Arc<dyn Line>>,
    /// Unused inputs with listeners.
    pub(super) watched: BTreeMap<Pin, Watched>,
    pub(super) record: OutputsFile,
    /// Pins that were put into their safe state at the start.
    pub(super) recovered: Vec<Pin>,
    /// When the keeper wakes; `None` while there is none.
    pub(super) keeper: Option<Instant>,
    /// While the machine is halted nothing is driven anew: a call may have been on its way.
    pub(super) halted: bool,
}

/// The effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteEffect {
    /// The level before, if known.
    pub previous: Option<Level>,
    /// When it is taken back, and to what.
    pub revert: Option<(Instant, Back)>,
    /// When its lease ends unless it is used.
    pub ends: Option<Instant>,
    pub held_by: HeldBy,
}

impl GpioLines {
    /// `kept` are the agent's pins; `places` store what must be known after a crash.
    pub fn new(
        settings: &GpioSettings,
        kept: BTreeSet<u8>,
        root: &Root,
        hardware: &Hardware,
        places: &PlaceSettings,
    ) -> Arc<Self> {
        Arc::new(Self {
            rules: Rules::of(settings, kept, hardware.simulated.is_some()),
            pwm: Pwm::of(root, hardware.profile, hardware.simulated.as_ref().map(|twin| &twin.pwm), settings),
            pin_cache: Arc::default(),
            root: root.clone(),
            hardware: hardware.clone(),
            chip: settings.chip.clone(),
            state: Mutex::new(LinesState {
                port: None,
                leases: BTreeMap::new(),
                resting: BTreeMap::new(),
                watched: BTreeMap::new(),
                record: OutputsFile::new(places),
                recovered: Vec::new(),
                keeper: None,
                halted: false,
            }),
            altered: broadcast::Sender::new(BEHIND),
            earlier: Notify::new(),
        })
    }

    /// The port to the lines.
    ///
    /// # Errors
    /// When this board has no usable header.
    pub fn port(&self) -> Result<Arc<dyn GpioPort>, LineError> {
        self.port_of(&mut self.state())
    }

    /// Whether pins can be read here, without the agent, or there is nothing to read.
    pub(super) fn reads_registers(&self) -> bool {
        self.port().map_or(true, |port| port.reads_registers())
    }

    pub(super) fn port_of(&self, state: &mut LinesState) -> Result<Arc<dyn GpioPort>, LineError> {
        match &state.port {
            Some(port) => Ok(Arc::clone(port)),
            None => Ok(Arc::clone(state.port.insert(header::open(
                &self.root,
                &self.hardware,
                &self.chip,
                &self.pin_cache,
            )?))),
        }
    }

    /// Makes a pin an input or an output of this owner. If it is an output already, only the level changes.
    ///
    /// # Errors
    /// [`GpioRefusal`]: then the pin is unchanged, unless its line failed.
    pub fn configure(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        how: Take,
        lasts: Option<Duration>,
    ) -> Result<(), GpioRefusal> {
        let mut state = self.state();
        self.check_owner(&state, owner, pin)?;
        let drive = self.redrive(&mut state, pin, how)?;
        self.lend(&mut state, owner, pin, drive, lasts);
        self.schedule_expiry(&mut state, pin);
        drop(state);
        self.alter(pin);
        Ok(())
    }

    /// Drives a pin; an unused one becomes this owner's output. With `duration` the level is taken back automatically.
    ///
    /// # Errors
    /// [`GpioRefusal`]: then nothing has changed.
    pub fn write(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        level: Level,
        duration: Option<Duration>,
        lasts: Option<Duration>,
    ) -> Result<WriteEffect, GpioRefusal> {
        let mut state = self.state();
        // A second pulse only extends the first: the level from before the first is restored.
        let pending = state.leases.get(&pin).and_then(|lease| match lease.repeat {
            Some(_) => Some(Back::Safe),
            None => lease.revert.map(|(_, back)| back),
        });
        let previous = self.drive(&mut state, owner, pin, level, lasts)?;
        let Some(lease) = state.leases.get_mut(&pin) else { return Err(GpioRefusal::NotLent) };
        lease.repeat = None;
        lease.revert = duration.map(|duration| {
            let back = match self.rules.revert {
                Revert::Previous => pending.unwrap_or_else(|| previous.map_or(Back::Safe, Back::To)),
                Revert::Invert => Back::To(!level),
            };
            (Instant::now() + duration, back)
        });
        lease.used(owner, lasts);
        let (revert, ends, held_by) = (lease.revert, lease.ends(), lease.held_by());
        self.schedule_expiry(&mut state, pin);
        drop(state);
        self.alter(pin);
        Ok(WriteEffect { previous, revert, ends, held_by })
    }

    /// Drives a pin of this owner, or an unused one, which is then leased to the owner. Returns the level before, if
    /// known.
    pub(super) fn drive(
        &self,
        state: &mut LinesState,
        owner: &Owner,
        pin: Pin,
        level: Level,
        lasts: Option<Duration>,
    ) -> Result<Option<Level>, GpioRefusal> {
        self.check_owner(state, owner, pin)?;
        let was_wave = self.end_wave(state, pin)?;
        let previous = match state.leases.get(&pin).map(|lease| &lease.drive) {
            Some(Drive::Output { line }) => {
                let previous = line.level()?;
                line.set(level)?;
                Some(previous)
            }
            Some(drive @ Drive::Input { .. }) => return Err(GpioRefusal::Is(drive.mode())),
            // A wave was ended above; a hardware one had no line.
            Some(Drive::Pwm { .. }) | None => {
                // A bus or serial port would silently lose its pin; that requires an explicit configuration.
                if !was_wave && let Function::Alt(function) = self.port_of(state)?.look(pin)?.function {
                    return Err(GpioRefusal::Alt(function));
                }
                let drive = self.redrive(state, pin, Take::Output { level })?;
                self.lend(state, owner, pin, drive, lasts);
                None
            }
        };
        Ok(previous.filter(|_| !was_wave))
    }

    /// The level of a pin, whoever holds it. Renews the lease if its owner reads.
    ///
    /// # Errors
    /// [`LineError::Busy`] when another process holds it, [`LineError::Unsupported`] when an unused line cannot be read.
    pub fn read(&self, owner: &Owner, pin: Pin) -> Result<Level, LineError> {
        let mut state = self.state();
        if let Some(lease) = state.leases.get_mut(&pin) {
            if lease.is_of(owner) {
                lease.renew(None);
            }
            return match &lease.drive {
                Drive::Input { line, .. } => line.level(),
                Drive::Output { line } | Drive::Pwm { line: Some(line), .. } => line.level(),
                Drive::Pwm { line: None, .. } => self.port_of(&mut state)?.peek(pin),
            };
        }
        if let Some(line) = state.resting.get(&pin) {
            return line.level();
        }
        if let Some(watched) = state.watched.get(&pin) {
            return watched.line.level();
        }
        self.port_of(&mut state)?.peek(pin)
    }

    /// Ends a lease: the pin goes to its safe state. With `force` also another owner's. Returns whether there was one.
    ///
    /// # Errors
    /// [`GpioRefusal::Lent`].
    pub fn release(&self, owner: &Owner, pin: Pin, force: bool) -> Result<bool, GpioRefusal> {
        let mut state = self.state();
        let Some(lease) = state.leases.get(&pin) else { return Ok(false) };
        if !lease.is_of(owner) && !force {
            return Err(lease.refusal());
        }
        let settled = self.settle(&mut state, pin);
        drop(state);
        self.alter(pin);
        settled.map(|()| true).map_err(GpioRefusal::from)
    }

    /// Pins that changed, except by edges of inputs, for which there is [`GpioLines::listen`].
    pub fn altered(&self) -> broadcast::Receiver<Pin> {
        self.altered.subscribe()
    }

    pub(super) fn alter(&self, pin: Pin) {
        // There may be no receiver.
        let _ = self.altered.send(pin);
    }

    pub(super) fn check_owner(&self, state: &LinesState, owner: &Owner, pin: Pin) -> Result<(), GpioRefusal> {
        if owner.is_gone() || owner.pass.as_ref().is_some_and(Presence::is_gone) {
            return Err(GpioRefusal::Gone);
        }
        if state.halted {
            return Err(GpioRefusal::Halted);
        }
        match state.leases.get(&pin) {
            Some(lease) if !lease.is_of(owner) => Err(lease.refusal()),
            _ => Ok(()),
        }
    }

    pub(super) fn lend(&self, state: &mut LinesState, owner: &Owner, pin: Pin, drive: Drive, lasts: Option<Duration>) {
        let mut lease = Lease { owner: owner.clone(), drive, lasts, until: None, revert: None, repeat: None };
        lease.renew(None);
        state.leases.insert(pin, lease);
    }

    /// Requests the line again in another mode. An output stays driven throughout.
    pub(super) fn redrive(&self, state: &mut LinesState, pin: Pin, how: Take) -> Result<Drive, GpioRefusal> {
        let port = self.port_of(state)?;
        self.end_wave(state, pin)?;
        if let Take::Output { level } = how {
            state.record.driven(pin).map_err(GpioRefusal::Record)?;
            let held = match state.leases.get(&pin).map(|lease| &lease.drive) {
                Some(Drive::Output { line }) => Some(line.set(level)),
                _ => state.resting.get(&pin).map(|line| line.set(level)),
            };
            if let Some(set) = held {
                set?;
                let lease = state.leases.remove(&pin).map(|lease| lease.drive);
                if let Some(Drive::Output { line }) = lease {
                    return Ok(Drive::Output { line });
                }
                if let Some(line) = state.resting.remove(&pin) {
                    return Ok(Drive::Output { line });
                }
            }
        }
        // The kernel allows one holder per line: ours must be released first.
        let before = state.leases.remove(&pin).map(|lease| lease.drive);
        if let Some(drive) = &before {
            drive.close();
        }
        if let Some(line) = state.resting.remove(&pin) {
            line.close();
        }
        if let Some(watched) = state.watched.remove(&pin) {
            watched.line.close();
        }
        let taken = port.take(pin, how, CONSUMER);
        let line = match taken {
            Ok(line) => line,
            Err(fault) => {
                // The pin is not driven yet, so the record must not list it; the safe state records it again.
                state.record.let_go(pin);
                if let Err(fault) = self.enter_safe_state(state, pin) {
                    tracing::warn!(pin = pin.bcm(), %fault, "is not in its safe state");
                }
                return Err(fault.into());
            }
        };
        Ok(match how {
            Take::Input { pull } => {
                state.record.let_go(pin);
                Drive::Input { line: line.into(), pull: pull.unwrap_or(Pull::None), hub: EdgeHub::default() }
            }
            Take::Output { .. } => Drive::Output { line: line.into() },
        })
    }

    /// Every change is completed or not begun, so a poisoned lock is safe to use.
    pub(super) fn state(&self) -> MutexGuard<'_, LinesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
