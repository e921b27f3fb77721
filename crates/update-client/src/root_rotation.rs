//! Newer roots of trust. Both halves keep them: the agent, which verifies releases, in partition 7; the server, which verifies indexes, in
//! its folder. Either memory can be lost without the other, so they are compared at each check of a channel (docs/update.md).

use crate::UpdateClient;
use agent::operations::update::{GetNextRoot, NextRootRequest, TrustRoot};
use base::{
    error::ToolError,
    os::{blocking, whole},
};
use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};
use update::trust::RootOfTrust;

fn file(folder: &Path, version: u64) -> PathBuf {
    folder.join(format!("root.{version}.signed"))
}

/// Roots of trust that follow each other: the image's, and the whole files of newer ones.
pub(crate) struct RootChain {
    first: u64,
    newest: RootOfTrust,
    files: Vec<String>,
}

impl RootChain {
    fn of(image: RootOfTrust) -> Self {
        Self { first: image.version(), newest: image, files: Vec::new() }
    }

    /// `image`, followed by the newer ones stored in `folder`, up to the first one that is missing or invalid.
    pub(crate) fn stored(image: RootOfTrust, folder: &Path) -> Self {
        let mut chain = Self::of(image);
        while let Ok(text) = fs::read_to_string(file(folder, chain.newest.version() + 1)) {
            if !chain.add(text) {
                break;
            }
        }
        chain
    }

    /// Whether `text` follows the newest one, which it then is.
    fn add(&mut self, text: String) -> bool {
        let Ok(next) = self.newest.accept(text.as_bytes()) else { return false };
        self.newest = next;
        self.files.push(text);
        true
    }

    /// Stores its roots in `folder`, and removes the file after the last one, so that nothing follows it.
    fn store(&self, folder: &Path) -> std::io::Result<()> {
        for (version, text) in (self.first + 1..).zip(&self.files) {
            write(folder, version, text)?;
        }
        match fs::remove_file(file(folder, self.newest.version() + 1)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes the file of the root `version` into `folder`, whole or not at all.
fn write(folder: &Path, version: u64, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    whole::replace(&file(folder, version), 0o600, |open| open.write_all(text.as_bytes()))
}

impl UpdateClient {
    /// The root of trust that both halves have: what one of them lacks, the other one gives. Where they have different roots of one
    /// version, the agent's count, since it decides about releases. `image`: the root that comes with the image.
    ///
    /// # Errors
    /// Those of the agent; `unavailable` where a root cannot be stored.
    pub(crate) async fn agreed_roots(&self, image: RootOfTrust) -> Result<RootOfTrust, ToolError> {
        let (folder, start) = (self.0.folder.clone(), image.clone());
        let ours = blocking::run("update", move |_| Ok(RootChain::stored(start, &folder))).await?;
        let mut theirs = RootChain::of(image);
        loop {
            let after = theirs.newest.version();
            let Some(next) = self.0.agent.call::<GetNextRoot>(NextRootRequest { after }).await? else { break };
            if !theirs.add(next) {
                tracing::warn!(target: "update", version = after + 1, "a root of trust of the agent does not follow the image's");
                break;
            }
        }
        if ours.files == theirs.files {
            return Ok(ours.newest);
        }
        if ours.files.starts_with(&theirs.files) {
            let lacking = ours.files[theirs.files.len()..].iter().cloned().map(String::into_bytes).collect();
            tracing::warn!(target: "update", version = ours.newest.version(), "the agent has lost newer roots of trust: it gets them again");
            self.trust_newer(lacking).await?;
            return Ok(ours.newest);
        }
        tracing::warn!(target: "update", version = theirs.newest.version(), "the roots of trust that the agent has are taken from it");
        let folder = self.0.folder.clone();
        blocking::run("update", move |_| {
            theirs.store(&folder).map_err(|error| unkept(&folder, &error))?;
            Ok(theirs.newest)
        })
        .await
    }

    /// Passes new roots to the agent, in order, and stores those it accepted.
    pub(crate) async fn trust_newer(&self, newer: Vec<Vec<u8>>) -> Result<(), ToolError> {
        for bytes in newer {
            let text = String::from_utf8(bytes).map_err(|_| ToolError::internal("a root of trust that is no text"))?;
            let version = self.0.agent.call::<TrustRoot>(text.clone()).await?;
            tracing::info!(target: "update", version, "a newer root of trust counts from now on");
            let folder = self.0.folder.clone();
            blocking::run("update", move |_| write(&folder, version, &text).map_err(|error| unkept(&folder, &error)))
                .await?;
        }
        Ok(())
    }
}

fn unkept(folder: &Path, error: &std::io::Error) -> ToolError {
    ToolError::unavailable(format!("a root of trust cannot be kept in {}: {error}", folder.display()))
        .hint("the data partition may be full: make room there")
}
