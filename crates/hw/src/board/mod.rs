//! The board, determined once at start from the configuration and the device tree.
//!
//! The board determines `hw/` and firmware only. Memory, uptime, disks and network are always this machine's own.

mod detect;
mod simulated;

pub use contract::config::BoardChoice as Choice;
pub use detect::Conflict;
pub use simulated::{BoardPart, SimulatedBoard};

use super::gpio::{Hardware, Twin};
use super::model::{BoardKind, BoardProfile, Revision, RevisionError};
use base::os::Root;
use std::sync::Arc;

/// The board this server runs on.
#[derive(Clone, Debug)]
pub struct Board {
    pub kind: BoardKind,
    /// Why this kind was chosen, for `system.get_capabilities`.
    pub reason: String,
    /// The board's name: `Raspberry Pi 4 Model B Rev 1.4`.
    pub model: String,
    /// The board's serial number, if ordinary users may read it.
    pub serial: Option<String>,
    /// The revision code as the kernel prints it, on Raspberry Pis.
    pub revision: Option<String>,
    /// The model's data; `None` for boards other than Raspberry Pis and for models newer than this table.
    pub profile: Option<&'static BoardProfile>,
    /// The state of a simulated board; tests hold another handle to it.
    pub simulated: Option<Arc<SimulatedBoard>>,
}

impl Board {
    /// Determines the board from `choice` and the machine under `root`. With `auto`: a Raspberry Pi if the device tree
    /// says so; a Linux board if there is another device tree and a GPIO chip, or the image has slots; otherwise
    /// simulated.
    ///
    /// # Errors
    /// [`Conflict`] when the configuration names a Raspberry Pi and the device tree disagrees.
    pub fn detect(choice: Choice, root: &Root) -> Result<Self, Conflict> {
        detect::detect(choice, root)
    }

    /// Its pins.
    pub fn pins(&self) -> Hardware {
        let twin = |board: &Arc<SimulatedBoard>| Twin { gpio: board.gpio.clone(), pwm: board.pwm.clone() };
        Hardware { kind: self.kind, profile: self.profile, simulated: self.simulated.as_ref().map(twin) }
    }

    /// Whether its answers must be marked as simulated.
    pub fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// The decoded revision code.
    ///
    /// # Errors
    /// When there is a code and it cannot be decoded.
    pub fn decoded_revision(&self) -> Option<Result<Revision, RevisionError>> {
        self.revision.as_deref().map(str::parse)
    }
}
