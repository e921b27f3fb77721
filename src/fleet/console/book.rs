//! What is known of each device: the newest status that its agent signed, and what was refused.
//!
//! A status counts only if its subject, its name, the registry's key and id, and the fleet fit, and its sequence rises. Who
//! delivered it does not matter.

use super::folder::{FleetFolder, KnownDevice};
use fleet_protocol::{
    expected::Expected,
    signed,
    status::{MAX_MESSAGE, PURPOSE, Status},
    subject::Subjects,
};
use std::collections::{BTreeMap, HashMap};

/// Subjects about which refusals are kept, at most; the number of all is kept beyond it.
const REFUSALS: usize = 1_000;

/// A status that counts.
#[derive(Debug)]
pub struct AcceptedStatus {
    pub document: Status,
    /// When the broker received it, in ms by its clock.
    pub heard_ms: i64,
}

/// Statuses that were refused under one subject.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedStatus {
    /// Why the last one was.
    pub why: String,
    /// The device of this fleet that signed it, if it is another than the subject names.
    pub by: Option<String>,
    pub count: u64,
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is the newest of this device.
    Newer(String),
    /// It was known, or is about a revoked device.
    Ignored,
    /// It is a lie or a replay; under which subject.
    Refused(String),
}

/// The table of a fleet.
pub struct StatusBook {
    fleet: String,
    subjects: Subjects,
    devices: BTreeMap<String, (KnownDevice, Option<AcceptedStatus>)>,
    /// Names by the device's id: to find out who signed a lie.
    ids: HashMap<String, String>,
    /// The newest sequence of an earlier console, by the device's id.
    seen: BTreeMap<String, u64>,
    refused: BTreeMap<String, RefusedStatus>,
}

impl StatusBook {
    pub fn new(folder: &FleetFolder, seen: BTreeMap<String, u64>) -> Self {
        Self {
            fleet: folder.name.clone(),
            subjects: Subjects::of(&folder.name),
            devices: folder.devices.iter().map(|(name, device)| (name.clone(), (device.clone(), None))).collect(),
            ids: folder.devices.values().map(|device| (device.device.clone(), device.name.clone())).collect(),
            seen,
            refused: BTreeMap::new(),
        }
    }

    /// Takes a message of the stream of statuses.
    pub fn take(&mut self, subject: &str, payload: &[u8], heard_ms: i64) -> Taken {
        match self.judge(subject, payload) {
            Ok(None) => Taken::Ignored,
            Ok(Some(document)) => {
                let name = document.name.clone();
                if let Some((_, status)) = self.devices.get_mut(&name) {
                    *status = Some(AcceptedStatus { document, heard_ms });
                }
                Taken::Newer(name)
            }
            Err((why, by)) => {
                let key = self.subjects.sender(subject).unwrap_or(subject).to_owned();
                if self.refused.len() < REFUSALS || self.refused.contains_key(&key) {
                    let count = self.refused.get(&key).map_or(1, |refused| refused.count + 1);
                    self.refused.insert(key.clone(), RefusedStatus { why, by, count });
                }
                Taken::Refused(key)
            }
        }
    }

    /// The document if it is newer; `None` if it is known. Otherwise why it is refused, and who signed it.
    fn judge(&self, subject: &str, payload: &[u8]) -> Result<Option<Status>, (String, Option<String>)> {
        let no = |why: String| (why, None);
        let name = self.subjects.sender(subject).ok_or_else(|| no("the subject names no device".into()))?;
        let (device, last) =
            self.devices.get(name).ok_or_else(|| no("no device of this name is in the registry".into()))?;
        if device.revoked {
            return Ok(None);
        }
        let last = last.as_ref().map(|last| last.document.sequence);
        let newest = last.max(self.seen.get(&device.device).copied());
        let expected = Expected {
            fleet: &self.fleet,
            name,
            key: &device.key,
            device: &device.device,
            // The last one may come again: the stream is read from its beginning after every loss of the connection.
            after: newest.unwrap_or_default().saturating_sub(1),
        };
        let document: Status =
            expected.read(payload).map_err(|error| (error.message.clone(), self.signer(payload, name)))?;
        Ok((Some(document.sequence) != last).then_some(document))
    }

    /// Which other device of the fleet signed this.
    fn signer(&self, payload: &[u8], except: &str) -> Option<String> {
        let text = signed::unverified(payload)?;
        let id = serde_json::from_str::<serde_json::Value>(text).ok()?["device"].as_str()?.to_owned();
        let name = self.ids.get(&id).filter(|name| *name != except)?;
        let (device, _) = self.devices.get(name)?;
        signed::verified(PURPOSE, payload, MAX_MESSAGE, &device.key).ok().map(|_| name.clone())
    }

    /// The devices that are not revoked, with their newest status, by name.
    pub fn devices(&self) -> impl Iterator<Item = (&KnownDevice, Option<&AcceptedStatus>)> {
        self.devices.values().filter(|(device, _)| !device.revoked).map(|(device, status)| (device, status.as_ref()))
    }

    /// One of them.
    pub fn device(&self, name: &str) -> Option<(&KnownDevice, Option<&AcceptedStatus>)> {
        let (device, status) = self.devices.get(name)?;
        (!device.revoked).then_some((device, status.as_ref()))
    }

    /// What was refused, by the name in the subject.
    pub fn refused(&self) -> &BTreeMap<String, RefusedStatus> {
        &self.refused
    }

    /// The newest sequence of each device, by its id.
    pub fn sequences(&self) -> BTreeMap<String, u64> {
        let newest = |(device, status): &(KnownDevice, Option<AcceptedStatus>)| {
            status.as_ref().map(|status| (device.device.clone(), status.document.sequence))
        };
        self.devices.values().filter_map(newest).collect()
    }
}
