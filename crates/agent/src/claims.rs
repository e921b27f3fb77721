//! The agent's state for claims: the folder with this boot's code, a lock, and the approvers that came with the
//! ownership.

use super::{approvers::Approvers, clock::BootClock, installer::Installer, log::OpLog, peer::Peer};
use appliance::{Folder, Identity};
use base::error::ToolError;
use serde_json::json;
use std::sync::{Arc, Mutex};
use update::slots::Step;

/// The agent's part of a claim.
#[derive(Clone)]
pub(super) struct ClaimService {
    pub(super) folder: Folder,
    pub(super) boot: BootClock,
    /// Held while a code or a token is checked, so that checks are sequential.
    pub(super) turn: Arc<Mutex<()>>,
}

impl ClaimService {
    pub(super) fn new(folder: Folder, boot: BootClock) -> Self {
        Self { folder, boot, turn: Arc::default() }
    }
}

/// Enrols the approvers that came with the ownership, in place of all others, and takes them out of both copies of the
/// record. Interrupted, it is done again at the next start.
///
/// # Errors
/// `unavailable` when something cannot be stored.
pub(super) fn settle_approvers(
    installer: &Installer,
    approvers: &Approvers,
    log: &OpLog,
    peer: &Peer,
) -> Result<(), ToolError> {
    let Ok(system) = installer.system() else { return Ok(()) };
    let record = &system.record;
    let Some(first) = Identity::of(record.ledger().state()).0.approvers else { return Ok(()) };
    let new: Result<_, _> = first.list.into_iter().map(serde_json::from_value).collect();
    // They were checked before they were recorded.
    let new = new.map_err(|error| ToolError::internal(format!("a recorded approver cannot be read: {error}")))?;
    approvers.replace(new, &first.from)?;
    let now: Vec<_> = approvers.list().iter().map(|one| json!({ "name": one.name, "key": one.key.id() })).collect();
    log.write("approvers replaced", peer, json!({ "from": first.from, "approvers": now }))?;
    record.step(|state| {
        let settled = Identity { approvers: None, ..Identity::of(state).0 };
        Ok(Step::to(settled.in_state(state)))
    })?;
    record.ledger().save_again(Identity::is_same)
}
