//! The life of a machine, lived by the real code and recorded: every write and flush, and after each deed what is then known.

use super::{
    board::{Board, layout},
    card::{Card, Event},
};
use crate::update::{NOW, a_bundle_of, a_plan, opened, with_tree};
use ::update::{
    Slot,
    boot::{BootFlow, ResetCause},
    disk::{Access, Area, Disk},
    firmware::Outcome,
    install::{Finish, InstallEngine, InstallRecord, InstallSite, hooks::Unwatched},
    simulated::{SimulatedBootChain, areas, boot_image, factory},
    slots::{self, BootState, FailedTrial, Here, Ledger, OldSystem, Settled, StateRecord, Step, UpdateLimits},
    status::Attempt,
};
use base::error::ToolError;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

pub const BOOT: usize = 64 << 10;
pub const ROOT: usize = 64 << 10;
const BLOCK: u32 = 4 << 10;
pub const NOW_MS: i64 = NOW as i64 * 1000;
pub const FREE: UpdateLimits = UpdateLimits { installs_a_day: 1000, reboots_an_hour: 1000 };

pub type Content = BTreeMap<Area, Vec<u8>>;

/// What is known once a deed is done.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Events up to here.
    pub events: usize,
    pub what: String,
    /// Whether the chip's flag is set.
    pub flag: bool,
    pub floor: u64,
    pub attempt: Option<Attempt>,
}

/// A life, as the power-cut model needs it.
pub struct Recording {
    pub chain: SimulatedBootChain,
    pub name: &'static str,
    pub start: Content,
    pub events: Vec<Event>,
    pub marks: Vec<Mark>,
}

pub struct Life {
    chain: SimulatedBootChain,
    start: Content,
    board: Arc<Board>,
    flow: Arc<dyn BootFlow>,
    ledger: Arc<Mutex<Ledger>>,
    settled: Settled,
    events: Vec<Event>,
    marks: Vec<Mark>,
}

pub fn boot_of(counter: u64) -> Vec<u8> {
    boot_image(BOOT, &format!("{counter}.0.0")).unwrap()
}

/// Versions share half of their blocks. The last block is the hash tree of the others.
pub fn root_of(counter: u64) -> Vec<u8> {
    let byte = |at: usize| {
        let block = at / BLOCK as usize;
        let own = if block.is_multiple_of(2) { counter } else { 0 };
        ((at as u64).wrapping_mul(31).wrapping_add((block as u64 + 1) * (own * 7 + 1)) >> 3) as u8
    };
    with_tree(&(0..ROOT).map(byte).collect::<Vec<_>>(), ROOT)
}

impl Life {
    /// From the factory, switched on.
    pub fn new(chain: SimulatedBootChain) -> Self {
        let mut sizes = areas(BOOT as u64, ROOT as u64);
        sizes[0].1 = 64 << 10;
        sizes[5].1 = 128 << 10;
        let disk = Card::of(sizes.map(|(area, size)| (area, vec![0; size as usize])).into());
        factory(&disk, &layout(), &boot_of(1), &root_of(1)).unwrap();
        disk.take_events();
        let board = Board::new(disk.clone(), chain, "boot", false);
        let start = disk.content();
        board.restart(ResetCause::PowerOn);
        let flow = board.flow(None);
        let mut ledger = Ledger::open(Arc::new(disk), flow.clone()).unwrap();
        let (settled, done) = ledger.settle(&Here { now_ms: NOW_MS, ..Here::default() });
        done.unwrap();
        let ledger = Arc::new(Mutex::new(ledger));
        let mut life = Self { chain, start, board, flow, ledger, settled, events: vec![], marks: vec![] };
        life.mark("the first start");
        life
    }

    fn mark(&mut self, what: impl Into<String>) {
        self.events.extend(self.board.disk.take_events());
        let state = self.state();
        self.marks.push(Mark {
            events: self.events.len(),
            what: what.into(),
            flag: self.board.flag(),
            floor: state.counter_floor,
            attempt: state.last_attempt,
        });
    }

    pub fn state(&self) -> StateRecord {
        self.ledger.lock().unwrap().state().clone()
    }

    pub fn running(&self) -> Slot {
        self.flow.evidence().running().expect("a slot runs")
    }

    fn does(&mut self, what: &str, decide: impl FnOnce(&StateRecord, &Settled) -> Result<Step, ToolError>) {
        let step = decide(&self.state(), &self.settled).unwrap();
        self.ledger.lock().unwrap().perform(&step).unwrap();
        self.mark(what);
    }

