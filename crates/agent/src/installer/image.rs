//! What the running image says of itself (`/usr/share/raspi-mcp/image.json`), and which keys it came with.

use base::{error::ToolError, os::Root};
use serde::Deserialize;
use std::path::Path;
use update::trust::Roots;

const FILE: &str = "usr/share/raspi-mcp/image.json";
/// No image of this program is older: 2026-09-21, in seconds since 1970.
const OLDEST: u64 = 1_790_000_000;

/// The image, in its builder's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Image {
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub counter: Option<u64>,
    /// Seconds since 1970.
    #[serde(default)]
    pub created: u64,
}

impl Image {
    /// That of the machine under `root`; one that says nothing when there is no such file. What cannot be read is a fault.
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

    /// It is not earlier than this: when it was built, in seconds since 1970.
    pub fn floor(&self) -> u64 {
        self.created.max(OLDEST)
    }
}

/// The newest root of trust: the image's, and those that were accepted after it.
///
/// # Errors
/// `failed_precondition` when there is none, or the file is none.
pub(crate) fn roots(root: &Root, file: &Path, accepted: &[String]) -> Result<Roots, ToolError> {
    let path = file.display().to_string();
    let bytes = root.read_bytes(&path).map_err(|error| {
        ToolError::precondition(format!("there is no root of trust at {path}: {error}"))
            .with("path", path.clone())
            .hint("update.trust names the one of the image; `raspi-mcp bundle trust` makes one")
    })?;
    let first = Roots::parse(&bytes).map_err(|fault| ToolError::from(fault).with("path", path))?;
    // One that does not follow is of another image's chain: the newer image brought a newer root itself.
    Ok(accepted.iter().fold(first, |roots, next| roots.accept(next.as_bytes()).unwrap_or(roots)))
}
