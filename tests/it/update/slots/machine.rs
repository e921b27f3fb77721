//! A machine for the tests of the slots: a card in memory, a simulated boot chain, the agent's record. It is restarted by hand.

use crate::update::boot::{BOOT, ROOT, card, layout};
use ::update::{
    Slot,
    boot::{BootFlow, Evidence, ResetCause},
    bundle::{Digest, ServiceChanges},
    disk::{Access, Area, Disk, MemoryDisk},
    simulated::{RestartableBoard, SimulatedBootChain, SimulatedFlow, boot_image},
    slots::{
        self, AdmissionInput, BootState, Candidate, Case, FailedTrial, Here, Ledger, Settled, StateRecord, Step,
        UpdateLimits,
    },
};
use base::error::ToolError;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub const NOW: i64 = 1_800_000_000_000;
pub const FREE: UpdateLimits = UpdateLimits { installs_a_day: 1000, reboots_an_hour: 1000 };

pub struct Machine {
    pub disk: MemoryDisk,
    pub board: Arc<RestartableBoard>,
    pub flow: Arc<dyn BootFlow>,
    pub ledger: Ledger,
    pub standing: BootState,
    pub case: Case,
}

pub fn candidate(counter: u64) -> Candidate {
    Candidate {
        manifest: Digest([counter as u8; 32]),
        version: format!("{counter}.0.0"),
        counter,
        created: 1_700_000_000 + counter,
        revoke_below: 0,
        services: ServiceChanges::default(),
    }
}

/// A trial that failed for another reason than its network.
pub fn failed(reason: &str, by_person: bool, log_tail: Option<&str>) -> FailedTrial {
    FailedTrial { reason: reason.into(), by_person, log_tail: log_tail.map(str::to_owned), ..FailedTrial::default() }
}

/// That version, offered now to a machine whose image has no counter of its own.
pub fn asked<'a>(candidate: &'a Candidate, seen: &'a Evidence, limits: UpdateLimits) -> AdmissionInput<'a> {
    AdmissionInput { candidate, seen, running: None, limits, now_ms: NOW }
}

impl Machine {
    /// From the factory, with version 1 in both slots, switched on and settled.
    pub fn new(chain: SimulatedBootChain) -> Self {
        let machine = Self::on(card(), chain, 0);
        assert_eq!(machine.standing, BootState::Normal);
        machine
    }

    /// With that card, switched on for the `n`th time and settled.
    pub fn on(disk: MemoryDisk, chain: SimulatedBootChain, n: usize) -> Self {
        let ids = AtomicU64::new(0);
        let next = move || format!("boot-{n}-{}", ids.fetch_add(1, Ordering::Relaxed));
        let board = RestartableBoard::power_on(Arc::new(disk.clone()), layout(), chain, Box::new(next));
        let flow: Arc<dyn BootFlow> = Arc::new(SimulatedFlow::new(board.clone(), layout()));
        let ledger = Ledger::open(Arc::new(disk.clone()), flow.clone()).unwrap();
        let mut machine = Self { disk, board, flow, ledger, standing: BootState::Elsewhere, case: Case::Elsewhere };
        machine.settle();
        machine
    }

    pub fn state(&self) -> &StateRecord {
        self.ledger.state()
    }
    pub fn seen(&self) -> Evidence {
        self.flow.evidence()
    }
    /// Step 3 for that version, within those limits.
    pub fn begin(&self, candidate: &Candidate, limits: UpdateLimits) -> Result<Step, ToolError> {
        slots::begin_writing(self.state(), &asked(candidate, &self.seen(), limits))
    }
    pub fn running(&self) -> Slot {
        self.seen().running().expect("a slot runs")
    }
    pub fn phase(&self) -> (update::status::Phase, String) {
        let attempt = self.state().last_attempt.clone().expect("an attempt");
        (attempt.phase, attempt.reason)
    }

