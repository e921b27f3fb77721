//! The power fails: at every write and flush of a machine's life, with what was not flushed dropped, torn or in another order, and again while it
//! recovers. Whatever is left, an intact slot boots, and the state explains what happened.

mod board;
pub mod card;
pub mod cut;
mod judge;
pub mod life;

use ::update::{Slot, boot::ResetCause, disk::Area, simulated::SimulatedBootChain};
use card::Event;
use cut::{Cutter, Dice};
use judge::{Bounds, Judge, about};
use life::{Life, Recording};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::Write,
    time::Instant,
};

/// Distinct states of each boot chain, at least: twice that in all.
const LEAST: usize = 55_000;
/// States of each cut, at most: of those in the middle of many writes, and of all others.
const MANY: [usize; 2] = [1100, 96];
/// Of each cut while it recovers from one.
const MANY_AGAIN: usize = 8;
/// What the boot ids of the machine are called after the first cut, and after those while it recovers.
const NAMES: [&str; 3] = ["cut", "again", "third"];
/// One recovery in so many is cut a third time.
const THIRD: usize = 16;
/// One state in so many is judged in full although one like it was.
const AUDIT: usize = 1000;

fn lives(chain: SimulatedBootChain) -> Vec<Recording> {
    let life = || Life::new(chain);
    let mut all = Vec::new();
    let mut add = |name, live: &dyn Fn(&mut Life)| {
        let mut life = life();
        live(&mut life);
        all.push(life.recorded(name));
    };
    add("install, trial, commit, then the same for the other slot", &|life| {
        life.install(2).trial().commit().healthy().starts(ResetCause::PowerOn).healthy();
        life.install(3).trial().commit().healthy();
    });
    add("a condemned trial, judged beside a healthy slot, and another version", &|life| {
        life.install(2).trial().condemn().judge_old(true).healthy().install(3).trial().commit();
    });
    add("a condemned trial, and the old slot offline as well", &|life| {
        life.install(2)
            .trial()
            .condemn()
            .judge_old(false)
            .starts(ResetCause::Watchdog)
            .network_returns()
            .trial()
            .commit();
    });
    add("three trials that die", &|life| {
        life.install(2).dead_trial().dead_trial().dead_trial();
    });
    add("an update that revokes, and a rollback that is none", &|life| {
        life.install(2).trial().commit().install_revoking(3).trial().commit().healthy();
    });
    add("a rollback", &|life| {
        life.install(2).trial().commit().roll_back().trial().commit().healthy();
    });
    add("an install in three parts", &|life| {
        life.install_some(2, 3).starts(ResetCause::PowerOn).install_some(2, 4).install(2).trial().commit();
    });
    add("armed, not tried, and replaced by another version", &|life| {
        life.install(2);
        if chain == SimulatedBootChain::Tryboot {
            life.starts(ResetCause::PowerOn);
        }
        life.install(3).trial().commit();
    });
    add("the committed slot rots, and is written anew", &|life| {
        life.install(2).trial().commit().rots(Area::Boot(Slot::B)).starts(ResetCause::PowerOn).healthy().install(3);
    });
    if chain == SimulatedBootChain::Uboot {
        add("U-Boot forgets", &|life| {
            life.install(2).trial().commit().healthy().install_some(3, 2);
            life.rots(Area::UbootCopy(0))
                .rots(Area::UbootCopy(1))
                .starts(ResetCause::PowerOn)
                .healthy()
                .install(3)
                .trial()
                .commit();
        });
    }
    all
}

/// A run of the model over one boot chain.
struct Model {
    judge: Judge,
    dice: Dice,
    states: HashSet<u128>,
    judged: HashMap<u128, bool>,
    cuts: usize,
    full: usize,
    wrong: Vec<String>,
}

/// Where a cut is.
struct At<'a> {
    told: &'a str,
    bounds: &'a Bounds,
    /// How many cuts there were before.
    depth: usize,
    /// Whether the chip remembers its flag: a reset, then, and no power cut.
    flag: bool,
    many: usize,
}

impl Model {
    fn new(judge: Judge) -> Self {
        let (states, judged) = (HashSet::new(), HashMap::new());
        Self { judge, dice: Dice(0x5eed_0000_0001), states, judged, cuts: 0, full: 0, wrong: vec![] }
    }

    /// Every fate of this cut.
    fn cut(&mut self, cutter: &Cutter, at: &At) {
        self.cuts += 1;
        for fate in cutter.fates(at.many, &mut self.dice) {
            let state = cutter.state(&fate, &mut self.dice);
            self.states.insert(state.sum() ^ u128::from(at.flag));
            let key = self.judge.key(&state, at.flag);
            let known = self.judged.get(&key).copied();
            if known.is_some() && self.dice.below(AUDIT) != 0 {
                continue;
            }
            self.full += 1;
            let content = state.make();
            let (verdict, events) = self.judge.judge(content.clone(), at.flag, NAMES[at.depth], at.bounds);
            if let Some(known) = known {
                assert_eq!(known, verdict.is_ok(), "states taken for alike are not: {}: {verdict:?}", at.told);
                continue;
            }
            self.judged.insert(key, verdict.is_ok());
            match verdict {
                Err(why) => self.wrong.push(format!("{}, cut {}: {why}", at.told, at.depth + 1)),
                // A third cut, of a share of the second ones.
                Ok(()) if at.depth == 0 || self.dice.below(THIRD) == 0 => self.recovery(content, &events, at),
                Ok(()) => {}
            }
        }
    }

