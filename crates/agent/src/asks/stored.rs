//! The file of asks, as it was when the agent ended.

use super::Ask;
use crate::files;
use serde_json::Value;
use std::path::Path;

/// The asks in `path`. One that the release in the other slot stored differently is lost, and takes no denial with it; that is a fault, as is
/// an unreadable file.
pub(super) fn asks(path: &Path, faults: &mut Vec<String>) -> Vec<Ask> {
    let entries: Vec<Value> = match files::read(path) {
        Ok(None) => Vec::new(),
        Ok(Some(bytes)) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            faults.push(format!("{} is unreadable ({error}); open asks are lost", path.display()));
            Vec::new()
        }),
        Err(error) => {
            faults.push(error.into_message());
            Vec::new()
        }
    };
    let mut asks = Vec::new();
    for entry in entries {
        match serde_json::from_value(entry) {
            Ok(ask) => asks.push(ask),
            Err(error) => {
                faults.push(format!(
                    "{}: this version cannot read one of the asks ({error}); it is lost",
                    path.display()
                ));
            }
        }
    }
    asks
}
