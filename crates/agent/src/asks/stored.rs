//! The file of asks, as it was when the agent ended.

use super::Ask;
use crate::files;
use base::error::ToolError;
use serde_json::Value;
use std::path::Path;

/// The asks in `path`. One that the release in the other slot stored differently is lost, and takes no denial with it; that is a fault, as is
/// an unreadable file.
pub(super) fn asks(path: &Path, faults: &mut Vec<String>) -> Vec<Ask> {
    let read = files::read_state::<Vec<Value>>(path, "open asks are lost", faults);
    let entries = read.unwrap_or_else(|error| {
        faults.push(error.into_message());
        None
    });
    let (mut asks, mut set_aside) = (Vec::new(), false);
    for entry in entries.unwrap_or_default() {
        match serde_json::from_value(entry) {
            Ok(ask) => asks.push(ask),
            Err(error) => {
                faults.push(format!(
                    "{}: this version cannot read one of the asks ({error}); it is lost",
                    path.display()
                ));
                set_aside = true;
            }
        }
    }
    if set_aside && let Ok(Some(bytes)) = files::read(path) {
        faults.extend(files::set_aside(path, &bytes).map_err(ToolError::into_message).err());
    }
    asks
}
