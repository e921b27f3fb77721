//! What worked before: recorded by a healthy system just before the restart, and compared with the trial.

use super::Observations;
use crate::bundle::ServiceChanges;
use base::os::{if_there, whole};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

/// Longest file that is read, in bytes: some hundred names.
const MAX_FILE: u64 = 256 << 10;

/// What worked. Only that is recorded: a cable that was not plugged in before need not be now.
///
/// The release in the other slot may have written it, so unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The version in which this was recorded.
    pub version: String,
    /// Milliseconds since 1970 UTC.
    pub taken_ms: i64,
    pub interfaces: BTreeSet<String>,
    pub gateway: bool,
    pub channel: bool,
    pub units: BTreeSet<String>,
}

impl Baseline {
    /// The working parts of `look`.
    pub fn of(look: &Observations, version: &str, taken_ms: i64) -> Self {
        let good = |probes: &std::collections::BTreeMap<String, super::Probe>| {
            base::sort::set(probes.iter().filter(|(_, probe)| probe.is_ok()).map(|(name, _)| name.clone()))
        };
        Self {
            version: version.into(),
            taken_ms,
            interfaces: good(&look.interfaces),
            gateway: matches!(look.gateway, Some(Ok(()))),
            channel: matches!(look.channel, Some(Ok(()))),
            units: good(&look.units),
        }
    }

    /// What has to work in the trial of a release with these changes.
    #[must_use]
    pub fn changed(self, changes: &ServiceChanges) -> Self {
        Self { units: changes.applied(&self.units), ..self }
    }

    /// Whether no network worked: then the network says nothing about the new system either.
    pub fn was_offline(&self) -> bool {
        self.interfaces.is_empty() && !self.gateway && !self.channel
    }

    /// Loads the baseline in `file`; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, or has another version's format.
    pub fn load(file: &Path) -> io::Result<Option<Self>> {
        let mut text = Vec::new();
        let read = if_there(File::open(file).and_then(|open| open.take(MAX_FILE).read_to_end(&mut text)))?;
        read.map(|_| Ok(serde_json::from_slice(&text)?)).transpose()
    }

    /// Replaces `file` atomically.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, file: &Path) -> io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let text = serde_json::to_vec(self)?;
        whole::replace(file, 0o600, |open| open.write_all(&text))
    }
}
