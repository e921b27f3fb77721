//! Newer roots of trust: the agent verifies and stores them; the server stores them too, to verify indexes.

use crate::UpdateClient;
use agent::operations::update::TrustRoot;
use base::{
    error::ToolError,
    os::{blocking, whole},
};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};
use update::trust::RootOfTrust;

fn file(folder: &Path, version: u64) -> PathBuf {
    folder.join(format!("root.{version}.signed"))
}

/// `roots`, followed by the newer ones stored in `folder`, up to the first one that is missing or invalid.
pub(crate) fn followed(mut roots: RootOfTrust, folder: &Path) -> RootOfTrust {
    while let Ok(bytes) = fs::read(file(folder, roots.version() + 1)) {
        match roots.accept(&bytes) {
            Ok(next) => roots = next,
            Err(_) => break,
        }
    }
    roots
}

impl UpdateClient {
    /// Passes new roots to the agent, in order, and stores those it accepted.
    pub(crate) async fn trust_newer(&self, newer: Vec<Vec<u8>>) -> Result<(), ToolError> {
        for bytes in newer {
            let text = String::from_utf8(bytes).map_err(|_| ToolError::internal("a root of trust that is no text"))?;
            let version = self.0.agent.call::<TrustRoot>(text.clone()).await?;
            tracing::info!(target: "update", version, "a newer root of trust counts from now on");
            let path = file(&self.0.folder, version);
            blocking::run("update", move |_| {
                let write = || -> std::io::Result<()> {
                    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
                    whole::replace(&path, 0o600, |open| open.write_all(text.as_bytes()))
                };
                write().map_err(|error| {
                    ToolError::unavailable(format!("a root of trust cannot be kept in {}: {error}", path.display()))
                })
            })
            .await?;
        }
        Ok(())
    }
}
