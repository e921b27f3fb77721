//! `raspi-mcp prepare`: runs once at each boot, before the server, the agent and the network.
//!
//! The order of its changes on the card: the identity is recorded completely in one copy of the record, then in the
//! other; then the file it came from is erased; then it is recorded that nothing of the file is left. If interrupted,
//! the next boot continues. A backup is recorded with it in the same write, its files included, which are then written
//! before the record forgets them. At the end of each start either copy is sufficient: one that is damaged or has a different
//! identity is rewritten.

mod restoring;

use super::{
    Folder, Identity,
    backup::OpenBackup,
    connections::{SavedConnections, is_stored},
    network,
    partition::{self, FileContent},
    provisioning::{self, CheckApprover, Provisioning},
    reset::{ResetOutcome, reset},
    timezone,
};
use base::{
    error::{ErrorCode, ToolError},
    os::Root,
};
use std::{path::Path, time::Duration};
use update::{
    bundle::Digest,
    disk::Disk,
    slots::{StateRecord, StateStore},
};

/// The parts of the machine that this needs.
pub struct PrepareSite<'a> {
    pub disk: &'a dyn Disk,
    /// Replaces `/`.
    pub root: &'a Root,
    pub folder: &'a Folder,
    /// The number of the server's group, if it exists.
    pub group: Option<u32>,
    /// The product of this machine's images.
    pub product: &'a str,
    /// The agent's check of an approver in the provisioning file.
    pub approver: CheckApprover,
    /// How long after the machine's start a claim stays open.
    pub window: Duration,
    /// What opens a backup on partition 1.
    pub open_backup: OpenBackup,
    /// The owner's files, and the agent's: what a restore writes.
    pub site_dir: &'a Path,
    pub agent_dir: &'a Path,
}

/// The result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PrepareResult {
    pub claimed: bool,
    /// For the log: what was accepted, created, restored.
    pub notes: Vec<String>,
    /// Problems for a person.
    pub faults: Vec<String>,
    /// The identity was removed and nothing prepared: the machine must restart.
    pub restart: bool,
}

/// The record being changed.
struct Record<'a> {
    disk: &'a dyn Disk,
    store: StateStore,
    state: StateRecord,
}

impl Record<'_> {
    /// Records an identity, with one write or none if nothing changes.
    fn keep(&mut self, identity: &Identity) -> Result<(), ToolError> {
        self.save(identity.in_state(&self.state))
    }

    fn save(&mut self, next: StateRecord) -> Result<(), ToolError> {
        if next != self.state {
            self.store.save(self.disk, &next)?;
            self.state = next;
        }
        Ok(())
    }

    /// Makes either copy sufficient for the identity, with one write or none if nothing changes. Returns whether there
    /// was a write.
    fn keep_in_both(&mut self) -> Result<bool, ToolError> {
        self.store.save_again(self.disk, &self.state, |other| Identity::is_same(&self.state, other))
    }
}

/// Runs all steps.
///
/// # Errors
/// Those of the record, without which there is no identity. All other errors are faults in [`PrepareResult`].
pub fn prepare(site: &PrepareSite) -> Result<PrepareResult, ToolError> {
    let opened = StateStore::open(site.disk)?;
    let mut done = PrepareResult { faults: opened.faults, ..PrepareResult::default() };
    let mut record = Record { disk: site.disk, store: opened.store, state: opened.state };
    if record.state.lost {
        done.faults.push("the record of whose machine this is was lost: it is nobody's, with a new key".into());
    }
    match reset(site.disk, site.root, &mut record.store, &mut record.state, &mut done.faults) {
        Ok(ResetOutcome::Done(wrong)) => {
            done.faults.extend(wrong);
            done.notes.push("this machine was reset: it is nobody's, and starts anew".into());
            done.restart = true;
            return Ok(done);
        }
        Ok(ResetOutcome::No) => {}
        Err(error) => done.faults.push(error.into_message()),
    }
    let (mut identity, wrong) = Identity::of(&record.state);
    done.faults.extend(wrong);
    if !identity.has_key() {
        identity.make_key()?;
        done.notes.extend(identity.fingerprint().map(|made| format!("a key was made: {made}")));
    }
    identity = provisioned(site, &mut record, identity, &mut done)?;
    record.keep(&identity)?;
    restoring::finish(site, &mut record, &mut done)?;
    connections(site, &mut record, &mut done)?;
    match record.keep_in_both() {
        Ok(true) => done.notes.push("both copies of the record say whose machine this is".into()),
        Ok(false) => {}
        // The start continues, because one copy is sufficient.
        Err(error) => done.faults.push(error.advice()),
    }

    done.faults.extend(network::apply(site.root, &identity, |uuid| is_stored(site.root, uuid)));
    done.faults.extend(timezone::apply_kept(site.root, &record.state));
    site.folder.make(site.group)?;
    if !identity.claimed {
        site.folder.open_claim(site.window)?;
    }
    site.folder.write(&identity, &done.faults)?;
    done.claimed = identity.claimed;
    Ok(done)
}

