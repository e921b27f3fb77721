//! Rollouts over a simulated fleet, minute by minute: devices that choose by the real index, controllers that are the real ones, a
//! channel and a store in memory, and a fuse that kills a controller at any change it makes.

mod broker;
mod fleet;
mod hung;
mod killed;
mod places;
mod plan;
mod served;
mod sick;
mod signed;
mod start;
mod two;

use crate::update::{HARDWARE, LAYOUT, NOW, PRODUCT, a_key, roots};
use base::error::{ErrorCode, ToolError};
use fleet::Fleet;
use fleet_protocol::rollout::{RolloutDevice, RolloutPlan, RolloutRecord};
use raspi_mcp::fleet::rollout::{
    Controller, DecisionLog, DeviceStatuses, IndexPlace, RecordStore, RolloutClock, SignedSteps, Tick, changed, file,
    read_log,
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};
use tempfile::TempDir;
use update::{
    bundle::Digest,
    channel::{ChannelIndex, ReleaseEntry, Rollout, salt, sign},
    trust::{Purpose, Signed},
};

const START_MS: i64 = NOW as i64 * 1000;
const MINUTE_MS: i64 = 60_000;

/// Kills a controller: the change with this number fails, before or after it took effect.
#[derive(Clone, Default)]
struct Fuse(Rc<Cell<Option<u32>>>);

impl Fuse {
    fn of(changes: u32) -> Self {
        Self(Rc::new(Cell::new(Some(changes))))
    }

    fn burn(&self) -> Result<(), ToolError> {
        match self.0.get() {
            Some(0) => return Err(ToolError::internal("killed")),
            Some(left) => self.0.set(Some(left - 1)),
            None => {}
        }
        Ok(())
    }
}

/// The channel in memory, with all that was ever published.
#[derive(Clone)]
struct Web {
    published: Rc<RefCell<Vec<Vec<u8>>>>,
    fuse: Fuse,
    /// Others do something in the middle of an operation.
    yields: Rc<Cell<u64>>,
}

impl Web {
    fn index(&self) -> ChannelIndex {
        index(self.published.borrow().last().unwrap())
    }

    /// Nothing was published twice or under a number that something else had, and numbers only rose.
    fn is_sound(&self) -> Vec<u64> {
        let published = self.published.borrow();
        let numbers: Vec<u64> = published.iter().map(|bytes| index(bytes).sequence).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        numbers
    }
}

fn index(bytes: &[u8]) -> ChannelIndex {
    ChannelIndex::parse(&Signed::parse(bytes, Purpose::Channel).unwrap().text).unwrap()
}

/// Lets others run, sometimes.
async fn others(yields: &Cell<u64>) {
    let state = yields.get();
    if state == 0 {
        return;
    }
    yields.set(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) | 1);
    for _ in 0..(state >> 33) % 4 {
        tokio::task::yield_now().await;
    }
}

impl IndexPlace for Web {
    async fn present(&self) -> Result<Vec<u8>, ToolError> {
        others(&self.yields).await;
        Ok(self.published.borrow().last().unwrap().clone())
    }

    async fn replace(&self, expected: &[u8], with: &[u8]) -> Result<(), ToolError> {
        others(&self.yields).await;
        self.fuse.burn()?;
        if self.published.borrow().last().unwrap() != expected {
            return Err(ToolError::new(ErrorCode::Conflict, "changed"));
        }
        self.published.borrow_mut().push(with.to_vec());
        others(&self.yields).await;
        self.fuse.burn()
    }
}

/// Records in memory, all of them.
#[derive(Clone)]
struct Records {
    all: Rc<RefCell<Vec<RolloutRecord>>>,
    fuse: Fuse,
    yields: Rc<Cell<u64>>,
}

impl RecordStore for Records {
    async fn get(&self) -> Result<Option<(u64, RolloutRecord)>, ToolError> {
        others(&self.yields).await;
        let all = self.all.borrow();
        Ok(all.last().map(|record| (all.len() as u64, record.clone())))
    }

    async fn put(&self, over: u64, record: &RolloutRecord) -> Result<u64, ToolError> {
        others(&self.yields).await;
        self.fuse.burn()?;
        if self.all.borrow().len() as u64 != over {
            return Err(changed());
        }
        self.all.borrow_mut().push(record.clone());
        others(&self.yields).await;
        self.fuse.burn()?;
        Ok(over + 1)
    }
}

/// The statuses, as the console has them.
#[derive(Clone)]
struct Heard {
    fleet: Rc<RefCell<Fleet>>,
    since_ms: Rc<Cell<i64>>,
}

impl DeviceStatuses for Heard {
    fn devices(&self) -> Vec<RolloutDevice> {
        self.fleet.borrow().statuses()
    }

    fn listening_since_ms(&self) -> i64 {
        self.since_ms.get()
    }
}

type SimulatedController = Controller<Records, Web, Heard>;

/// Everything around the controllers.
struct World {
    dir: TempDir,
    plan: RolloutPlan,
    web: Web,
    records: Records,
    heard: Heard,
    minute: i64,
    /// How far the monotonic clocks of controllers go in a minute of the devices.
    pace_ms: u64,
}

