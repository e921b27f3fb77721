//! `raspi-mcp prepare`: once at each boot, before both halves and the network.
//!
//! What it changes on the card, it changes in this order: the identity is recorded, whole, in one copy of the record and then in the other;
//! only then is the file erased that it came from; only then is it recorded that nothing of the file is left. Cut anywhere, the next boot goes
//! on from there. At the end of each start either copy is enough: one that is torn, or says something else of the identity, is written anew.

use super::{
    Folder, Identity,
    connections::Connections,
    network,
    partition::{self, Found},
    provisioning::{self, Provisioning},
    reset::{Reset, reset},
};
use base::{error::ToolError, os::Root};
use std::time::Duration;
use update::{
    bundle::Digest,
    disk::Disk,
    slots::{State, Store},
};

/// The machine, as far as this is concerned.
pub struct Site<'a> {
    pub disk: &'a dyn Disk,
    /// What stands for `/`.
    pub root: &'a Root,
    pub folder: &'a Folder,
    /// The number of the server's group, where there is one.
    pub group: Option<u32>,
    /// What this machine's images are of.
    pub product: &'a str,
    /// How long after the machine's start a claim is open.
    pub window: Duration,
}

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    pub claimed: bool,
    /// For the log: what was taken, made, restored.
    pub notes: Vec<String>,
    /// What a person should look at.
    pub faults: Vec<String>,
    /// The identity is gone, and nothing was prepared: the machine has to start anew.
    pub restart: bool,
}

/// The record in the making.
struct Record<'a> {
    disk: &'a dyn Disk,
    store: Store,
    state: State,
}

impl Record<'_> {
    /// One write, or none when it is so already.
    fn keep(&mut self, identity: &Identity) -> Result<(), ToolError> {
        self.save(identity.in_state(&self.state))
    }

    fn save(&mut self, next: State) -> Result<(), ToolError> {
        if next != self.state {
            self.store.save(self.disk, &next)?;
            self.state = next;
        }
        Ok(())
    }

    /// Either copy is enough for the identity from now on. One write, or none when it is so already; whether there was one.
    fn keep_in_both(&mut self) -> Result<bool, ToolError> {
        self.store.save_again(self.disk, &self.state, |other| Identity::is_same(&self.state, other))
    }
}

/// Does it all.
///
/// # Errors
/// Those of the record, which is the truth: without it there is no identity. Everything else that goes wrong is a fault in what
/// was [`Prepared`].
pub fn prepare(site: &Site) -> Result<Prepared, ToolError> {
    let opened = Store::open(site.disk)?;
    let mut done = Prepared { faults: opened.faults, ..Prepared::default() };
    let mut record = Record { disk: site.disk, store: opened.store, state: opened.state };
    if record.state.lost {
        done.faults.push("the record of whose machine this is was lost: it is nobody's, with a new key".into());
    }
    match reset(site.disk, site.root, &mut record.store, &mut record.state, &mut done.faults) {
        Ok(Reset::Done(wrong)) => {
            done.faults.extend(wrong);
            done.notes.push("this machine was reset: it is nobody's, and starts anew".into());
            done.restart = true;
            return Ok(done);
        }
        Ok(Reset::No) => {}
        Err(error) => done.faults.push(error.message),
    }
    let (mut identity, wrong) = Identity::of(&record.state);
    done.faults.extend(wrong);
    if !identity.has_key() {
        identity.make_key()?;
        done.notes.extend(identity.fingerprint().map(|made| format!("a key was made: {made}")));
    }
    identity = provisioned(site, &mut record, identity, &mut done)?;
    record.keep(&identity)?;
    connections(site, &mut record, &mut done)?;
    match record.keep_in_both() {
        Ok(true) => done.notes.push("both copies of the record say whose machine this is".into()),
        Ok(false) => {}
        // It starts all the same: one copy holds.
        Err(error) => done.faults.push(error.advice()),
    }

    done.faults.extend(network::apply(site.root, &identity));
    site.folder.make(site.group)?;
    if !identity.claimed {
        site.folder.open_claim(site.window)?;
    }
    site.folder.write(&identity, &done.faults)?;
    done.claimed = identity.claimed;
    Ok(done)
}

/// The identity after the file on partition 1, which is recorded and erased where it is taken.
fn provisioned(site: &Site, record: &mut Record, was: Identity, done: &mut Prepared) -> Result<Identity, ToolError> {
    let file = provisioning::FILE;
    let found = match partition::find(site.disk, file) {
        Ok(found) => found,
        Err(error) => {
            done.faults.push(error.message);
            return Ok(was);
        }
    };
    let (bytes, unreadable) = match found {
        // What was erased, was erased whole.
        Found::Nothing | Found::Blank => return Ok(Identity { erasing: None, ..was }),
        Found::Bytes(bytes) => (bytes, None),
        Found::Unreadable(why) => (Vec::new(), Some(why)),
    };
    let digest = Digest::of(&bytes);
    let said = match unreadable {
        None => {
            Provisioning::parse(&bytes, site.product).map_err(|faults| faults.iter().map(ToString::to_string).collect())
        }
        Some(why) => Err(vec![format!("{file}: {why}")]),
    };
    // What is left of a file that was taken: the power failed before it was erased, or while it was.
    let remains = was.erasing.is_some_and(|erasing| erasing == digest || said.is_err());
    let next = match said {
        _ if remains => Identity { erasing: Some(digest), ..was },
        _ if was.claimed => {
            done.faults.push(format!(
                "{file} was not accepted: this machine has an owner. It was erased, for the secrets in it"
            ));
            Identity { erasing: Some(digest), ..was }
        }
        Ok(said) => {
            let next = said.over(&was);
            if next.update.trust != was.update.trust {
                // Those that followed another root; in the same write.
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
    record.keep(&next)?;
    // The file stays for the next start, and the end of this one says why.
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

/// Keeps a copy of the network's connections, or puts it back where they are lost.
fn connections(site: &Site, record: &mut Record, done: &mut Prepared) -> Result<(), ToolError> {
    let kept = Connections::kept(&record.state);
    let (found, left_out) = match Connections::read(site.root) {
        Ok(read) => read,
        Err(error) => {
            done.faults.push(format!("NetworkManager's connections cannot be read: {error}"));
            return Ok(());
        }
    };
    done.faults.extend(left_out);
    if found.is_empty() && !kept.is_empty() {
        match kept.restore(site.root) {
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
