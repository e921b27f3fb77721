//! Boards with U-Boot: `dist/boot/boot.cmd` chooses the slot and counts boots. Both sides share a state in two raw
//! copies.
//!
//! A writer takes the valid newer copy, changes it, increments its number and writes it over the other copy, so a torn
//! write leaves the old state. This flow writes nothing else.

mod state;

pub use state::{ALL_TRIES, COPY, UbootState, crc32, variables};

use super::{BootFlow, BootWitness, Evidence, Slot};
use crate::disk::{Access, Area, Disk};
use base::error::{ErrorCode, ToolError};
use std::sync::Arc;

/// The flow of boards with U-Boot.
pub struct Uboot {
    disk: Arc<dyn Disk>,
    witness: Arc<dyn BootWitness>,
}

/// Both copies, as read.
struct Copies {
    /// The newer valid one.
    holds: Option<UbootState>,
    /// The copy to be written next.
    older: u8,
    /// The largest number of a copy that U-Boot would accept, even when we cannot parse the rest.
    top: u64,
    faults: Vec<String>,
}

impl Uboot {
    pub fn new(disk: Arc<dyn Disk>, witness: Arc<dyn BootWitness>) -> Self {
        Self { disk, witness }
    }

    fn copies(&self) -> Result<Copies, ToolError> {
        let mut copies = Copies { holds: None, older: 0, top: 0, faults: Vec::new() };
        for number in 0..2 {
            let area = Area::UbootCopy(number);
            let copy = self.read(area)?;
            copies.top = copies.top.max(state::number(&copy));
            match UbootState::decode(&copy) {
                // Equal numbers: boot.cmd keeps the first as well.
                Ok(state) if copies.holds.is_none_or(|other| state.seq > other.seq) => {
                    copies.holds = Some(state);
                    copies.older = 1 - number;
                }
                Ok(_) => {}
                Err(why) => copies.faults.push(format!("{} does not hold: {why}", area.name())),
            }
        }
        Ok(copies)
    }

    fn read(&self, area: Area) -> Result<[u8; COPY], ToolError> {
        let mut copy = [0; COPY];
        let device = self.disk.open(area, Access::Read)?;
        device.read_back(0, &mut copy).map_err(|fault| card(area, "read", &fault))?;
        Ok(copy)
    }

    fn write(&self, number: u8, state: &UbootState) -> Result<(), ToolError> {
        let area = Area::UbootCopy(number);
        let device = self.disk.open(area, Access::Shared)?;
        let copy = state.encode();
        device.write(0, &copy).and_then(|()| device.flush()).map_err(|fault| card(area, "written", &fault))?;
        if self.read(area)? == copy {
            return Ok(());
        }
        let lost = format!("{} was written and reads back differently", area.name());
        Err(ToolError::new(ErrorCode::VerificationFailed, lost).hint("the card is failing: replace it"))
    }

    /// Writes `wanted` over the older copy, unless the state is that already.
    fn change(&self, wanted: impl FnOnce(UbootState) -> Result<UbootState, ToolError>) -> Result<(), ToolError> {
        let copies = self.copies()?;
        let state = copies.holds.unwrap_or(UbootState::LOST);
        let wanted = wanted(state)?;
        if wanted == state && copies.holds.is_some() && copies.faults.is_empty() {
            return Ok(());
        }
        let fits = |seq: &u64| i64::try_from(*seq).is_ok();
        match copies.top.checked_add(1).filter(fits) {
            Some(seq) if copies.holds.is_some() => self.write(copies.older, &UbootState { seq, ..wanted }),
            // Both are lost, or one has the largest possible number: both are rewritten in turn.
            seq => {
                let seq = seq.filter(|seq| fits(&(seq + 1))).unwrap_or(1);
                self.write(copies.older, &UbootState { seq, ..wanted })?;
                self.write(1 - copies.older, &UbootState { seq: seq + 1, ..wanted })
            }
        }
    }
}

impl BootFlow for Uboot {
    fn name(&self) -> &'static str {
        "uboot"
    }

    fn evidence(&self) -> Evidence {
        // Only its own state says whether this is a trial.
        let mut evidence = Evidence { trial: None, ..self.witness.seen().into() };
        match self.copies() {
            Ok(copies) => {
                evidence.faults.extend(copies.faults);
                if let Some(state) = copies.holds {
                    let armed = state.armed();
                    evidence.armed = armed;
                    evidence.default = Some(armed.map_or(state.first, Slot::other));
                    evidence.tries = Some(state.left);
                    let spent = |slot| armed == Some(slot) && state.left.of(slot) == 0;
                    evidence.trial = evidence.booted.map(spent);
                }
            }
            Err(error) => evidence.faults.push(error.into_message()),
        }
        evidence
    }

    fn arm(&self, target: Slot) -> Result<(), ToolError> {
        let booted = self.witness.seen().booted;
        if booted == Some(target) {
            return Err(ToolError::precondition(format!("slot {target} runs: a trial of it is over already"))
                .with("slot", target.name()));
        }
        self.change(|state| {
            let left = state.left.with(target, 1).with(target.other(), ALL_TRIES);
            Ok(UbootState { first: target, left, ..state })
        })
    }

    fn disarm(&self) -> Result<(), ToolError> {
        self.change(|state| match state.armed() {
            Some(tried) => {
                let left = state.left.with(tried, 0).with(tried.other(), ALL_TRIES);
                Ok(UbootState { first: tried.other(), left, ..state })
            }
            None => Ok(state),
        })
    }

    fn commit(&self, slot: Slot) -> Result<(), ToolError> {
        self.change(|state| Ok(UbootState { first: slot, left: state.left.with(slot, ALL_TRIES), ..state }))
    }

    fn trial_argument(&self) -> Option<&str> {
        None
    }
}

fn card(area: Area, what: &str, fault: &std::io::Error) -> ToolError {
    ToolError::unavailable(format!("{} cannot be {what}: {fault}", area.name()))
        .with("area", area.name())
        .hint("the card may be failing, or read-only: logs on the device say more")
}