/// The identity after applying the file on partition 1, which is recorded and erased if it is accepted.
fn provisioned(
    site: &PrepareSite,
    record: &mut Record,
    was: Identity,
    done: &mut PrepareResult,
) -> Result<Identity, ToolError> {
    let file = provisioning::FILE;
    let found = match partition::find(site.disk, file) {
        Ok(found) => found,
        Err(error) => {
            done.faults.push(error.into_message());
            return Ok(was);
        }
    };
    let (bytes, unreadable) = match found {
        // An erased file is erased completely.
        FileContent::Nothing | FileContent::Blank => {
            done.faults.extend(restoring::alone(site, &was));
            return Ok(Identity { erasing: None, ..was });
        }
        FileContent::Bytes(bytes) => (bytes, None),
        FileContent::Unreadable(why) => (Vec::new(), Some(why)),
    };
    let digest = Digest::of(&bytes);
    let said = match unreadable {
        None => Provisioning::parse(&bytes, site.product, site.approver)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect()),
        Some(why) => Err(vec![format!("{file}: {why}")]),
    };
    // The rest of an accepted file: the power failed before or while it was erased.
    let remains = was.erasing.is_some_and(|erasing| erasing == digest || said.is_err());
    let (unchanged, mut restored) = (was.clone(), None);
    let next = match said {
        _ if remains => Identity { erasing: Some(digest), ..was },
        _ if was.claimed => {
            done.faults.push(format!(
                "{file} was not accepted: this machine has an owner. It was erased, for the secrets in it"
            ));
            Identity { erasing: Some(digest), ..was }
        }
        Ok(said) => {
            let next = match restoring::beside(site, &was.in_state(&record.state), &said) {
                Ok(None) => said.over(&was),
                Ok(Some((state, note))) => {
                    done.notes.push(note);
                    let identity = Identity::of(&state).0;
                    restored = Some(state);
                    identity
                }
                Err(error) => {
                    done.faults.push(error.advice());
                    return Ok(was);
                }
            };
            if restored.is_none() && next.update.trust != was.update.trust {
                // They followed the previous root; removed in the same write.
                record.state.roots.clear();
            }
            let owned = if next.claimed { ", and the machine has an owner" } else { "" };
            done.notes.push(format!("{file} was taken{owned}"));
            Identity { erasing: Some(digest), ..next }
        }
        Err(faults) => {
            done.faults.extend(faults);
            return Ok(was);
        }
    };
    let state = next.in_state(restored.as_ref().unwrap_or(&record.state));
    match record.save(state) {
        // It is larger than a record: nothing was changed.
        Err(error) if restored.is_some() && error.code == ErrorCode::ResourceExhausted => {
            done.faults.push(error.advice());
            return Ok(unchanged);
        }
        saved => saved?,
    }
    // The file stays for the next start; the end of this one reports why.
    if record.keep_in_both().is_err() {
        return Ok(next);
    }
    Ok(match partition::forget(site.disk, file) {
        Ok(()) => Identity { erasing: None, ..next },
        Err(error) => {
            done.faults.push(error.advice());
            next
        }
    })
}

/// Stores a copy of the network's connections, or restores them if they are lost.
fn connections(site: &PrepareSite, record: &mut Record, done: &mut PrepareResult) -> Result<(), ToolError> {
    let kept = SavedConnections::kept(&record.state);
    let (found, left_out) = match SavedConnections::read(site.root) {
        Ok(read) => read,
        Err(error) => {
            done.faults.push(format!("NetworkManager's connections cannot be read: {error}"));
            return Ok(());
        }
    };
    done.faults.extend(left_out);
    let lost = if found.is_empty() { kept } else { kept.emptied(site.root, &found) };
    if !lost.is_empty() {
        match lost.restore(site.root) {
            Ok(names) => done.notes.push(format!("connections were put back: {}", names.join(", "))),
            Err(error) => done.faults.push(format!("connections cannot be put back: {error}")),
        }
        return Ok(());
    }
    match found.to_keep(site.root, &record.state) {
        Some(next) => record.save(next),
        None => Ok(()),
    }
}
