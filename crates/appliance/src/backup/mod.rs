//! A backup: what a machine is and how it is set up, in one file that only a passphrase opens (docs/backup.md).
//!
//! [`Backup`] is the content, [`collect()`] makes it, [`sealed`] is its file and [`transfer`] its way from and to a
//! device. [`restored`] decides in memory what a state becomes, in one write; [`SavedFiles`] are the files that come with it,
//! kept in the record until they are written.

mod aead;
mod collect;
mod contents;
mod credentials;
mod files;
mod restore;
pub mod sealed;
pub mod transfer;

pub use collect::{BackupSource, collect};
pub use contents::{Backup, PURPOSE};
pub use credentials::Credential;
pub use files::{SavedFile, SavedFiles};
pub use restore::{Restore, left_out, restored};
pub use sealed::MAX_PLAIN;

use base::error::ToolError;
use ring::rand::{SecureRandom, SystemRandom};

/// The file's name on partition 1.
pub const FILE: &str = "raspi-mcp.backup";

/// Opens a backup's file with a passphrase: [`open`] in programs.
pub type OpenBackup = fn(&[u8], &str) -> Result<Backup, ToolError>;

/// The backup in a file.
///
/// # Errors
/// Those of [`sealed::open`] and [`Backup::parse`].
pub fn open(file: &[u8], passphrase: &str) -> Result<Backup, ToolError> {
    Backup::parse(&sealed::open(file, passphrase)?)
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], ToolError> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| unsealed())?;
    Ok(bytes)
}

fn unsealed() -> ToolError {
    ToolError::internal("the system gave no random bytes, so nothing was sealed")
        .hint("check that /dev/urandom exists and the kernel has getrandom(2)")
}
