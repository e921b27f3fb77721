//! One server per state folder, because an audit chain has one writer. A second server (two desktop clients may each
//! start one) gets its own folder inside the first's. The agent is shared.

use base::os::lock::Lock;
use contract::config::Settings;
use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Most concurrent servers of one user.
const INSTANCES: usize = 16;

/// Holds the lock while the server runs.
pub struct Instance(#[expect(dead_code, reason = "it is held, and given back when it is dropped")] Lock);

/// Locks the state folder, or the first free one inside it, and changes the settings to use it.
///
/// # Errors
/// If the folder cannot be used, or sixteen servers already run.
pub fn claim(settings: &mut Settings) -> Result<Instance, String> {
    let base = settings.places.state_dir.clone();
    for number in 0..INSTANCES {
        if number > 0 {
            settings.places.state_dir = base.join(format!("instance-{number}"));
        }
        if let Some(lock) = lock(&settings.places.state_dir)? {
            return Ok(Instance(lock));
        }
    }
    Err(format!("{INSTANCES} servers run on {} already; stop one", base.display()))
}

fn lock(folder: &Path) -> Result<Option<Lock>, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        format!("{what} {}: {error}; make it writable for this user, or set places.state_dir", folder.display())
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed("cannot make", &error))?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(folder.join("lock"))
        .map_err(|error| failed("cannot write in", &error))?;
    Lock::take(file).map_err(|error| failed("cannot lock", &error))
}
