//! What is asked of a card after a cut: an intact slot boots, and the state explains what happened.

use super::{
    board::Board,
    card::{Card, Event},
    cut::{State, area_sum},
    life::{BOOT, Content, FREE, NOW_MS, ROOT, boot_of, root_of},
};
use ::update::{
    Slot,
    boot::{BootFlow, ResetCause, uboot::crc32},
    disk::{Access, Area, Disk},
    firmware::Outcome,
    simulated::SimulatedBootChain,
    slots::{self, BootState, Here, Ledger, MOST_ARMINGS, OldSystem, Stage, StateRecord},
    status::{Attempt, Phase, SlotState},
};
use std::{collections::HashMap, path::PathBuf, sync::Arc};

/// More restarts than any way out takes: three walks, three trials.
const MOST_BOOTS: usize = 12;

/// What is known from outside of what the card should say.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    pub floors: (u64, u64),
    /// The attempts that the record may speak of.
    pub attempts: Vec<Option<(String, Slot)>>,
}

/// What it is held against.
pub struct Judge {
    pub chain: SimulatedBootChain,
    pub template: Option<PathBuf>,
    /// Sums of each version's boot and root images, in either slot.
    known: Vec<[(u128, u128); 2]>,
    images: Vec<(Vec<u8>, Vec<u8>)>,
    classes: HashMap<(Area, u128), u128>,
}

/// Torn copies are all alike.
fn class(area: Area, bytes: &[u8]) -> u128 {
    let number = |bytes: &[u8]| u128::from_le_bytes(bytes[..16].try_into().unwrap());
    if let Area::UbootCopy(_) = area {
        let whole = crc32(&bytes[4..]).to_le_bytes() == bytes[..4];
        return if whole { area_sum(area, bytes) } else { 1 };
    }
    // As docs/update.md has it.
    let quarter = bytes.len() / 4;
    let copy = |copy: usize| {
        let bytes = &bytes[quarter * (copy + 1)..][..quarter];
        let length = usize::from_le_bytes(bytes[16..24].try_into().unwrap());
        let whole = || {
            let json = bytes.get(56..56 + length.min(quarter))?;
            let sum = ring::digest::digest(&ring::digest::SHA256, &[&bytes[8..24], json].concat());
            (bytes[..8] == *b"RMSTATE1" && sum.as_ref() == &bytes[24..56]).then(|| number(sum.as_ref()))
        };
        let empty = bytes[..56] == [0; 56];
        whole().unwrap_or(u128::from(empty))
    };
    (copy(0) ^ copy(1).rotate_left(9)).wrapping_add(area_sum(area, &bytes[..quarter]))
}

pub fn about(attempt: &Option<Attempt>) -> Option<(String, Slot)> {
    attempt.as_ref().map(|attempt| (attempt.manifest_sha256.clone(), attempt.target))
}

impl Judge {
    pub fn new(chain: SimulatedBootChain, template: Option<PathBuf>) -> Self {
        let images: Vec<_> = (1..=3).map(|counter| (boot_of(counter), root_of(counter))).collect();
        let sums = |(boot, root): &(Vec<u8>, Vec<u8>)| {
            Slot::BOTH.map(|slot| (area_sum(Area::Boot(slot), boot), area_sum(Area::Root(slot), root)))
        };
        Self { chain, template, known: images.iter().map(sums).collect(), images, classes: HashMap::new() }
    }