    /// The power fails again while the machine recovers. What it does then goes further than what was known at the first cut.
    fn recovery(&mut self, content: life::Content, events: &[Event], at: &At) {
        let depth = at.depth + 1;
        if depth == NAMES.len() {
            return;
        }
        let bounds = Bounds { floors: (at.bounds.floors.0, u64::MAX), ..at.bounds.clone() };
        let mut cutter = Cutter::new(content);
        for event in events {
            cutter.apply(event);
            self.cut(&cutter, &At { told: at.told, bounds: &bounds, depth, flag: false, many: MANY_AGAIN });
        }
    }

    fn life(&mut self, life: &Recording) {
        let mut cutter = Cutter::new(life.start.clone());
        for (number, event) in life.events.iter().enumerate() {
            cutter.apply(event);
            let place = life.marks.iter().position(|mark| mark.events > number).unwrap();
            let after = &life.marks[place];
            // A boot after the commit records it: the floor may be ahead by that deed.
            let highest = if after.what == "commit" { life.marks[place + 1].floor } else { after.floor };
            let before = life.marks.iter().rfind(|mark| mark.events <= number);
            let bounds = Bounds {
                floors: (before.map_or(0, |mark| mark.floor), highest),
                attempts: vec![before.and_then(|mark| about(&mark.attempt)), about(&after.attempt)],
            };
            let told = format!("{:?}, {}, {}, event {number}", life.chain, life.name, after.what);
            let many = if cutter.loose() > 32 { MANY[0] } else { MANY[1] };
            let at = At { told: &told, bounds: &bounds, depth: 0, flag: false, many };
            self.cut(&cutter, &at);
            // A reset that is no power cut: what was flushed is there, and so is the flag. A start has used it up.
            let flagged = before.is_some_and(|mark| mark.flag) && !after.what.starts_with("start");
            if flagged && matches!(event, Event::Flush(_)) {
                self.cut(&cutter, &At { flag: true, ..at });
            }
        }
        // What a state should explain is another thing in another life.
        self.judged.clear();
    }
}

fn template() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&Life::new(SimulatedBootChain::Tryboot).recorded("").start[&Area::Config]).unwrap();
    file
}

/// Every life of that chain, cut everywhere.
fn whatever_is_cut(chain: SimulatedBootChain) {
    let (begun, template) = (Instant::now(), template());
    let mut model = Model::new(Judge::new(chain, Some(template.path().into())));
    lives(chain).iter().for_each(|life| model.life(life));
    let (states, seconds) = (model.states.len(), begun.elapsed().as_secs_f32());
    println!(
        "{chain:?}: {states} distinct states of {} cuts, {} judged in full, {seconds:.1} s",
        model.cuts, model.full
    );
    let mut kinds = BTreeMap::new();
    for wrong in &model.wrong {
        let kind = wrong.split(", event").next().unwrap_or_default();
        kinds.entry(kind).or_insert((0, wrong)).0 += 1;
    }
    assert!(kinds.is_empty(), "{} are wrong: {kinds:#?}", model.wrong.len());
    assert!(states >= LEAST, "{states} distinct states");
}

#[test]
fn whatever_is_cut_an_intact_slot_boots_and_the_state_explains_it_with_tryboot() {
    whatever_is_cut(SimulatedBootChain::Tryboot);
}

#[test]
fn whatever_is_cut_an_intact_slot_boots_and_the_state_explains_it_with_uboot() {
    whatever_is_cut(SimulatedBootChain::Uboot);
}

#[test]
fn without_flushes_the_same_model_finds_bricks() {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        let judge = Judge::new(chain, None);
        let mut dice = Dice(0x5eed_0000_0002);
        let life = lives(chain).swap_remove(0);
        let (mut cutter, mut bricks) = (Cutter::new(life.start.clone()), 0);
        for event in life.events.iter().filter(|event| matches!(event, Event::Write { .. })) {
            cutter.apply(event);
            for fate in cutter.fates(8, &mut dice) {
                let content = cutter.state(&fate, &mut dice).make();
                let (verdict, _) = judge.judge(content, false, "cut", &Bounds::default());
                bricks += u32::from(verdict.is_err_and(|why| why.starts_with("BRICK")));
            }
        }
        println!("{chain:?} without flushes: {bricks} bricks");
        assert!(bricks > 10, "{chain:?}: {bricks}");
    }
}
