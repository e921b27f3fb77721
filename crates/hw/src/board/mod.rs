//! Which board this is: asked of the configuration and the device tree, once, at start.
//!
//! The board decides about `hw/` and firmware only. Memory, uptime, disks and network are always this machine's own.

mod detect;
mod simulated;

pub use contract::config::BoardChoice as Choice;
pub use detect::Conflict;
pub use simulated::{Part, Simulated};

use super::gpio::{Hardware, Twin};
use super::model::{Kind, Profile, Revision, RevisionError};
use base::os::Root;
use std::sync::Arc;

/// The board this server runs on.
#[derive(Clone, Debug)]
pub struct Board {
    pub kind: Kind,
    /// Why it is of that kind, for `system.get_capabilities`.
    pub reason: String,
    /// The board's name: `Raspberry Pi 4 Model B Rev 1.4`.
    pub model: String,
    /// The board's serial number, where there is one that ordinary users may read.
    pub serial: Option<String>,
    /// The revision code as the kernel writes it, on Raspberry Pis.
    pub revision: Option<String>,
    /// What is known about this model; `None` for boards that are no Raspberry Pi and for models newer than this table.
    pub profile: Option<&'static Profile>,
    /// The state of a simulated board; a test holds another handle to it.
    pub simulated: Option<Arc<Simulated>>,
}

impl Board {
    /// The board that `choice` and the machine under `root` make. With `auto`: a Raspberry Pi where the device tree says
    /// so; a Linux board where there is another device tree and a GPIO chip, or an image with slots was started; else simulated.
    ///
    /// # Errors
    /// [`Conflict`] when the configuration names a Raspberry Pi and the device tree says otherwise.
    pub fn detect(choice: Choice, root: &Root) -> Result<Self, Conflict> {
        detect::detect(choice, root)
    }

    /// Its pins.
    pub fn pins(&self) -> Hardware {
        let twin = |board: &Arc<Simulated>| Twin { gpio: board.gpio.clone(), pwm: board.pwm.clone() };
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