/// A release in the channel that nobody gets yet, and the one that runs everywhere.
fn channel() -> Vec<u8> {
    let release = |version: &str, counter, percent| {
        let manifest = Digest::of(version.as_bytes());
        ReleaseEntry {
            version: version.into(),
            counter,
            manifest,
            url: format!("bundles/{version}.bundle"),
            size: 1,
            released: NOW,
            layout: LAYOUT.into(),
            hardware: vec![HARDWARE.into()],
            rollout: Rollout { percent, salt: salt(&manifest) },
            rings: vec![],
            min_counter: None,
            notes: String::new(),
            notes_url: None,
        }
    };
    let index = ChannelIndex {
        format: 1,
        product: PRODUCT.into(),
        channel: "stable".into(),
        sequence: 7,
        created: NOW,
        expires: NOW + 86_400,
        paused: None,
        releases: vec![release("1.2.0", 12, 0), release("1.1.0", 11, 100)],
        revoked: vec![],
    };
    sign(&index, &[a_key(21)], Some(&roots())).unwrap()
}

/// A plan as a person writes it.
fn plan_in(dir: &Path, stop: &str, stages: &str) -> RolloutPlan {
    let path = dir.join("plan.toml");
    let head = "version = \"1.2.0\"\nfolder = \"www\"\nsilent_minutes = 45\n";
    fs::write(&path, format!("{head}[stop]\n{stop}\n{stages}")).unwrap();
    file::read(&path).unwrap_or_else(|faults| panic!("{faults}"))
}

/// `percent, min_committed, soak_minutes` of each stage.
fn stages(all: &[(u8, u32, u32)]) -> String {
    let one = |(percent, min, soak): &(u8, u32, u32)| {
        format!("[[stages]]\npercent = {percent}\nmin_committed = {min}\nsoak_minutes = {soak}\n")
    };
    all.iter().map(one).collect()
}

impl World {
    fn new(devices: usize, stop: &str, stages: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let plan = plan_in(dir.path(), stop, stages);
        let present = channel();
        let signed = SignedSteps::sign(plan.clone(), present.clone(), (NOW, NOW + 90 * 86_400), &[a_key(21)], &roots());
        signed.unwrap().write(&dir.path().join("signed")).unwrap();
        let yields = Rc::new(Cell::new(0));
        let web =
            Web { published: Rc::new(RefCell::new(vec![present])), fuse: Fuse::default(), yields: Rc::clone(&yields) };
        let records = Records { all: Rc::default(), fuse: Fuse::default(), yields };
        let fleet = Rc::new(RefCell::new(Fleet::new(devices)));
        let heard = Heard { fleet, since_ms: Rc::new(Cell::new(START_MS - 3_600_000)) };
        Self { dir, plan, web, records, heard, minute: 0, pace_ms: 60_000 }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A controller, as a process that begins reads everything from files.
    fn controller(&self, name: &str, log: &str, fuse: Fuse) -> SimulatedController {
        let steps = SignedSteps::read(self.plan.clone(), &self.dir.path().join("signed"), Some(&roots())).unwrap();
        let log = DecisionLog::new(self.log(log));
        let mut web = self.web.clone();
        let mut records = self.records.clone();
        (web.fuse, records.fuse) = (fuse.clone(), fuse);
        Controller::new(name.into(), steps, records, web, self.heard.clone(), log)
    }

    fn clock(&self) -> RolloutClock {
        let monotonic_ms = 5_000_000 + self.minute.unsigned_abs() * self.pace_ms;
        RolloutClock { now_ms: START_MS + self.minute * MINUTE_MS, monotonic_ms }
    }

    /// A minute passes for all devices.
    fn pass(&mut self) {
        self.minute += 1;
        let index = self.web.index();
        self.heard.fleet.borrow_mut().minute(START_MS + self.minute * MINUTE_MS, self.minute, &index);
    }

    fn record(&self) -> RolloutRecord {
        self.records.all.borrow().last().unwrap().clone()
    }

    /// Runs a controller until the rollout is over, for at most a week.
    async fn until_over(&mut self, controller: &mut SimulatedController) -> Result<(), ToolError> {
        controller.start(self.clock()).await?;
        for _ in 0..7 * 24 * 60 {
            for _ in 0..4 {
                if controller.tick(self.clock()).await? == Tick::Over {
                    return Ok(());
                }
            }
            self.pass();
        }
        panic!("a week: {:?}", self.record().last)
    }

    /// The decisions of a log are numbered without a gap, and are those of the records.
    fn is_logged(&self, log: &str) {
        let logged = read_log(&self.log(log)).unwrap();
        let numbers: Vec<u64> = logged.iter().map(|decision| decision.number).collect();
        assert_eq!(numbers, (1..=self.record().last.number).collect::<Vec<_>>());
        let stored: BTreeMap<u64, _> =
            self.records.all.borrow().iter().map(|record| (record.last.number, record.last.clone())).collect();
        assert_eq!(logged, stored.into_values().collect::<Vec<_>>());
    }
}
