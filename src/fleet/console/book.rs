//! What is known of each device: the newest status that its agent signed, and what was refused; and whether a message of its
//! log counts.
//!
//! A message counts only if its subject, its name, the registry's key and id, and the fleet fit; a status only if its sequence
//! rises. Who delivered it does not matter.

use super::{
    clones::{self, CloneSeen, Starts},
    folder::{FleetFolder, KnownDevice},
};
use fleet_protocol::{
    expected::{Expected, FromDevice},
    log::LogMessage,
    signed,
    status::Status,
    subject::Subjects,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Subjects about which refusals are kept, at most; the number of all is kept beyond it.
const REFUSALS: usize = 1_000;

/// A status that counts.
#[derive(Debug)]
pub struct AcceptedStatus {
    pub document: Status,
    /// When the broker received it, in ms by its clock.
    pub heard_ms: i64,
    /// The last time that another machine was heard with its identity.
    pub clone_seen: Option<CloneSeen>,
}

/// Messages that were refused under one subject.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedMessage {
    /// Why the last one was.
    pub why: String,
    /// The device of this fleet that signed it, if it is another than the subject names.
    pub by: Option<String>,
    pub count: u64,
}

/// Why a message is refused, and which other device signed it.
type Lie = (String, Option<String>);

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is the newest of this device.
    Newer(String),
    /// Another machine signs with this device's key. Whether that is news.
    Clone(String, bool),
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
    /// Sequences of log messages that were read, with the device's name.
    logged: HashSet<(String, u64)>,
    starts: Starts,
    refused: BTreeMap<String, RefusedMessage>,
}

impl StatusBook {
    pub fn new(folder: &FleetFolder, seen: BTreeMap<String, u64>) -> Self {
        Self {
            fleet: folder.name.clone(),
            subjects: Subjects::of(&folder.name),
            devices: folder.devices.iter().map(|(name, device)| (name.clone(), (device.clone(), None))).collect(),
            ids: folder.devices.values().map(|device| (device.device.clone(), device.name.clone())).collect(),
            seen,
            logged: HashSet::new(),
            starts: Starts::default(),
            refused: BTreeMap::new(),
        }
    }

    /// Takes a message of the stream of statuses.
    pub fn take(&mut self, subject: &str, payload: &[u8], heard_ms: i64) -> Taken {
        match self.judge(subject, payload) {
            Ok(None) => Taken::Ignored,
            Ok(Some(document)) => {
                let name = document.name.clone();
                let Some((_, status)) = self.devices.get_mut(&name) else { return Taken::Ignored };
                let last = status.take();
                let clone = self.starts.newer(last.as_ref().map(|last| &last.document), &document, heard_ms);
                let known = last.and_then(|last| last.clone_seen);
                let news = clone.as_ref().map(|clone| clone.is_news(known.as_ref()));
                *status = Some(AcceptedStatus { document, heard_ms, clone_seen: clone.or(known) });
                news.map_or(Taken::Newer(name.clone()), |news| Taken::Clone(name, news))
            }
            Err((why, by)) => {
                // Perhaps everything is right but its number.
                let other = self.read::<Status>(subject, payload, |_| 0).ok().flatten();
                if let Some((name, news)) = other.as_ref().and_then(|other| self.clone_seen(other, heard_ms)) {
                    return Taken::Clone(name, news);
                }
                let why = other.and_then(|other| self.older_card(&other)).unwrap_or(why);
                Taken::Refused(self.refuse(subject, (why, by)))
            }
        }
    }

    /// The device of a status that does not count, if another machine sent it, and whether that is news.
    fn clone_seen(&mut self, other: &Status, heard_ms: i64) -> Option<(String, bool)> {
        let (_, status) = self.devices.get_mut(&other.name)?;
        let newest = status.as_mut()?;
        let clone = clones::not_newer(&newest.document, other, heard_ms)?;
        let news = clone.is_news(newest.clone_seen.as_ref());
        newest.clone_seen = Some(clone);
        Some((other.name.clone(), news))
    }

    /// The reason to refuse a status of an older card, where only the number of the newest is known: a broker keeps one
    /// status of each device.
    fn older_card(&self, other: &Status) -> Option<String> {
        clones::of_older_card(*self.seen.get(&other.device)?, other).map(|clone| clone.sentence())
    }

    /// Takes a message of the stream of logs: `None` for one that was read, that is about a revoked device, or that was
    /// refused. A device sends a message again when it does not know whether the broker has it.
    pub fn take_log(&mut self, subject: &str, payload: &[u8]) -> Option<LogMessage> {
        match self.read::<LogMessage>(subject, payload, |_| 0) {
            Ok(message) => message.filter(|it| self.logged.insert((it.name.clone(), it.sequence))),
            Err(lie) => {
                self.refuse(subject, lie);
                None
            }
        }
    }

    /// Keeps a refusal, by the name in the subject.
    fn refuse(&mut self, subject: &str, (why, by): Lie) -> String {
        let key = self.subjects.sender(subject).unwrap_or(subject).to_owned();
        if let Some((device, _)) = self.devices.get_mut(&key) {
            device.refused = Some(why.clone());
        }
        if self.refused.len() < REFUSALS || self.refused.contains_key(&key) {
            let count = self.refused.get(&key).map_or(1, |refused| refused.count + 1);
            self.refused.insert(key.clone(), RefusedMessage { why, by, count });
        }
        key
    }

    /// The status if it is newer; `None` if it is known, or about a revoked device.
    fn judge(&self, subject: &str, payload: &[u8]) -> Result<Option<Status>, Lie> {
        let last = self.subjects.sender(subject).and_then(|name| self.devices.get(name)?.1.as_ref());
        let last = last.map(|last| last.document.sequence);
        // The last one may come again: the stream is read from its beginning after every loss of the connection.
        let after = |seen: Option<u64>| last.max(seen).unwrap_or_default().saturating_sub(1);
        let document = self.read::<Status>(subject, payload, after)?;
        Ok(document.filter(|document| Some(document.sequence) != last))
    }

    /// A message that its device signed; `None` if that is revoked. `after`: which sequence it has to be above, by the
    /// newest one that an earlier console has seen.
    fn read<T: FromDevice>(
        &self,
        subject: &str,
        payload: &[u8],
        after: impl Fn(Option<u64>) -> u64,
    ) -> Result<Option<T>, Lie> {
        let no = |why: String| (why, None);
        let name = self.subjects.sender(subject).ok_or_else(|| no("the subject names no device".into()))?;
        let (device, _) =
            self.devices.get(name).ok_or_else(|| no("no device of this name is in the registry".into()))?;
        if device.revoked {
            return Ok(None);
        }
        let expected = Expected {
            fleet: &self.fleet,
            name,
            key: &device.key,
            device: &device.device,
            after: after(self.seen.get(&device.device).copied()),
        };
        let document = expected.read(payload).map_err(|error| (error.message.clone(), self.signer::<T>(payload, name)));
        document.map(Some)
    }

    /// Which other device of the fleet signed this.
    fn signer<T: FromDevice>(&self, payload: &[u8], except: &str) -> Option<String> {
        let text = signed::unverified(payload)?;
        let id = serde_json::from_str::<serde_json::Value>(text).ok()?["device"].as_str()?.to_owned();
        let name = self.ids.get(&id).filter(|name| *name != except)?;
        let (device, _) = self.devices.get(name)?;
        signed::verified(T::PURPOSE, payload, T::LIMIT, &device.key).ok().map(|_| name.clone())
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
    pub fn refused(&self) -> &BTreeMap<String, RefusedMessage> {
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