    /// The agent starts: reads the record anew, settles.
    pub fn settle(&mut self) -> Case {
        self.ledger = Ledger::open(Arc::new(self.disk.clone()), self.flow.clone()).unwrap();
        let (Settled { case, standing, .. }, done) = self.ledger.settle(&Here { now_ms: NOW, ..Here::default() });
        done.unwrap();
        (self.case, self.standing) = (case, standing);
        case
    }

    pub fn boot(&mut self, why: ResetCause) -> Case {
        self.board.restart(why);
        self.settle()
    }

    /// Restarts, with a card that may take nothing any more: then the agent's step fails, and it stands where it stands.
    pub fn boot_if(&mut self, why: ResetCause) {
        self.board.restart(why);
        let Ok(ledger) = Ledger::open(Arc::new(self.disk.clone()), self.flow.clone()) else { return };
        self.ledger = ledger;
        let (settled, _) = self.ledger.settle(&Here { now_ms: NOW, ..Here::default() });
        (self.case, self.standing) = (settled.case, settled.standing);
    }

    pub fn does(&mut self, step: Result<Step, ToolError>) -> Result<(), ToolError> {
        self.ledger.perform(&step?)
    }

    /// Writes that version into the other slot, up to the head.
    pub fn install(&mut self, candidate: &Candidate) -> Result<(), ToolError> {
        let target = self.running().other();
        self.does(self.begin(candidate, FREE))?;
        let image = boot_image(BOOT, &candidate.version)?;
        let (boot, root) = (
            self.disk.open(Area::Boot(target), Access::Exclusive)?,
            self.disk.open(Area::Root(target), Access::Exclusive)?,
        );
        // The head first of all, and last of all; between them nothing starts from it.
        let written = boot
            .write(0, &[0; 4096])
            .and_then(|()| boot.flush())
            .and_then(|()| root.write(0, &[candidate.counter as u8; ROOT]))
            .and_then(|()| boot.write(4096, &image[4096..]))
            .and_then(|()| boot.flush())
            .and_then(|()| boot.write(512, &image[512..4096]))
            .and_then(|()| boot.flush())
            .and_then(|()| boot.write(0, &image[..512]))
            .and_then(|()| boot.flush());
        written.map_err(|error| ToolError::unavailable(error.to_string()))?;
        self.does(slots::written(self.state()))?;
        self.does(slots::verified(self.state()))?;
        self.does(slots::arm(self.state(), &self.seen()))?;
        self.standing = BootState::Armed;
        Ok(())
    }

    /// The restart into the trial that was asked for, and what the agent finds after it.
    pub fn restart_into_trial(&mut self) -> Case {
        self.does(slots::restarting(self.state(), &self.seen(), true, "update", FREE, NOW)).unwrap();
        self.boot(ResetCause::Watchdog)
    }

    pub fn commit(&mut self) -> Result<(), ToolError> {
        let BootState::Trial(trial) = &self.standing else { panic!("{:?} is no trial", self.standing) };
        let step = slots::commit(self.state(), trial, &self.seen());
        self.does(step)?;
        self.does(slots::committed(self.state(), &self.seen(), NOW))?;
        self.standing = BootState::Normal;
        Ok(())
    }

    pub fn condemn(&mut self, reason: &str) {
        self.condemn_as(failed(reason, false, Some("a log")));
    }

    pub fn condemn_as(&mut self, failed: FailedTrial) {
        let BootState::Trial(trial) = &self.standing else { panic!("{:?} is no trial", self.standing) };
        let step = slots::condemn(self.state(), trial, failed);
        self.does(step).unwrap();
    }

    pub fn healthy(&mut self) -> Result<(), ToolError> {
        self.does(slots::healthy(self.state(), &self.seen(), &self.standing, false, NOW))
    }

    /// Sector 0 of the slot's boot area is zero: nothing starts from it.
    pub fn startable(&self, slot: Slot) -> bool {
        let mut first = [0; 512];
        self.disk.open(Area::Boot(slot), Access::Read).unwrap().read(0, &mut first).unwrap();
        first != [0; 512]
    }
}