    /// What the verdict can depend on. A root counts by which image it is, if it is one; a boot area without a first sector is as good as
    /// none; and of a copy of the record, or of U-Boot's state, that is torn it does not matter how. A share of the states is judged in full
    /// all the same, to hold this against.
    pub fn key(&mut self, state: &State, flag: bool) -> u128 {
        let mut key = u128::from(flag);
        let mut mix =
            |part: u128| key = (key ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(41);
        mix(state.sums[&Area::Config]);
        for area in [Area::AgentState, Area::UbootCopy(0), Area::UbootCopy(1)] {
            mix(*self.classes.entry((area, state.sums[&area])).or_insert_with(|| class(area, &state.make_area(area))));
        }
        for slot in Slot::BOTH {
            let root = state.sums[&Area::Root(slot)];
            mix(self.known.iter().position(|version| version[slot as usize].1 == root).map_or(0, |at| at as u128 + 1));
            mix(if state.dead(Area::Boot(slot)) { 0 } else { state.sums[&Area::Boot(slot)] });
        }
        key
    }

    /// Whether the slot holds one of the versions, boot files and root of the same.
    fn whole(&self, disk: &Card, slot: Slot) -> bool {
        let (mut boot, mut root) = (vec![0; BOOT], vec![0; ROOT]);
        for (area, into) in [(Area::Boot(slot), &mut boot), (Area::Root(slot), &mut root)] {
            disk.open(area, Access::Read).unwrap().read(0, into).unwrap();
        }
        self.images.iter().any(|image| image.0 == boot && image.1 == root)
    }

    /// Switches the machine on until it rests, and says what is wrong. Everything it wrote meanwhile, for cuts of that.
    pub fn judge(
        &self,
        content: Content,
        flag: bool,
        name: &'static str,
        bounds: &Bounds,
    ) -> (Result<(), String>, Vec<Event>) {
        let disk = Card::of(content);
        let board = Board::new(disk.clone(), self.chain, name, flag);
        let flow = board.flow(self.template.clone());
        let verdict = self.lives(&disk, &board, &flow, flag, bounds);
        (verdict, disk.take_events())
    }

    fn lives(
        &self,
        disk: &Card,
        board: &Arc<Board>,
        flow: &Arc<dyn BootFlow>,
        flag: bool,
        bounds: &Bounds,
    ) -> Result<(), String> {
        // A chip that remembers its flag was never without power.
        let mut why = if flag { ResetCause::Watchdog } else { ResetCause::PowerOn };
        for _ in 0..MOST_BOOTS {
            let slot = self.boots(disk, board, why)?;
            let mut ledger =
                Ledger::open(Arc::new(disk.clone()), flow.clone()).map_err(|error| format!("no record: {error}"))?;
            let (settled, done) = ledger.settle(&Here { now_ms: NOW_MS, ..Here::default() });
            done.map_err(|error| format!("{:?} could not be performed: {error}", settled.case))?;
            explained(ledger.state(), slot, &settled.standing, bounds)
                .map_err(|why| format!("{:?}: {why}", settled.case))?;
            let step = match &settled.standing {
                BootState::Restart(_) => {
                    why = ResetCause::Watchdog;
                    continue;
                }
                BootState::Normal | BootState::Interrupted | BootState::Walked | BootState::Armed => {
                    slots::healthy(ledger.state(), &flow.evidence(), &settled.standing, false, NOW_MS)
                }
                BootState::RolledBack => slots::judge_old(ledger.state(), &flow.evidence(), OldSystem::Online, NOW_MS),
                BootState::Trial(trial) => {
                    let seen = flow.evidence();
                    let step = slots::commit(ledger.state(), trial, &seen).map_err(|error| error.to_string())?;
                    ledger.perform(&step).map_err(|error| format!("commit: {error}"))?;
                    slots::committed(ledger.state(), &flow.evidence(), NOW_MS)
                }
                standing => return Err(format!("{:?} is {standing:?}", settled.case)),
            };
            let step = step.map_err(|error| format!("{:?}: {error}", settled.case))?;
            ledger.perform(&step).map_err(|error| format!("after {:?}: {error}", settled.case))?;
            if settled.standing == BootState::Armed {
                let step = slots::end_wait(ledger.state());
                ledger.perform(&step.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
                let step = slots::restarting(ledger.state(), &flow.evidence(), true, "", FREE, NOW_MS);
                ledger.perform(&step.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
                why = ResetCause::Watchdog;
                continue;
            }
            self.boots(disk, board, ResetCause::PowerOn)?;
            return Ok(());
        }
        Err(format!("it does not come to rest in {MOST_BOOTS} boots"))
    }

    fn boots(&self, disk: &Card, board: &Board, why: ResetCause) -> Result<Slot, String> {
        match board.restart(why) {
            Outcome::Nothing(why) => Err(format!("BRICK: {why}")),
            Outcome::Booted { slot, .. } if self.whole(disk, slot) => Ok(slot),
            Outcome::Booted { slot, .. } => Err(format!("BRICK: slot {slot} boots and is not whole")),
        }
    }
}

/// The record and what happened do not contradict each other.
fn explained(state: &StateRecord, running: Slot, standing: &BootState, bounds: &Bounds) -> Result<(), String> {
    let say = |why: &str| Err(format!("{why}: {state:?}"));
    if !(bounds.floors.0..=bounds.floors.1).contains(&state.counter_floor) {
        return say(&format!("the floor is not within {:?}", bounds.floors));
    }
    if !bounds.attempts.contains(&about(&state.last_attempt)) {
        return say(&format!("it tells of another attempt than {:?}", bounds.attempts));
    }
    match (&state.update, &state.last_attempt) {
        (Some(_), None) => return say("an update without an attempt"),
        (Some(update), Some(attempt)) => {
            let digest = update.manifest.map(|manifest| manifest.to_string()).unwrap_or_default();
            if digest != attempt.manifest_sha256 || update.target != attempt.target {
                return say("the attempt is another one than the update");
            }
            // A walk into the target is one of its boots and no arming; a fourth boot is condemned at once.
            if update.armings > MOST_ARMINGS || update.trials.len() > usize::from(MOST_ARMINGS) + 1 {
                return say("more armings than three");
            }
            if matches!(standing, BootState::Trial(_)) != (update.stage == Stage::Trial && update.target == running)
                && update.verdict.is_none()
            {
                return say("on trial or not");
            }
        }
        (None, Some(attempt)) => {
            let ended = matches!(attempt.phase, Phase::Committed | Phase::RolledBack | Phase::Failed);
            if !ended || attempt.finished_ms.is_none() {
                return say("nothing is pending, and the attempt has not ended");
            }
            if attempt.phase != Phase::Committed && attempt.reason.is_empty() {
                return say("it failed for no reason");
            }
        }
        (None, None) => {}
    }
    let record = state.slots.of(running).state;
    let fits = match standing {
        BootState::Trial(_) => record == SlotState::Trial,
        BootState::Walked | BootState::Restart(_) => true,
        _ => record == SlotState::Good,
    };
    if fits { Ok(()) } else { say(&format!("slot {running} runs as {standing:?}")) }
}
