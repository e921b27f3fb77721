//! Every moment at which the power can go, and what boots afterwards.

use super::{
    log::Event,
    overlay::{Overlay, SECTOR},
};
use std::{collections::BTreeMap, io, sync::Arc};
use update::{
    Slot,
    boot::{BootFlow, BootWitness, Seen, Tryboot, Uboot},
    disk::Layout,
    firmware::{Generation, Outcome, TrybootFirmware, UbootFirmware},
    slots::{Here, StateStore, settle, table::Case},
};

/// What starts the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    Uboot,
    Tryboot(Generation),
}

/// What came of all cuts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Between two writes, everything before is there.
    pub whole: u64,
    /// Of what was not flushed, some is there, some is not, some in parts.
    pub torn: u64,
    pub flushes: u64,
    pub writes: u64,
    /// How often each slot booted, with what it held and what the agent makes of it.
    pub outcomes: BTreeMap<String, u64>,
    /// Cuts after which the machine does not come up, or nobody can say why it is as it is: how many, and the first of each kind.
    pub bad: BTreeMap<String, (u64, String)>,
    pub bad_count: u64,
}

/// How a recording is cut.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub chain: Chain,
    /// Torn states tried for each stretch between two flushes.
    pub torn: u32,
    pub seed: u64,
    /// As if the program had never flushed: then there have to be bad cuts.
    pub ignore_flushes: bool,
}

/// Cuts `events` at every point.
pub fn cut(
    disk: &Overlay,
    layout: &Layout,
    plan: Plan,
    mut events: impl FnMut() -> io::Result<Option<Event>>,
) -> io::Result<Counts> {
    let mut run = Run { disk, layout, plan, counts: Counts::default(), dice: plan.seed | 1, at: 0 };
    // Written since the last flush. All of it is on the disk while it is collected, and taken back to be torn.
    let mut pending: Vec<Event> = Vec::new();
    run.judge(false)?;
    loop {
        let event = events()?;
        run.at += 1;
        match event {
            Some(Event::Flush) if plan.ignore_flushes => run.counts.flushes += 1,
            None | Some(Event::Flush) => {
                disk.back_to(0)?;
                run.tear(&pending)?;
                for event in pending.drain(..) {
                    apply(disk, &event)?;
                }
                disk.settle();
                if event.is_none() {
                    return Ok(run.counts);
                }
                run.counts.flushes += 1;
            }
            // The data partition: nothing that starts the machine is there.
            Some(Event::Write { at, ref bytes, .. }) if !disk.matters(at, bytes.len() as u64) => {}
            Some(Event::Discard { at, length }) if !disk.matters(at, length) => {}
            Some(write) => {
                run.counts.writes += 1;
                apply(disk, &write)?;
                run.judge(false)?;
                pending.push(write);
            }
        }
    }
}

fn apply(disk: &Overlay, event: &Event) -> io::Result<()> {
    match event {
        Event::Write { at, bytes, .. } => disk.put(*at, bytes),
        Event::Discard { at, length } => {
            let zeros = vec![0; 1 << 20];
            let mut done = 0;
            while done < *length {
                let part = (*length - done).min(zeros.len() as u64);
                disk.put(at + done, &zeros[..part as usize])?;
                done += part;
            }
            Ok(())
        }
        Event::Flush => Ok(()),
    }
}

struct Run<'a> {
    disk: &'a Overlay,
    layout: &'a Layout,
    plan: Plan,
    counts: Counts,
    dice: u64,
    /// Number of the event in the recording.
    at: u64,
}

impl Run<'_> {
    /// xorshift64*: enough to choose what is lost.
    fn roll(&mut self, sides: u64) -> u64 {
        self.dice ^= self.dice >> 12;
        self.dice ^= self.dice << 25;
        self.dice ^= self.dice >> 27;
        (self.dice.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
    }

    /// Of what was not flushed, whatever the card kept, in any order.
    fn tear(&mut self, pending: &[Event]) -> io::Result<()> {
        if pending.is_empty() {
            return Ok(());
        }
        for _ in 0..self.plan.torn {
            let mark = self.disk.mark();
            // Where the power goes, and of what was written until then, what is kept.
            let written = 1 + self.roll(pending.len() as u64) as usize;
            for event in &pending[..written] {
                self.keep_some(event)?;
            }
            self.judge(true)?;
            self.disk.back_to(mark)?;
        }
        Ok(())
    }

    fn keep_some(&mut self, event: &Event) -> io::Result<()> {
        let (at, bytes) = match event {
            Event::Write { at, bytes, durable: false } => (*at, bytes),
            durable => return apply(self.disk, durable),
        };
        match self.roll(4) {
            0 | 1 => apply(self.disk, event),
            2 => Ok(()),
            _ => {
                for (number, sector) in bytes.as_chunks::<SECTOR>().0.iter().enumerate() {
                    if self.roll(2) == 0 {
                        self.disk.put(at + (number * SECTOR) as u64, sector)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Switches the machine on with the disk as it is, and takes back what its firmware writes.
    fn judge(&mut self, torn: bool) -> io::Result<()> {
        *if torn { &mut self.counts.torn } else { &mut self.counts.whole } += 1;
        let mark = self.disk.mark();
        let verdict = self.verdict();
        self.disk.back_to(mark)?;
        match verdict {
            Ok(outcome) => *self.counts.outcomes.entry(outcome).or_default() += 1,
            Err(why) => {
                self.counts.bad_count += 1;
                let how = if torn { "torn" } else { "whole" };
                let first = || (0, format!("event {} ({how})", self.at));
                self.counts.bad.entry(why).or_insert_with(first).0 += 1;
            }
        }
        Ok(())
    }

    fn verdict(&self) -> Result<String, String> {
        let disk = Arc::new(self.disk.clone());
        let outcome = match self.plan.chain {
            Chain::Uboot => UbootFirmware.boot(self.disk),
            Chain::Tryboot(generation) => TrybootFirmware::new(self.layout.clone(), generation).boot(self.disk),
        };
        let (slot, trial) = match outcome {
            Outcome::Booted { slot, trial, .. } => (slot, trial),
            Outcome::Nothing(why) => return Err(format!("nothing boots: {why}")),
        };
        let version = self.disk.whole(slot).ok_or_else(|| format!("slot {slot} boots and is not whole"))?;
        // What the agent will make of it when it starts.
        let witness = Arc::new(Started { slot, trial: Some(trial).filter(|_| self.plan.chain != Chain::Uboot) });
        let evidence = match self.plan.chain {
            Chain::Uboot => Uboot::new(disk.clone(), witness).evidence(),
            Chain::Tryboot(_) => Tryboot::new(disk.clone(), self.layout.clone(), witness, None).evidence(),
        };
        let opened = StateStore::open(&*disk).map_err(|error| error.into_message())?;
        let case = settle(&opened.state, &evidence, &Here::default()).case;
        let unexplained = [Case::Elsewhere, Case::Halves, Case::HalvesInTrial, Case::TrialInDoubt, Case::Unrecorded];
        if unexplained.contains(&case) {
            return Err(format!(
                "slot {slot} ({version}) boots, and the agent does not know why: {case:?}, {evidence:?}"
            ));
        }
        Ok(format!("slot {slot}, {version}, {case:?}"))
    }
}

/// A machine that started this slot, boot files and root.
struct Started {
    slot: Slot,
    trial: Option<bool>,
}

impl BootWitness for Started {
    fn seen(&self) -> Seen {
        Seen {
            trial: self.trial,
            booted: Some(self.slot),
            root: Some(self.slot),
            boot_id: Some("after the cut".into()),
            ..Seen::default()
        }
    }
}