    /// The real engine installs that version; after `blocks` of those that were sent it is interrupted, and the machine restarts.
    fn engine(&mut self, counter: u64, revoke_below: Option<u64>, blocks: usize) -> Option<()> {
        let version = format!("{counter}.0.0");
        let plan = bundle_plan(&version, counter, revoke_below);
        let bundle = a_bundle_of(&plan, &boot_of(counter), &root_of(counter), &[11, 12]);
        let (release, index) = opened(&bundle);
        let record = InstallRecord {
            ledger: self.ledger.clone(),
            clock: Arc::new(|| NOW_MS),
            running_counter: None,
            limits: FREE,
            restart: Default::default(),
        };
        let disk = Arc::new(self.board.disk.clone());
        let site = InstallSite { disk, record, watch: Arc::new(Unwatched), simulated: true };
        let mut engine = InstallEngine::prepare(site, release, opened(&bundle).1, self.running().other()).unwrap();
        for n in engine.wanted().iter().take(blocks) {
            let stored = index.block(n).stored;
            engine.block(n, &bundle[stored.start as usize..stored.end as usize]).unwrap();
        }
        let finished = if blocks == usize::MAX {
            assert!(matches!(engine.finish().unwrap(), Finish::Armed(_)));
            Some(())
        } else {
            engine.pause().unwrap();
            None
        };
        self.mark(format!("install {version}"));
        finished
    }

    pub fn install(&mut self, counter: u64) -> &mut Self {
        self.engine(counter, None, usize::MAX).unwrap();
        self
    }

    pub fn install_revoking(&mut self, counter: u64) -> &mut Self {
        self.engine(counter, Some(counter), usize::MAX).unwrap();
        self
    }

    pub fn install_some(&mut self, counter: u64, blocks: usize) -> &mut Self {
        assert_eq!(self.engine(counter, None, blocks), None);
        self
    }

    /// The marker, the restart, and what the agent makes of it.
    pub fn trial(&mut self) -> &mut Self {
        self.asks(true);
        self.starts(ResetCause::Watchdog);
        assert!(matches!(self.settled.standing, BootState::Trial(_)), "{:?}", self.settled);
        self
    }

    /// The trial is started, and dies before there is an agent.
    pub fn dead_trial(&mut self) -> &mut Self {
        self.asks(true);
        self.board.restart(ResetCause::Watchdog);
        self.starts(ResetCause::Watchdog)
    }

    fn asks(&mut self, trial: bool) {
        let seen = self.flow.evidence();
        self.does("the restart is asked for", |state, _| slots::restarting(state, &seen, trial, "test", FREE, NOW_MS));
    }

    pub fn starts(&mut self, why: ResetCause) -> &mut Self {
        let outcome = self.board.restart(why);
        assert!(matches!(outcome, Outcome::Booted { .. }), "{outcome:?}");
        let here = Here { now_ms: NOW_MS, ..Here::default() };
        let (settled, done) = self.ledger.lock().unwrap().settle(&here);
        done.unwrap();
        let what = format!("start: {:?}", settled.case);
        self.settled = settled;
        self.mark(what);
        self
    }

    pub fn commit(&mut self) -> &mut Self {
        let seen = self.flow.evidence();
        self.does("commit", |state, settled| {
            let BootState::Trial(trial) = &settled.standing else { panic!("{settled:?}") };
            slots::commit(state, trial, &seen)
        });
        let seen = self.flow.evidence();
        self.does("committed", |state, _| slots::committed(state, &seen, NOW_MS));
        self.settled.standing = BootState::Normal;
        self
    }

    pub fn condemn(&mut self) -> &mut Self {
        self.does("condemn", |state, settled| {
            let BootState::Trial(trial) = &settled.standing else { panic!("{settled:?}") };
            let (reason, log_tail) = ("no server".into(), Some("log".into()));
            slots::condemn(state, trial, FailedTrial { reason, log_tail, ..FailedTrial::default() })
        });
        self.starts(ResetCause::Watchdog)
    }

    pub fn judge_old(&mut self, online: bool) -> &mut Self {
        let seen = self.flow.evidence();
        self.does("judge_old", |state, _| {
            slots::judge_old(state, &seen, if online { OldSystem::Online } else { OldSystem::Offline }, NOW_MS)
        });
        self
    }

    /// What waits for a network may be tried again.
    pub fn network_returns(&mut self) -> &mut Self {
        self.does("the wait is over", |state, _| slots::end_wait(state));
        self
    }

    pub fn healthy(&mut self) -> &mut Self {
        let seen = self.flow.evidence();
        self.does("healthy", |state, settled| slots::healthy(state, &seen, &settled.standing, false, NOW_MS));
        self
    }

    pub fn roll_back(&mut self) -> &mut Self {
        let seen = self.flow.evidence();
        self.does("roll_back", |state, _| slots::roll_back(state, &seen, "a person", NOW_MS));
        self
    }

    /// What the card did by itself, on the medium at once.
    pub fn rots(&mut self, area: Area) -> &mut Self {
        let device = self.board.disk.open(area, Access::Shared).unwrap();
        device.write(0, &[0; 512]).and_then(|()| device.flush()).unwrap();
        self.mark("rot");
        self
    }

    pub fn recorded(mut self, name: &'static str) -> Recording {
        self.mark("the end");
        Recording { chain: self.chain, name, start: self.start, events: self.events, marks: self.marks }
    }
}

fn bundle_plan(version: &str, counter: u64, revoke_below: Option<u64>) -> update::bundle::BundleContent {
    update::bundle::BundleContent { block_size: BLOCK, revoke_below, ..a_plan(version, counter) }
}
