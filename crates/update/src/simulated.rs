//! The simulated machine's boot chain: a real flow over a folder of files, and a firmware model that restarts it.

use super::boot::{
    BootFlow, BootWitness, Evidence, ResetCause, Seen, Tryboot, Uboot,
    fat::make,
    tryboot::{TrybootFlag, canonical},
    uboot::{ALL_TRIES, COPY, UbootState},
};
use crate::{
    Slot,
    boot::Tries,
    disk::{Access, Area, Disk, Layout},
    firmware::{Generation, Outcome, TrybootFirmware, UbootFirmware},
};
use base::error::ToolError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The simulated boot chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedBootChain {
    Tryboot,
    Uboot,
}

/// Makes a new id for every boot.
pub type BootIds = Box<dyn Fn() -> String + Send + Sync>;

/// A machine that restarts only when [`RestartableBoard::restart`] says so.
pub struct RestartableBoard {
    disk: Arc<dyn Disk>,
    chain: SimulatedBootChain,
    boot_ids: BootIds,
    now: Mutex<Now>,
}

struct Now {
    firmware: TrybootFirmware,
    outcome: Outcome,
    boot_id: String,
    reset: ResetCause,
}

impl RestartableBoard {
    /// Switches it on.
    pub fn power_on(disk: Arc<dyn Disk>, layout: Layout, chain: SimulatedBootChain, boot_ids: BootIds) -> Arc<Self> {
        let now = Now {
            firmware: TrybootFirmware::new(layout, Generation::Walks),
            outcome: Outcome::Nothing("not switched on yet".into()),
            boot_id: String::new(),
            reset: ResetCause::PowerOn,
        };
        let board = Arc::new(Self { disk, chain, boot_ids, now: Mutex::new(now) });
        board.restart(ResetCause::PowerOn);
        board
    }

