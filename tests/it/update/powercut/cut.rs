//! What a power cut can leave: what was flushed, and of each sector written after that any version, or half of one.

use super::{card::Event, life::Content};
use ::update::disk::Area;
use std::collections::BTreeMap;

pub const SECTOR: usize = 512;
type Bytes = [u8; SECTOR];

/// A sector that was written after the last flush.
struct Loose {
    area: Area,
    number: usize,
    /// What is on the medium, then every version written since; each with its sum.
    versions: Vec<(Bytes, u128)>,
}

/// A card in the middle of its life.
pub struct Cutter {
    pub content: Content,
    sums: BTreeMap<Area, u128>,
    loose: Vec<Loose>,
    places: BTreeMap<(Area, usize), usize>,
}

/// A way the loose sectors came out.
pub struct Fate {
    /// The version of each.
    versions: Vec<u8>,
    /// One of them is torn: the last half is garbage, or all of it.
    torn: Option<(usize, bool)>,
}

/// A state of the card, not yet made.
pub struct State<'a> {
    cutter: &'a Cutter,
    changed: Vec<(Area, usize, &'a Bytes)>,
    torn: Option<(Area, usize, Bytes)>,
    pub sums: BTreeMap<Area, u128>,
}

/// Seeded, and the same everywhere.
pub struct Dice(pub u64);

impl Dice {
    pub fn throw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    pub fn below(&mut self, limit: usize) -> usize {
        (self.throw() >> 11) as usize % limit.max(1)
    }
}

/// Of one sector at its place. Sums of sectors are put together with xor.
fn sum(area: Area, number: usize, bytes: &[u8]) -> u128 {
    let place = match area {
        Area::Config => 1,
        Area::Boot(slot) => 2 + slot as u128,
        Area::Root(slot) => 4 + slot as u128,
        Area::AgentState => 6,
        Area::UbootCopy(copy) => 7 + u128::from(copy),
        Area::Data => 9,
    };
    let mut sum = place << 64 ^ number as u128;
    for word in bytes.as_chunks::<16>().0 {
        sum = (sum ^ u128::from_le_bytes(*word)).wrapping_mul(0x2d35_8dcc_aa6c_78a5_8bb8_4b93_962e_acc9);
        sum ^= sum >> 61;
    }
    sum
}

pub fn area_sum(area: Area, bytes: &[u8]) -> u128 {
    bytes.chunks(SECTOR).enumerate().fold(0, |all, (number, bytes)| all ^ sum(area, number, bytes))
}

