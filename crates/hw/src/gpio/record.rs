//! The record of driven pins, which survives the server: a new server finds in it what a killed one may have left
//! driven, and puts it into its safe state.
//!
//! The kernel releases a killed process' lines, but whether such a line stays an output depends on its driver:
//! `pinctrl-bcm2835` makes it an input, unless `persist_gpio_outputs` is set, which is the default in Raspberry Pi's
//! kernels.

use crate::pwm::PwmChannelId;
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

/// The file and its content.
#[derive(Debug)]
pub struct OutputsFile {
    path: PathBuf,
    kept: Kept,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Kept {
    outputs: BTreeSet<u8>,
    /// Channels of hardware PWM, by pin. They continue after the process ends.
    pwm: BTreeMap<u8, PwmChannelId>,
}

/// What a killed server left.
#[derive(Debug, Default)]
pub struct Left {
    pub outputs: Vec<Pin>,
    pub waves: Vec<(Pin, PwmChannelId)>,
}

impl OutputsFile {
    /// In the folder for runtime data, because nothing is driven after a restart of the machine. A second server of the
    /// same user has a separate state folder ([`raspi_mcp::instance`]), and a record named after it.
    pub fn new(places: &PlaceSettings) -> Self {
        let instance = places.state_dir.file_name().and_then(|name| name.to_str());
        let name = match instance.filter(|name| name.starts_with("instance-")) {
            Some(instance) => format!("lines-{instance}.json"),
            None => "lines.json".into(),
        };
        Self { path: places.runtime_dir.join(name), kept: Kept::default() }
    }

    /// What the previous server drove when it was killed; nothing after a normal stop. It stays in the record until it
    /// is released. An unreadable record is logged and treated as empty.
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

    /// Records that a pin is about to be driven.
    ///
    /// # Errors
    /// When that cannot be written: then the pin must not be driven.
    pub fn driven(&mut self, pin: Pin) -> io::Result<()> {
        let mut next = self.kept.clone();
        if next.outputs.insert(pin.bcm()) { self.replace(next) } else { Ok(()) }
    }

    /// Records that a channel is about to run for a pin.
    ///
    /// # Errors
    /// When that cannot be written: then the channel must not run.
    pub fn waves(&mut self, pin: Pin, slot: &PwmChannelId) -> io::Result<()> {
        let mut next = self.kept.clone();
        next.pwm.insert(pin.bcm(), slot.clone());
        if next == self.kept { Ok(()) } else { self.replace(next) }
    }

    /// Records that a pin is no longer driven. A stale entry does no harm.
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
            let new = whole::staged(&self.path);
            let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(&serde_json::to_vec(&next)?)?;
            // A tmpfs needs no sync.
            fs::rename(&new, &self.path)?;
        }
        self.kept = next;
        Ok(())
    }
}

fn known(pin: u8) -> Option<Pin> {
    Pin::try_from(u64::from(pin)).ok()
}
