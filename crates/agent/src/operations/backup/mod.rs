//! Backups (docs/backup.md): made for a person at the console or with an enrolled key, and restored on the claim.

mod make;
mod restore;

pub(crate) use make::ordered;
pub use make::{BackupRequest, MakeBackup, SealedBackup};
pub use restore::{RestoreBackup, RestoreRequest, Restored};
