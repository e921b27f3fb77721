//! What this server drives, kept where it survives the server: whoever starts after one that was killed finds there what
//! may still be driven, and puts it right.
//!
//! The kernel lets go of a killed process' lines, but whether such a line stays an output is its driver's business:
//! `pinctrl-bcm2835` makes it an input, unless `persist_gpio_outputs` is set, as it is by default in Raspberry Pi's kernels.

use crate::pwm::Slot;
use base::os::whole;
use contract::{config::PlaceSettings, values::Pin};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
};

/// The file, and what it says.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    kept: Kept,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Kept {
    outputs: BTreeSet<u8>,
    /// Channels of hardware PWM, by their pins. The kernel lets them run on.
    pwm: BTreeMap<u8, Slot>,
}

/// What a server that was killed has left.
#[derive(Debug, Default)]
pub struct Left {
    pub outputs: Vec<Pin>,
    pub waves: Vec<(Pin, Slot)>,
}

impl Record {
    /// In the folder for what ends with the machine: after a restart of that, nothing is driven. A second server of the same
    /// user has a state folder of its own ([`raspi_mcp::instance`]), and a record by its name.
    pub fn new(places: &PlaceSettings) -> Self {
        let instance = places.state_dir.file_name().and_then(|name| name.to_str());
        let name = match instance.filter(|name| name.starts_with("instance-")) {
            Some(instance) => format!("lines-{instance}.json"),
            None => "lines.json".into(),
        };
        Self { path: places.runtime_dir.join(name), kept: Kept::default() }
    }

    /// What the server before drove when it was killed; nothing after one that stopped. It stays in the record until it is let
    /// go of. What cannot be understood is told, and counts as nothing.
    pub fn left(&mut self) -> Left {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%error, path = %self.path.display(), "cannot be read: lines may still be driven");
                }
                return Left::default();
            }
        };
        match serde_json::from_slice::<Kept>(&text) {
            Ok(kept) => {
                self.kept = kept.clone();
                Left {
                    outputs: kept.outputs.into_iter().filter_map(known).collect(),
                    waves: kept.pwm.into_iter().filter_map(|(pin, slot)| Some((known(pin)?, slot))).collect(),
                }
            }
            Err(error) => {
                tracing::warn!(%error, path = %self.path.display(), "is no record: lines may still be driven");
                Left::default()
            }
        }
    }

    /// Notes that a pin is about to be driven.
    ///
    /// # Errors
    /// When that cannot be written: then the pin is better not driven.
    pub fn driven(&mut self, pin: Pin) -> io::Result<()> {
        let mut next = self.kept.clone();
        if next.outputs.insert(pin.bcm()) { self.replace(next) } else { Ok(()) }
    }

    /// Notes that a channel is about to run for a pin.
    ///
    /// # Errors
    /// When that cannot be written: then it is better not to.
    pub fn waves(&mut self, pin: Pin, slot: &Slot) -> io::Result<()> {
        let mut next = self.kept.clone();
        next.pwm.insert(pin.bcm(), slot.clone());
        if next == self.kept { Ok(()) } else { self.replace(next) }
    }

    /// Notes that a pin is driven no longer. One too many in the record does no harm.
    pub fn let_go(&mut self, pin: Pin) {
        let mut next = self.kept.clone();
        let output = next.outputs.remove(&pin.bcm());
        let wave = next.pwm.remove(&pin.bcm()).is_some();
        if (output || wave)
            && let Err(error) = self.replace(next)
        {
            tracing::warn!(%error, path = %self.path.display(), "cannot be written");
        }
    }

    fn replace(&mut self, next: Kept) -> io::Result<()> {
        if next == Kept::default() {
            whole::remove(&self.path)?;
        } else {
            if let Some(folder) = self.path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let new = self.path.with_extension("new");
            let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(&serde_json::to_vec(&next)?)?;
            // In memory (tmpfs): there is nothing to sync it to.
            fs::rename(&new, &self.path)?;
        }
        self.kept = next;
        Ok(())
    }
}

fn known(pin: u8) -> Option<Pin> {
    Pin::try_from(u64::from(pin)).ok()
}
