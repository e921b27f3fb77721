//! A board whose power fails: the real boot flows over a card in memory, and the models of both firmwares.

use super::card::Card;
use ::update::{
    boot::{BootFlow, BootWitness, ResetCause, Seen, Tryboot, Uboot, tryboot::TrybootFlag},
    disk::Layout,
    firmware::{Generation, Outcome, TrybootFirmware, UbootFirmware},
    simulated::SimulatedBootChain,
};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

pub fn layout() -> Layout {
    static LAYOUT: OnceLock<Layout> = OnceLock::new();
    LAYOUT.get_or_init(|| Layout::shipped().unwrap()).clone()
}

pub struct Board {
    pub disk: Card,
    chain: SimulatedBootChain,
    now: Mutex<Now>,
}

struct Now {
    firmware: TrybootFirmware,
    outcome: Outcome,
    boots: u32,
    name: &'static str,
    reset: ResetCause,
}

impl Board {
    /// Switched off. `name` begins its boot ids; `flag` is what its chip still remembers.
    pub fn new(disk: Card, chain: SimulatedBootChain, name: &'static str, flag: bool) -> Arc<Self> {
        let mut firmware = TrybootFirmware::new(layout(), Generation::Walks);
        firmware.flag = flag;
        let outcome = Outcome::Nothing("not switched on yet".into());
        Arc::new(Self {
            disk,
            chain,
            now: Mutex::new(Now { firmware, outcome, boots: 0, name, reset: ResetCause::PowerOn }),
        })
    }

    /// Comes up again; only a power cut clears the chip's flag.
    pub fn restart(&self, why: ResetCause) -> Outcome {
        let mut now = self.lock();
        if why == ResetCause::PowerOn {
            now.firmware.power_cut();
        }
        now.outcome = match self.chain {
            SimulatedBootChain::Tryboot => now.firmware.boot(&self.disk),
            SimulatedBootChain::Uboot => UbootFirmware.boot(&self.disk),
        };
        now.boots += 1;
        now.reset = why;
        now.outcome.clone()
    }

    pub fn flag(&self) -> bool {
        self.lock().firmware.flag
    }

    pub fn flow(self: &Arc<Self>, template: Option<PathBuf>) -> Arc<dyn BootFlow> {
        let disk = Arc::new(self.disk.clone());
        match self.chain {
            SimulatedBootChain::Uboot => Arc::new(Uboot::new(disk, self.clone())),
            SimulatedBootChain::Tryboot => {
                let chip = self.clone();
                let flag: TrybootFlag = Arc::new(move |on| {
                    chip.lock().firmware.flag = on;
                    Ok(())
                });
                Arc::new(Tryboot::new(disk, layout(), self.clone(), Some(flag)).with_template(template))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap()
    }
}

impl BootWitness for Board {
    fn seen(&self) -> Seen {
        let now = self.lock();
        let boot_id = Some(format!("{}-{}", now.name, now.boots));
        let seen = Seen { boot_id, reset: Some(now.reset), can_try: Some(true), ..Seen::default() };
        match &now.outcome {
            // The initramfs mounts the root that belongs to the boot files.
            Outcome::Booted { slot, trial, .. } => Seen {
                trial: Some(*trial).filter(|_| self.chain == SimulatedBootChain::Tryboot),
                booted: Some(*slot),
                root: Some(*slot),
                ..seen
            },
            Outcome::Nothing(_) => seen,
        }
    }
}
