//! The running image's description (`/usr/share/raspi-mcp/image.json`), and the keys that it came with.

use base::{error::ToolError, os::Root};
use serde::Deserialize;
use std::path::Path;
use update::trust::RootOfTrust;

const FILE: &str = "usr/share/raspi-mcp/image.json";
/// Lower bound for an image's date: 2026-09-21, in seconds since 1970.
const OLDEST: u64 = 1_790_000_000;

/// The image's description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(expecting = "struct Image")]
pub(crate) struct ImageDescription {
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub counter: Option<u64>,
    /// Seconds since 1970.
    #[serde(default)]
    pub created: u64,
}

impl ImageDescription {
    /// Reads the description of the machine under `root`; an empty one when there is no file. An unreadable file is a
    /// fault.
    pub fn read(root: &Root, faults: &mut Vec<String>) -> Self {
        let mut image = match root.read(FILE) {
            Ok(text) => serde_json::from_str(&text).unwrap_or_else(|error| {
                faults.push(format!("/{FILE} is not what it should be: {error}"));
                Self::default()
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                faults.push(format!("/{FILE} cannot be read: {error}"));
                Self::default()
            }
        };
        image.created = image.floor();
        image
    }

    /// Lower bound for the current time: when the image was built, in seconds since 1970.
    pub fn floor(&self) -> u64 {
        self.created.max(OLDEST)
    }
}

/// The roots of trust that this machine has.
pub struct TrustChain {
    /// The one that counts.
    pub newest: RootOfTrust,
    /// What leads from the image's root to it: versions and whole files, oldest first.
    accepted: Vec<(u64, String)>,
}

impl TrustChain {
    /// The whole file of the root that follows version `after`, if it was accepted beyond the image's.
    pub fn after(&self, after: u64) -> Option<&str> {
        self.accepted.iter().find(|(version, _)| after.checked_add(1) == Some(*version)).map(|(_, text)| text.as_str())
    }

    /// The whole files of the accepted roots, oldest first.
    pub fn files(self) -> Vec<String> {
        self.accepted.into_iter().map(|(_, text)| text).collect()
    }
}

/// The image's root of trust, then those that were accepted after it.
///
/// # Errors
/// `failed_precondition` when there is none, or the file is invalid.
pub(crate) fn roots(root: &Root, file: &Path, accepted: &[String]) -> Result<TrustChain, ToolError> {
    let path = file.display().to_string();
    let bytes = root.read_bytes(&path).map_err(|error| {
        ToolError::precondition(format!("there is no root of trust at {path}: {error}"))
            .with("path", path.clone())
            .hint("update.trust names the one of the image; `raspi-mcp bundle trust` makes one")
    })?;
    let first = RootOfTrust::parse(&bytes).map_err(|fault| ToolError::from(fault).with("path", path))?;
    // A root that does not follow belongs to another image's chain: the newer image brought a newer root itself.
    let chain = TrustChain { newest: first, accepted: Vec::new() };
    Ok(accepted.iter().fold(chain, |mut chain, next| {
        if let Ok(newer) = chain.newest.accept(next.as_bytes()) {
            chain.accepted.push((newer.version(), next.clone()));
            chain.newest = newer;
        }
        chain
    }))
}
