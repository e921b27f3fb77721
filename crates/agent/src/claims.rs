//! What the agent keeps for claims: the folder with the code of this start, and one turn for all.

use super::clock::BootClock;
use appliance::Folder;
use std::sync::{Arc, Mutex};

/// The agent's part of a claim.
#[derive(Clone)]
pub(super) struct Claims {
    pub(super) folder: Folder,
    pub(super) boot: BootClock,
    /// Held while a code or a token is judged: one after the other.
    pub(super) turn: Arc<Mutex<()>>,
}

impl Claims {
    pub(super) fn new(folder: Folder, boot: BootClock) -> Self {
        Self { folder, boot, turn: Arc::default() }
    }
}
