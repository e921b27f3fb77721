//! What happens to one device in two years, from its seed.

use super::super::HOUR;
use std::time::Duration;

pub const DAYS: u64 = 730;
const RELEASES: u64 = 20;
const SICK: u64 = 3;
const ROTATIONS: u64 = 6;
/// Of everything that happens to the device itself, at least.
const MISHAPS: u64 = 40;

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From 0 to `most` - 1.
    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The publisher's release of that number.
    Release {
        number: u64,
        sick: bool,
    },
    /// A new root of trust.
    Rotation,
    /// The publisher signs its index anew.
    Signed,
    PowerCut,
    /// Without power for that time.
    Night(Duration),
    /// The power fails each time the machine has been on for that long, so often.
    Flickers(u64, Duration),
    OutageBegins,
    OutageEnds,
    /// A check that the owner configured fails from now on.
    CheckFails,
    CheckSucceeds,
    /// A factory reset, or a restore on a new card.
    DataLost,
    /// What partition 7 has cannot be read any more.
    StateLost,
    /// The channel's files have another address.
    ChannelMoves,
    /// From Wi-Fi to cable.
    NetworkMoves,
    ServerRestarts,
    /// It starts with a clock that is so many hours ahead, or behind.
    ClockWrong(i64),
    ClockSet,
}

/// All of it with the hour at which it happens, in order.
pub fn of(random: &mut Random) -> Vec<(u64, Event)> {
    let mut all = Vec::new();
    let hours = DAYS * 24;
    let mut sick = Vec::new();
    while sick.len() < SICK as usize {
        // The first and the last are good.
        let number = 2 + random.below(RELEASES - 2);
        if !sick.contains(&number) {
            sick.push(number);
        }
    }
    for number in 1..=RELEASES {
        let at = (number - 1) * hours / RELEASES + random.below(hours / RELEASES * 3 / 4);
        all.push((at, Event::Release { number, sick: sick.contains(&number) }));
    }
    for rotation in 0..ROTATIONS {
        all.push((rotation * hours / ROTATIONS + random.below(hours / ROTATIONS), Event::Rotation));
    }
    all.extend((1..DAYS / 20).map(|month| (month * 20 * 24, Event::Signed)));
    for _ in 0..MISHAPS {
        let (at, long) = (random.below(hours), 1 + random.below(72));
        match random.below(14) {
            0 => all.push((at, Event::PowerCut)),
            1 => all.push((at, Event::Night(HOUR * u32::try_from(long).unwrap()))),
            2 => all.push((at, Event::Flickers(2 + random.below(25), Duration::from_secs(20 + random.below(600))))),
            3 | 4 => all.extend([(at, Event::OutageBegins), (at + long, Event::OutageEnds)]),
            5 => all.push((at, Event::DataLost)),
            6 => all.push((at, Event::StateLost)),
            7 => all.push((at, Event::ChannelMoves)),
            8 => all.push((at, Event::NetworkMoves)),
            9 => all.extend([
                (at, Event::ClockWrong(-1 - i64::try_from(random.below(60 * 24)).unwrap())),
                (at + long, Event::ClockSet),
            ]),
            10 => all.extend([
                (at, Event::ClockWrong(1 + i64::try_from(random.below(800 * 24)).unwrap())),
                (at + long, Event::ClockSet),
            ]),
            11 | 12 => all.extend([(at, Event::CheckFails), (at + long, Event::CheckSucceeds)]),
            _ => all.push((at, Event::ServerRestarts)),
        }
    }
    // Around each release something happens that its install, its restart or its trial may meet.
    let releases: Vec<u64> =
        all.iter().filter(|(_, event)| matches!(event, Event::Release { .. })).map(|(at, _)| *at).collect();
    for at in releases {
        let soon = at + random.below(30);
        match random.below(7) {
            0 => all.push((soon, Event::PowerCut)),
            1 => all.push((soon, Event::Flickers(1 + random.below(6), Duration::from_secs(20 + random.below(600))))),
            2 => all.extend([(soon, Event::OutageBegins), (soon + 1 + random.below(48), Event::OutageEnds)]),
            3 => all.push((soon, Event::NetworkMoves)),
            4 => all.extend([(soon, Event::CheckFails), (soon + 1 + random.below(48), Event::CheckSucceeds)]),
            _ => {}
        }
    }
    all.sort_by_key(|(at, _)| *at);
    all
}