impl Cutter {
    pub fn new(content: Content) -> Self {
        let sums = content.iter().map(|(area, bytes)| (*area, area_sum(*area, bytes))).collect();
        Self { content, sums, loose: Vec::new(), places: BTreeMap::new() }
    }

    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Write { area, at, bytes } => {
                let mut at = *at as usize;
                let mut bytes = &bytes[..];
                while !bytes.is_empty() {
                    let (number, inside) = (at / SECTOR, at % SECTOR);
                    let length = bytes.len().min(SECTOR - inside);
                    self.write(*area, number, inside, &bytes[..length]);
                    bytes = &bytes[length..];
                    at += length;
                }
            }
            Event::Flush(area) => self.flush(*area),
        }
    }

    fn write(&mut self, area: Area, number: usize, inside: usize, bytes: &[u8]) {
        let content = &self.content[&area];
        let place = *self.places.entry((area, number)).or_insert_with(|| {
            let mut old = [0; SECTOR];
            old.copy_from_slice(&content[number * SECTOR..][..SECTOR]);
            self.loose.push(Loose { area, number, versions: vec![(old, sum(area, number, &old))] });
            self.loose.len() - 1
        });
        let versions = &mut self.loose[place].versions;
        let mut new = versions.last().unwrap().0;
        new[inside..][..bytes.len()].copy_from_slice(bytes);
        versions.push((new, sum(area, number, &new)));
    }

    fn flush(&mut self, flushed: Area) {
        let (out, loose) = std::mem::take(&mut self.loose).into_iter().partition(|loose: &Loose| loose.area == flushed);
        self.loose = loose;
        for Loose { area, number, versions } in out {
            let (new, new_sum) = versions.last().unwrap();
            self.content.get_mut(&area).unwrap()[number * SECTOR..][..SECTOR].copy_from_slice(new);
            *self.sums.get_mut(&area).unwrap() ^= versions[0].1 ^ new_sum;
        }
        let places = self.loose.iter().enumerate();
        self.places = places.map(|(place, loose)| ((loose.area, loose.number), place)).collect();
    }

    /// Sectors written since the last flush.
    pub fn loose(&self) -> usize {
        self.loose.len()
    }

    /// All fates when they are at most `many`, else as many: none and all of it, each single sector lost or alone, and thrown ones.
    pub fn fates(&self, many: usize, dice: &mut Dice) -> Vec<Fate> {
        let last: Vec<u8> = self.loose.iter().map(|loose| loose.versions.len() as u8 - 1).collect();
        let all = last.iter().try_fold(1_usize, |all, last| all.checked_mul(usize::from(*last) + 1));
        let plain = |versions| Fate { versions, torn: None };
        let mut fates = Vec::new();
        if let Some(all) = all.filter(|all| *all <= many) {
            for mut number in 0..all {
                let version = last.iter().map(|last| {
                    let version = number % (usize::from(*last) + 1);
                    number /= usize::from(*last) + 1;
                    version as u8
                });
                fates.push(plain(version.collect()));
            }
        } else {
            fates.extend([plain(vec![0; last.len()]), plain(last.clone())]);
            for turn in 0..many {
                let one = dice.below(last.len());
                let mut fate = last.clone();
                match turn % 8 {
                    0 => fate[one] = 0,
                    1 => {
                        fate = vec![0; last.len()];
                        fate[one] = last[one];
                    }
                    // Written in order up to somewhere, or up to there and a few more.
                    2 => fate[one..].fill(0),
                    share => {
                        for version in &mut fate {
                            if dice.below(8) < share {
                                *version = dice.below(usize::from(*version) + 1) as u8;
                            }
                        }
                    }
                }
                fates.push(plain(fate));
            }
        }
        for turn in 0..(many / 8).min(4 * last.len()) {
            let one = dice.below(last.len());
            let versions = if turn % 3 == 0 { vec![0; last.len()] } else { last.clone() };
            fates.push(Fate { versions, torn: Some((one, turn % 2 == 0)) });
        }
        fates
    }

    pub fn state(&self, fate: &Fate, dice: &mut Dice) -> State<'_> {
        let mut sums = self.sums.clone();
        let mut changed = Vec::new();
        let mut torn = None;
        for (place, loose) in self.loose.iter().enumerate() {
            let (area, number) = (loose.area, loose.number);
            let old = loose.versions[0].1;
            match fate.torn.filter(|(one, _)| *one == place) {
                Some((_, whole)) => {
                    let mut bytes = loose.versions.last().unwrap().0;
                    let garbage = if whole { &mut bytes[..] } else { &mut bytes[SECTOR / 2..] };
                    garbage.iter_mut().for_each(|byte| *byte = dice.throw() as u8);
                    *sums.get_mut(&area).unwrap() ^= old ^ sum(area, number, &bytes);
                    torn = Some((area, number, bytes));
                }
                None if fate.versions[place] > 0 => {
                    let (bytes, new) = &loose.versions[usize::from(fate.versions[place])];
                    *sums.get_mut(&area).unwrap() ^= old ^ new;
                    changed.push((area, number, bytes));
                }
                None => {}
            }
        }
        State { cutter: self, changed, torn, sums }
    }
}

impl State<'_> {
    /// Of the whole card.
    pub fn sum(&self) -> u128 {
        self.sums.values().fold(0, |all, sum| all ^ sum)
    }

    /// Whether the first sector of that area is all zero: then nothing at all starts from it.
    pub fn dead(&self, area: Area) -> bool {
        let first = |(there, number, _): &&(Area, usize, &Bytes)| *there == area && *number == 0;
        let torn = self.torn.as_ref().filter(|(there, number, _)| *there == area && *number == 0);
        match (torn, self.changed.iter().find(first)) {
            (Some((.., bytes)), _) => bytes == &[0; SECTOR],
            (None, Some((.., bytes))) => *bytes == &[0; SECTOR],
            (None, None) => self.cutter.content[&area][..SECTOR] == [0; SECTOR],
        }
    }

    fn written(&self) -> impl Iterator<Item = (Area, usize, &Bytes)> {
        let torn = self.torn.as_ref().map(|(area, number, bytes)| (*area, *number, bytes));
        self.changed.iter().copied().chain(torn)
    }

    pub fn make(&self) -> Content {
        let mut content = self.cutter.content.clone();
        for (area, number, bytes) in self.written() {
            content.get_mut(&area).unwrap()[number * SECTOR..][..SECTOR].copy_from_slice(bytes);
        }
        content
    }

    pub fn make_area(&self, area: Area) -> Vec<u8> {
        let mut content = self.cutter.content[&area].clone();
        for (_, number, bytes) in self.written().filter(|(there, ..)| *there == area) {
            content[number * SECTOR..][..SECTOR].copy_from_slice(bytes);
        }
        content
    }
}
