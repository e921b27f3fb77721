//! The copies of the latch on the card.

use crate::{files, installer::System};
use base::error::ToolError;
use contract::halt::{HaltState, Halted};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use update::slots::Step;

/// The file in the agent's folder, and the record in the agent-state area.
pub(super) struct Copies {
    path: PathBuf,
    /// The machine with two slots, if this is one whose record can be used.
    system: Option<Arc<System>>,
}

impl Copies {
    pub(super) fn new(folder: &Path, system: Option<Arc<System>>) -> Self {
        Self { path: folder.join("halt.json"), system }
    }

    /// What both copies say together. One that cannot be understood is a halt: whoever damages it must not lift it.
    pub(super) fn load(&self, now_ms: i64, faults: &mut Vec<String>) -> HaltState {
        let mut unreadable = |what: &str, why: String| {
            faults.push(format!("{what} is unreadable ({why}), so the machine counts as halted"));
            HaltState { halted: Some(Halted::unreadable(what, &why, now_ms)), lifted: None }
        };
        let file = match files::read(&self.path) {
            Ok(None) => HaltState::default(),
            Ok(Some(bytes)) => {
                serde_json::from_slice(&bytes).unwrap_or_else(|error| unreadable("halt.json", error.to_string()))
            }
            Err(error) => unreadable("halt.json", error.into_message()),
        };
        let record = self.system.as_ref().map(|system| appliance::halt::kept(system.record.ledger().state()));
        let record = match record {
            None | Some(Ok(None)) => return file,
            Some(Ok(Some(state))) => state,
            Some(Err(why)) => unreadable("the recorded halt", why),
        };
        if file.halted.is_some() { file } else { record }
    }

    /// Writes both, and returns when they are on the card. What one copy does not take, the other still gets.
    ///
    /// # Errors
    /// Those of the first copy that failed.
    pub(super) fn write(&self, state: &HaltState) -> Result<(), ToolError> {
        let json = serde_json::to_vec(state).map_err(|error| ToolError::internal(format!("halt: {error}")))?;
        let file = files::replace(&self.path, &json);
        let record = self.system.as_ref().map_or(Ok(()), |system| {
            let keep = |old: &_| Ok(appliance::halt::to_keep(state, old).map_or_else(Step::default, Step::to));
            system.record.step(keep)
        });
        file.and(record)
    }
}
