//! The lock that allows one install at a time.

use base::error::{ErrorCode, ToolError};
use std::sync::{Arc, Mutex, PoisonError};

/// The holder of the lock.
#[derive(Clone, Debug, Default)]
struct Taken {
    who: String,
    version: Option<String>,
}

/// Held by one install at most.
#[derive(Default, Clone)]
pub(crate) struct InstallLock(Arc<Mutex<Option<Taken>>>);

impl InstallLock {
    /// # Errors
    /// `conflict`, naming the holder.
    pub fn take(&self, who: &str) -> Result<InstallGuard, ToolError> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Taken { who, version }) = &*taken {
            let what = version.as_ref().map_or_else(|| "an update".into(), |version| format!("version {version}"));
            return Err(ToolError::new(ErrorCode::Conflict, format!("{who} is installing {what}"))
                .with("who", who.clone())
                .with("version", version.clone())
                .hint("wait until it is done; manage.get_update_status shows how far it is"));
        }
        *taken = Some(Taken { who: who.to_owned(), version: None });
        Ok(InstallGuard(self.clone()))
    }

    /// # Errors
    /// `conflict` while it is held.
    pub fn must_be_free(&self) -> Result<(), ToolError> {
        self.take("").map(drop)
    }
}

/// The held lock. Dropping it frees the lock.
pub(crate) struct InstallGuard(InstallLock);

impl InstallGuard {
    /// Records the version, once it is known.
    pub fn is_of(&self, version: &str) {
        if let Some(taken) = &mut *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) {
            taken.version = Some(version.to_owned());
        }
    }

    pub fn version(&self) -> Option<String> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.version.clone()
    }
}

impl Drop for InstallGuard {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
