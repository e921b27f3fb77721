//! The agent's own signing key, by which asks are known to come from this device.

use super::{ApproverKey, ApproverSecret};
use crate::files;
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file in the agent's folder, PKCS #8. On an appliance it lies in the data partition, so that a factory reset
/// makes another one.
pub const DEVICE_KEY: &str = "device.key";

/// The id of a device: SHA-256 of its key's SubjectPublicKeyInfo, in 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceId(pub String);

/// Reads the key in `folder`; makes one if there is none.
///
/// # Errors
/// `unavailable` when the file cannot be read or written; `data_corrupted` never silently replaces it: it must be
/// removed by a person, since approvers know the device by it.
pub(super) fn load_or_make(folder: &Path) -> Result<(ApproverSecret, ApproverKey), ToolError> {
    let path = folder.join(DEVICE_KEY);
    let der = match files::read(&path)? {
        Some(der) => der,
        None => {
            let der = ApproverSecret::generate()?;
            files::replace(&path, &der)?;
            der
        }
    };
    let secret = ApproverSecret::from_pkcs8(&der).map_err(|error| {
        ToolError::unavailable(format!("{} is no key: {}", path.display(), error.message))
            .hint("remove it to get a new one; approvers then have to learn the device's new id")
    })?;
    let public = secret.public();
    Ok((secret, public))
}
