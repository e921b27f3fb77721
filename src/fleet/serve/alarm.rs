//! Which silent devices the owner has to hear of: each once, several together, also over a restart of this server.

use base::os::whole;
use std::{collections::BTreeSet, fs, io::Write, path::PathBuf, time::Duration};
use tokio::time::Instant;

/// Between two messages, at least: when a broker or a network fails, many devices become silent within minutes.
pub const EVERY: Duration = Duration::from_secs(600);
/// Names in one message, at most.
const NAMED: usize = 10;

/// Devices that became silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentDevices {
    /// The first ten, by name.
    pub names: Vec<String>,
    pub count: usize,
    /// Whether the broker delivers nothing: then it may be the reason.
    pub broker_away: bool,
}

/// What the owner of a fleet has to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetNews {
    Silent(SilentDevices),
    /// Two machines run with the identity of the device `name`: what was seen.
    Twins {
        name: String,
        what: String,
    },
}

/// What was told, and what is to be told.
pub struct Alarm {
    file: PathBuf,
    told: BTreeSet<String>,
    waiting: BTreeSet<String>,
    next: Option<Instant>,
    broker_away: bool,
}

impl Alarm {
    /// With what an earlier server wrote into `file`. A file that cannot be read means that some may be told again.
    pub fn new(file: PathBuf) -> Self {
        let told = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Self { file, told, waiting: BTreeSet::new(), next: None, broker_away: false }
    }

    /// A device is silent.
    pub fn add(&mut self, name: &str) {
        if !self.told.contains(name) {
            self.waiting.insert(name.to_owned());
        }
    }

    /// A device was heard: its next silence is told again.
    pub fn heard(&mut self, name: &str) {
        self.broker_away = false;
        self.waiting.remove(name);
        if self.told.remove(name) {
            self.save();
        }
    }

    /// The broker delivers nothing.
    pub fn broker_is_away(&mut self) {
        self.broker_away = true;
    }

    /// When the next message is due; `None` if nothing waits.
    pub fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.next.unwrap_or_else(Instant::now))
    }

    /// Tells what waits, if it is due.
    pub fn tell(&mut self, now: Instant, tell: impl FnOnce(SilentDevices)) {
        if self.waiting.is_empty() || self.next.is_some_and(|next| next > now) {
            return;
        }
        let names = self.waiting.iter().take(NAMED).cloned().collect();
        tell(SilentDevices { names, count: self.waiting.len(), broker_away: self.broker_away });
        self.told.append(&mut self.waiting);
        self.next = Some(now + EVERY);
        self.save();
    }

    fn save(&self) {
        let text = serde_json::to_vec(&self.told).unwrap_or_default();
        if let Err(error) = whole::replace(&self.file, 0o600, |to| to.write_all(&text)) {
            let file = self.file.display();
            tracing::warn!(%error, "{file} cannot be written; silent devices may be told again after a restart");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_silence_is_told_once_and_many_together() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("silent.json");
        let said = |alarm: &mut Alarm| {
            let mut said = None;
            alarm.tell(Instant::now(), |silent| said = Some(silent));
            said.map(|said| (said.names.join(" "), said.count, said.broker_away))
        };
        let mut alarm = Alarm::new(file.clone());
        assert_eq!((alarm.due(), said(&mut alarm)), (None, None));
        alarm.add("attic");
        assert!(alarm.due().is_some());
        assert_eq!(said(&mut alarm), Some(("attic".into(), 1, false)), "the first at once");
        (0..12).for_each(|number| alarm.add(&format!("d{number:02}")));
        alarm.add("attic");
        alarm.broker_is_away();
        assert_eq!(said(&mut alarm), None, "not ten minutes later");
        tokio::time::advance(EVERY).await;
        assert_eq!(said(&mut alarm), Some(("d00 d01 d02 d03 d04 d05 d06 d07 d08 d09".into(), 12, true)));
        // A server that is started again.
        let mut alarm = Alarm::new(file);
        alarm.add("attic");
        assert_eq!(alarm.due(), None);
        alarm.heard("attic");
        alarm.add("attic");
        assert_eq!(said(&mut alarm), Some(("attic".into(), 1, false)));
    }
}
