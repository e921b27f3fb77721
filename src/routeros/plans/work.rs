//! Who works at which router: one write, or one job, at a time.

use super::files::Files;
use base::error::{ErrorCode, ToolError};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// Plans and writes of one process.
pub struct Work {
    pub files: Arc<Files>,
    busy: Arc<Mutex<BTreeSet<String>>>,
}

impl Work {
    pub fn new(folder: &Path) -> Self {
        Self { files: Arc::new(Files::new(folder)), busy: Arc::default() }
    }

    /// Takes routers for one writer, until the claim is dropped.
    ///
    /// # Errors
    /// `conflict` when another one has one of them.
    pub fn claim(&self, devices: impl IntoIterator<Item = String>) -> Result<Claim, ToolError> {
        let devices: Vec<String> = devices.into_iter().collect();
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = devices.iter().find(|device| busy.contains(*device)) {
            return Err(ToolError::new(
                ErrorCode::Conflict,
                format!("the router {taken} is being changed by another call"),
            )
            .with("device_id", taken.as_str())
            .hint("wait until that has ended: routeros.get_plan_details shows a job"));
        }
        busy.extend(devices.iter().cloned());
        Ok(Claim { devices, busy: Arc::clone(&self.busy) })
    }
}

/// Routers that nobody else writes to meanwhile.
pub struct Claim {
    devices: Vec<String>,
    busy: Arc<Mutex<BTreeSet<String>>>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        for device in &self.devices {
            busy.remove(device);
        }
    }
}
