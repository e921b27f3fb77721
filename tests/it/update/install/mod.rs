//! The install engine on a card in memory, with the models of both firmwares to say what boots.

mod faults;
mod resume;
mod rows;
mod spine;

use super::*;
use ::update::{
    Reckoning, Slot,
    boot::{BootFlow, ResetCause},
    disk::{Area, Disk, Layout, MemoryDisk},
    firmware::Outcome,
    install::{
        Armed, Finish, InstallEngine, InstallProgress, InstallRecord, InstallSite, MachineFacts,
        hooks::{InstallObserver, Unwatched},
        judge,
    },
    simulated::{self, RestartableBoard, SimulatedBootChain, SimulatedFlow},
    slots::{self, BootState, Here, Ledger, Settled, StateRecord, UpdateLimits, clock::floor},
};
use base::error::ToolError;
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
};

pub const BOOT: usize = 256 << 10;
pub const ROOT: usize = 1 << 20;

/// A machine with two slots, version 1 in both.
pub struct Pi {
    pub disk: MemoryDisk,
    pub flow: Arc<SimulatedFlow>,
    pub ledger: Arc<Mutex<Ledger>>,
    pub now_ms: Arc<AtomicI64>,
    pub limits: UpdateLimits,
    pub about: MachineFacts,
    pub watch: Arc<dyn InstallObserver>,
}

/// What one install was sent.
#[derive(Debug, Default)]
pub struct Sent {
    pub blocks: BTreeSet<u32>,
    pub stored_bytes: u64,
}

pub fn boot(version: &str) -> Vec<u8> {
    simulated::boot_image(BOOT, version).unwrap()
}

pub fn root(seed: u64) -> Vec<u8> {
    an_image(ROOT, seed)
}

pub fn bundle(version: &str, counter: u64, seed: u64) -> Vec<u8> {
    a_bundle(version, counter, &boot(version), &root(seed), &[11, 12])
}

impl Pi {
    pub fn new(chain: SimulatedBootChain) -> Self {
        let areas = simulated::areas(BOOT as u64, ROOT as u64).map(|(area, size)| (area, size as usize));
        let (disk, layout) = (MemoryDisk::new(areas), Layout::shipped().unwrap());
        simulated::factory(&disk, &layout, &boot("1.0.0"), &root(1)).unwrap();
        Self::on(disk, chain)
    }

    /// The machine that is switched on with this card.
    pub fn on(disk: MemoryDisk, chain: SimulatedBootChain) -> Self {
        let layout = Layout::shipped().unwrap();
        let number = AtomicU32::new(0);
        let ids = Box::new(move || format!("boot-{}", number.fetch_add(1, Ordering::SeqCst) + 1));
        let board = RestartableBoard::power_on(Arc::new(disk.clone()), layout.clone(), chain, ids);
        let flow = Arc::new(SimulatedFlow::new(board, layout));
        let ledger = Ledger::open(Arc::new(disk.clone()), flow.clone()).unwrap();
        let pi = Self {
            disk,
            flow,
            ledger: Arc::new(Mutex::new(ledger)),
            now_ms: Arc::new(AtomicI64::new(NOW as i64 * 1000)),
            limits: UpdateLimits::default(),
            about: MachineFacts {
                product: PRODUCT.into(),
                channel: "stable".into(),
                layout: LAYOUT.into(),
                hardware: vec![HARDWARE.into()],
                built: NOW,
                ..MachineFacts::default()
            },
            watch: Arc::new(Unwatched),
        };
        pi.disk.take_events();
        pi
    }

    pub fn record(&self) -> InstallRecord {
        let now_ms = Arc::clone(&self.now_ms);
        InstallRecord {
            ledger: Arc::clone(&self.ledger),
            clock: Arc::new(move || now_ms.load(Ordering::SeqCst)),
            running_counter: None,
            limits: self.limits,
            restart: Default::default(),
        }
    }

    pub fn state(&self) -> StateRecord {
        self.ledger.lock().unwrap().state().clone()
    }

    pub fn judge(&self, bundle: &[u8]) -> Result<judge::AcceptedBundle, ToolError> {
        let now = self.reckoned(self.now_ms.load(Ordering::SeqCst) / 1000, true);
        judge::judge(&envelope(bundle).encode().unwrap(), &roots(), &self.about, &self.record(), now)
    }