    /// Restarts the machine with the card's content. Blocks: it reads the card.
    pub fn restart(&self, why: ResetCause) -> Outcome {
        let mut now = self.lock();
        if why == ResetCause::PowerOn {
            now.firmware.power_cut();
        }
        now.outcome = match self.chain {
            SimulatedBootChain::Tryboot => now.firmware.boot(&*self.disk),
            SimulatedBootChain::Uboot => UbootFirmware.boot(&*self.disk),
        };
        now.boot_id = (self.boot_ids)();
        now.reset = why;
        now.outcome.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BootWitness for RestartableBoard {
    fn seen(&self) -> Seen {
        let now = self.lock();
        let mut seen =
            Seen { boot_id: Some(now.boot_id.clone()), reset: Some(now.reset), can_try: Some(true), ..Seen::default() };
        match &now.outcome {
            Outcome::Booted { slot, trial, .. } => {
                seen.trial = Some(*trial).filter(|_| self.chain == SimulatedBootChain::Tryboot);
                seen.booted = Some(*slot);
                // The initramfs mounts the root that matches the boot files.
                seen.root = Some(*slot);
            }
            Outcome::Nothing(why) => seen.faults.push(format!("the simulated machine does not start: {why}")),
        }
        seen
    }
}

/// The flow of a simulated machine.
pub struct SimulatedFlow {
    pub board: Arc<RestartableBoard>,
    flow: Box<dyn BootFlow>,
}

impl SimulatedFlow {
    pub fn new(board: Arc<RestartableBoard>, layout: Layout) -> Self {
        let disk = board.disk.clone();
        let flow: Box<dyn BootFlow> = match board.chain {
            SimulatedBootChain::Uboot => Box::new(Uboot::new(disk, board.clone())),
            SimulatedBootChain::Tryboot => {
                let chip = board.clone();
                let flag: TrybootFlag = Arc::new(move |on| {
                    chip.lock().firmware.flag = on;
                    Ok(())
                });
                Box::new(Tryboot::new(disk, layout, board.clone(), Some(flag)))
            }
        };
        Self { board, flow }
    }
}

impl BootFlow for SimulatedFlow {
    fn name(&self) -> &'static str {
        "simulated"
    }
    fn evidence(&self) -> Evidence {
        self.flow.evidence()
    }
    fn arm(&self, target: Slot) -> Result<(), ToolError> {
        self.flow.arm(target)
    }
    fn disarm(&self) -> Result<(), ToolError> {
        self.flow.disarm()
    }
    fn commit(&self, slot: Slot) -> Result<(), ToolError> {
        self.flow.commit(slot)
    }
    fn trial_argument(&self) -> Option<&str> {
        self.flow.trial_argument()
    }
    fn bootloader_built(&self) -> Option<u64> {
        self.flow.bootloader_built()
    }
}

/// The areas of a simulated card, in bytes, at their minimum sizes.
pub fn areas(boot: u64, root: u64) -> [(Area, u64); 8] {
    [
        (Area::Config, 64 << 10),
        (Area::Boot(Slot::A), boot),
        (Area::Boot(Slot::B), boot),
        (Area::Root(Slot::A), root),
        (Area::Root(Slot::B), root),
        (Area::AgentState, 16 << 20),
        (Area::UbootCopy(0), COPY as u64),
        (Area::UbootCopy(1), COPY as u64),
    ]
}

/// A boot image of `size` bytes (at least 64 KiB) that both models accept: a kernel's header, and the files that name
/// it. It contains the version, so that two versions have different images.
///
/// # Errors
/// `invalid_argument` when the size is too small.
pub fn boot_image(size: usize, version: &str) -> Result<Vec<u8>, ToolError> {
    let mut kernel = vec![0; 4096];
    kernel[56..60].copy_from_slice(b"ARM\x64");
    let note = format!("simulated {version}");
    kernel[64..].iter_mut().zip(note.bytes()).for_each(|(place, byte)| *place = byte);
    let files: [(&str, &[u8]); 4] = [
        ("config.txt", b"kernel=kernel8.img\n"),
        ("kernel8.img", &kernel),
        ("slot.env", b"slot_kernel=Image\nslot_args=quiet\n"),
        ("Image", &kernel),
    ];
    make(size, &files).map_err(|full| ToolError::invalid(format!("no boot image of {size} bytes: {}", full.0)))
}

/// Writes a card as the factory does: both slots equal and bootable, both copies of U-Boot's state valid,
/// `autoboot.txt` on slot A. The agent's area is kept.
///
/// # Errors
/// Those of the disk (it must have all areas of [`areas`]), and `invalid_argument` for areas that are too small.
pub fn factory(disk: &dyn Disk, layout: &Layout, boot: &[u8], root: &[u8]) -> Result<(), ToolError> {
    let write = |area: Area, bytes: &[u8]| -> Result<(), ToolError> {
        let device = disk.open(area, Access::Shared)?;
        let done = device.write(0, bytes).and_then(|()| device.flush());
        done.map_err(|fault| ToolError::unavailable(format!("{} cannot be written: {fault}", area.name())))
    };
    for slot in Slot::BOTH {
        write(Area::Boot(slot), boot)?;
        write(Area::Root(slot), root)?;
    }
    let numbers = [Slot::A, Slot::B].map(|slot| layout.boot_number(slot).unwrap_or_default());
    let autoboot = canonical(numbers[0], numbers[1]);
    let size = disk.open(Area::Config, Access::Read)?.size();
    let config = make(usize::try_from(size).unwrap_or(usize::MAX), &[("autoboot.txt", autoboot.as_bytes())]);
    write(Area::Config, &config.map_err(|full| ToolError::invalid(full.0))?)?;
    for number in 0..2 {
        let state =
            UbootState { seq: u64::from(number) + 1, first: Slot::A, left: Tries { a: ALL_TRIES, b: ALL_TRIES } };
        let copy: [u8; COPY] = state.encode();
        write(Area::UbootCopy(number), &copy)?;
    }
    Ok(())
}
