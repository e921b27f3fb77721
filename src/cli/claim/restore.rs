//! `raspi-mcp claim --restore`: a backup makes a machine without an owner the one that it was made of (docs/backup.md).

use crate::{
    claim::{client, uri::ClaimUri},
    cli::{
        backup,
        exit::{Exit, Failure},
        runtime,
        say::errln,
    },
};
use agent::{approvers::NewApprover, operations::claim::owner_token};
use appliance::backup::Restore;
use base::error::ToolError;
use contract::access::token::Token;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct RestoreArgs {
    /// Restore this backup on the machine, which then restarts. With an identity in it, its tokens count; else a token is made
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    #[cfg_attr(feature = "console", arg(conflicts_with = "fleet"))]
    restore: Option<PathBuf>,
    /// A file with the passphrase of the backup, or - for standard input; without it, you are asked
    #[arg(long, value_name = "FILE", requires = "restore")]
    passphrase_file: Option<PathBuf>,
}

impl RestoreArgs {
    pub(super) fn file(&self) -> Option<&Path> {
        self.restore.as_deref()
    }

    /// Restores the backup `file`. `keep` stores the token of an owner who has none by the backup.
    pub(super) fn run(
        &self,
        file: &Path,
        claim: &ClaimUri,
        approver: Option<&NewApprover>,
        keep: impl FnOnce(&str) -> Result<(), ToolError>,
        has_out: bool,
    ) -> Result<(), Failure> {
        let backup = backup::opened(file, self.passphrase_file.as_deref())?;
        let has_identity = backup.has_identity();
        if has_identity && has_out {
            return Err(Failure::new(
                Exit::Usage,
                "the backup has the identity of its machine, whose tokens count again: leave --out out",
            ));
        }
        let owner = if has_identity { None } else { Some(Token::mint()?) };
        if let Some(token) = &owner {
            // It counts only once the backup is restored.
            keep(token.reveal())?;
        }
        let owner = owner.map(|token| owner_token(token.sha256()));
        let restore = Restore { backup, owner, approver: approver.map(|approver| json!(approver)) };
        let restored = runtime()?.block_on(client::restore(claim, &restore))?;
        let name = restored.name.unwrap_or_else(|| "The machine".into());
        let then = if restored.restarts { "It restarts now" } else { "Restart it: it could not do so by itself" };
        let who = if has_identity {
            "then it is the same device for its clients, with the certificate and the tokens of the backup"
        } else {
            "then it has the settings of the backup, and its own certificate"
        };
        errln!("The backup was recorded on {name}. {then}; {who}.");
        if has_identity {
            errln!("Switch the old machine off, or erase its card: both would answer as one device.");
        }
        Ok(())
    }
}
