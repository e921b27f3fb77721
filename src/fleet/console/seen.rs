//! The newest sequence of each device that this console has seen, kept in the folder: a broker that shows an older status
//! to the next console is found out.

use base::{error::ToolError, os::whole};
use std::{collections::BTreeMap, fs, io::Write, path::Path};

const FILE: &str = "seen.json";

/// Sequences by the device's id.
///
/// # Errors
/// `invalid_argument` for a file that cannot be read.
pub fn read(folder: &Path) -> Result<BTreeMap<String, u64>, ToolError> {
    let file = folder.join(FILE);
    let wrong = |why: String| {
        ToolError::invalid(format!("{}: {why}", file.display()))
            .hint("it says which statuses were seen last; without it, an old status cannot be told from a new one once")
            .with("configuration", true)
    };
    match fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| wrong(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Writes them, and keeps what another console wrote meanwhile if it is newer.
///
/// # Errors
/// `failed_precondition` when the file cannot be written.
pub fn write(folder: &Path, seen: &BTreeMap<String, u64>) -> Result<(), ToolError> {
    let mut all = read(folder)?;
    let mut changed = false;
    for (device, sequence) in seen {
        let newest = all.entry(device.clone()).or_default();
        if *newest < *sequence {
            *newest = *sequence;
            changed = true;
        }
    }
    if !changed {
        return Ok(());
    }
    let file = folder.join(FILE);
    let text = serde_json::to_vec(&all).map_err(|error| ToolError::internal(error.to_string()))?;
    whole::replace(&file, 0o600, |to| to.write_all(&text)).map_err(|error| {
        ToolError::precondition(format!("{} cannot be written: {error}", file.display()))
            .hint("it keeps which statuses were seen last; the folder has to be this user's")
    })
}
