//! The agent's own signing key, by which asks are known to come from this device.

use super::{ApproverKey, ApproverSecret};
use crate::{files, installer::System};
use appliance::device_key;
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use update::slots::Step;

/// The file in the agent's folder, PKCS #8. On a machine with two slots the agent-state area has the key as well, which
/// outlives the data partition and counts; a factory reset makes another one.
pub const DEVICE_KEY: &str = "device.key";

/// The id of a device: SHA-256 of its key's SubjectPublicKeyInfo, in 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceId(pub String);

/// Reads the key of the agent-state area or, without it, that in `folder`; makes one if there is none.
///
/// # Errors
/// `unavailable` when it cannot be read or written; `data_corrupted` never silently replaces it: it must be
/// removed by a person, since approvers know the device by it.
pub(super) fn load_or_make(folder: &Path, system: Option<&System>) -> Result<(ApproverSecret, ApproverKey), ToolError> {
    let path = folder.join(DEVICE_KEY);
    let kept = system.and_then(|system| device_key::kept(system.record.ledger().state()).cloned());
    let der = match kept {
        Some(der) => der,
        None => {
            let der = match files::read(&path)? {
                Some(der) => der,
                None => {
                    let der = ApproverSecret::generate()?;
                    files::replace(&path, &der)?;
                    der
                }
            };
            if let Some(system) = system {
                system.record.step(|state| Ok(Step::to(device_key::to_keep(&der, state))))?;
            }
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
