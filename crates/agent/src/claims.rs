//! The agent's state for claims: the folder with this boot's code, and a lock.

use super::clock::BootClock;
use appliance::Folder;
use std::sync::{Arc, Mutex};

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
