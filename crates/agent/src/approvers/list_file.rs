//! The file of the enrolled approvers. Another release may have written it: the one in the other slot, before or after a rollback. What this one
//! cannot read does not count, is kept as it is, and never looks like a device without approvers, which a code would enrol one for.

use super::{Approver, ApproverKey, Enrolled};
use crate::files;
use base::error::ToolError;
use contract::config::Sha256;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The file in the agent's folder.
const FILE: &str = "approvers.json";

/// What the file has.
pub(super) struct ApproverList {
    path: PathBuf,
    known: Vec<Approver>,
    /// Entries of another release, as they are.
    unread: Vec<Value>,
    /// The file is no list at all, or cannot be read.
    damaged: bool,
}

impl ApproverList {
    /// Loads it. What cannot be read is a fault: nobody is let in by it.
    pub(super) fn load(folder: &Path, faults: &mut Vec<String>) -> Self {
        let path = folder.join(FILE);
        let mut list = Self { path, known: Vec::new(), unread: Vec::new(), damaged: false };
        let shown = list.path.display().to_string();
        let read = files::read(&list.path).map_err(|error| error.into_message());
        let entries: Result<Vec<Value>, String> = read.and_then(|bytes| match bytes {
            None => Ok(Vec::new()),
            Some(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("{shown} is unreadable ({error}); no approver's key counts")),
        });
        match entries {
            Ok(entries) => {
                for entry in entries {
                    match serde_json::from_value(entry.clone()) {
                        Ok(approver) => list.known.push(approver),
                        Err(error) => {
                            let name = label(list.unread.len(), &entry);
                            faults.push(format!(
                                "{shown}: this version cannot read the approver {name} ({error}); its key does not count here, and the entry is kept; `raspi-mcp approver revoke {name}` removes it"
                            ));
                            list.unread.push(entry);
                        }
                    }
                }
            }
            Err(fault) => {
                faults.push(fault);
                list.damaged = true;
            }
        }
        list
    }

    /// Those that count, in the order of their enrolment.
    pub(super) fn known(&self) -> &[Approver] {
        &self.known
    }

    /// How many are enrolled, readable or not.
    pub(super) fn len(&self) -> usize {
        self.known.len() + self.unread.len()
    }

    /// Whether nobody is enrolled, as far as can be told: not where something is there that cannot be read.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0 && !self.damaged
    }

    /// Those that count, in the order of their enrolment, and then the entries that cannot be read.
    pub(super) fn all(&self) -> Vec<Enrolled> {
        let unread = self.unread.iter().enumerate().map(|(n, entry)| Enrolled::Unread { unread: label(n, entry) });
        self.known.iter().cloned().map(Enrolled::Known).chain(unread).collect()
    }

    /// Whether an entry that cannot be read has that name.
    pub(super) fn has_unread(&self, name: &str) -> bool {
        self.unread.iter().enumerate().any(|(n, entry)| label(n, entry) == name)
    }

    /// The IDs of the keys of that name, as far as they can be read.
    pub(super) fn keys_of(&self, name: &str) -> Vec<Sha256> {
        let known = self.known.iter().filter(|known| known.name == name).map(|known| known.key.clone());
        let others = self.unread.iter().enumerate().filter(|(n, entry)| label(*n, entry) == name);
        let unread = others.filter_map(|(_, entry)| ApproverKey::parse(entry.get("key")?.as_str()?));
        known.chain(unread).filter_map(|key| Sha256::from_hex(&key.id())).collect()
    }

    /// Removes every entry of that name, whichever release wrote it: it must not answer again once the other slot runs. Returns what was
    /// removed; of several, the one that counted.
    ///
    /// # Errors
    /// `unavailable` when that cannot be stored; nothing changed then.
    pub(super) fn revoke(&mut self, name: &str) -> Result<Option<Enrolled>, ToolError> {
        let known: Vec<Approver> = self.known.iter().filter(|known| known.name != name).cloned().collect();
        let others = self.unread.iter().enumerate().filter(|(n, entry)| label(*n, entry) != name);
        let unread: Vec<Value> = others.map(|(_, entry)| entry.clone()).collect();
        if known.len() + unread.len() == self.len() {
            return Ok(None);
        }
        let gone = self.known.iter().find(|known| known.name == name).cloned();
        self.write(known, unread, self.damaged)?;
        Ok(Some(gone.map_or_else(|| Enrolled::Unread { unread: name.to_owned() }, Enrolled::Known)))
    }

    /// Stores these in place of the known ones. A file that is no list is set aside first.
    ///
    /// # Errors
    /// `unavailable` when that cannot be done; nothing changed then.
    pub(super) fn store(&mut self, known: Vec<Approver>) -> Result<(), ToolError> {
        let unread = self.unread.clone();
        self.write(known, unread, self.damaged)
    }

    /// Stores these in place of all others: they are an owner's, and the others were enrolled under the one before. What cannot be read is
    /// set aside.
    ///
    /// # Errors
    /// As [`ApproverList::store`].
    pub(super) fn replace(&mut self, known: Vec<Approver>) -> Result<(), ToolError> {
        if known == self.known && self.unread.is_empty() && !self.damaged {
            return Ok(());
        }
        self.write(known, Vec::new(), self.damaged || !self.unread.is_empty())
    }

    fn write(&mut self, known: Vec<Approver>, unread: Vec<Value>, set_aside: bool) -> Result<(), ToolError> {
        let entries: Result<Vec<Value>, _> =
            known.iter().map(serde_json::to_value).chain(unread.iter().cloned().map(Ok)).collect();
        let bytes = entries
            .and_then(|entries| serde_json::to_vec_pretty(&entries))
            .map_err(|error| ToolError::internal(format!("approvers cannot be written: {error}")))?;
        if set_aside && let Some(bytes) = files::read(&self.path)? {
            files::set_aside(&self.path, &bytes)?;
        }
        files::replace(&self.path, &bytes)?;
        (self.known, self.unread, self.damaged) = (known, unread, false);
        Ok(())
    }
}

/// What an entry that cannot be read is called: by its name or, without one, by its number among such entries.
fn label(number: usize, entry: &Value) -> String {
    let name = entry.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("unread:{}", number + 1), str::to_owned)
}