    /// What the agent takes for the time when the clock says this.
    pub fn reckoned(&self, clock: i64, synchronised: bool) -> Reckoning {
        Reckoning::of(clock, synchronised, floor(&self.state(), self.about.built))
    }

    pub fn site(&self) -> InstallSite {
        InstallSite {
            disk: Arc::new(self.disk.clone()),
            record: self.record(),
            watch: Arc::clone(&self.watch),
            simulated: true,
        }
    }

    pub fn engine(&self, bundle: &[u8]) -> Result<InstallEngine, ToolError> {
        let verdict = self.judge(bundle)?;
        let (release, index) = opened(bundle);
        assert_eq!(release, verdict.release);
        InstallEngine::prepare(self.site(), release, index, verdict.target)
    }

    /// The whole install, as a server does it: everything that is wanted is sent.
    pub fn install(&self, bundle: &[u8]) -> (Result<Armed, ToolError>, Sent) {
        let mut sent = Sent::default();
        (self.install_noting(bundle, &mut sent), sent)
    }

    fn install_noting(&self, bundle: &[u8], sent: &mut Sent) -> Result<Armed, ToolError> {
        let mut engine = self.engine(bundle)?;
        let mut wanted = engine.wanted();
        let index = opened(bundle).1;
        loop {
            for n in wanted.iter() {
                let block = index.block(n);
                let stored = &bundle[block.stored.start as usize..block.stored.end as usize];
                sent.blocks.insert(n);
                sent.stored_bytes += stored.len() as u64;
                engine.block(n, stored)?;
            }
            match engine.finish()? {
                Finish::Armed(armed) => return Ok(armed),
                Finish::More(more) => wanted = more,
            }
        }
    }

    /// Restarts, and settles as the agent does. `trial`: with the flow's argument.
    pub fn restart(&self, trial: bool) -> Settled {
        let mut ledger = self.ledger.lock().unwrap();
        let now = self.now_ms.load(Ordering::SeqCst);
        let step = slots::restarting(ledger.state(), &ledger.evidence(), trial, "a test", self.limits, now).unwrap();
        ledger.perform(&step).unwrap();
        drop(ledger);
        if trial {
            // What the kernel does with the argument, the flow has done already where there is a mailbox.
            self.flow.trial_argument();
        }
        self.start(ResetCause::Watchdog)
    }

    /// What a restart for that reason leads to.
    pub fn start(&self, why: ResetCause) -> Settled {
        let outcome = self.flow.board.restart(why);
        assert!(matches!(outcome, Outcome::Booted { .. }), "{outcome:?}");
        let mut ledger = self.ledger.lock().unwrap();
        let here = Here { now_ms: self.now_ms.load(Ordering::SeqCst), version: None, counter: None };
        let (settled, done) = ledger.settle(&here);
        done.unwrap();
        // A boot that goes well is told so, which fills up the chain's count.
        if matches!(settled.standing, BootState::Normal | BootState::Walked) {
            let step = slots::healthy(ledger.state(), &ledger.evidence(), &settled.standing, false, 0).unwrap();
            ledger.perform(&step).unwrap();
        }
        settled
    }

    /// Commits the trial that `settled` found.
    pub fn commit(&self, settled: &Settled) {
        let BootState::Trial(trial) = &settled.standing else { panic!("{settled:?}") };
        let mut ledger = self.ledger.lock().unwrap();
        let step = slots::commit(ledger.state(), trial, &ledger.evidence()).unwrap();
        ledger.perform(&step).unwrap();
        let step = slots::committed(ledger.state(), &ledger.evidence(), 0).unwrap();
        ledger.perform(&step).unwrap();
    }

    pub fn content(&self, area: Area) -> Vec<u8> {
        self.disk.content()[&area].clone()
    }

    pub fn running(&self) -> Option<Slot> {
        self.flow.evidence().running()
    }
}

pub fn open(disk: &MemoryDisk, area: Area) -> Box<dyn update::disk::BlockDevice> {
    disk.open(area, update::disk::Access::Shared).unwrap()
}
