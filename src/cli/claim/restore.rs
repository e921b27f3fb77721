//! `raspi-mcp claim --restore`: a backup makes a machine without an owner the one that it was made of (docs/backup.md).

use crate::{
    claim::{client, uri::ClaimUri},
    cli::{
        approve::{Keyboard, Terminal},
        backup,
        exit::{Exit, Failure},
        runtime,
        say::errln,
    },
    terminal::printable,
};
use agent::{approvers::NewApprover, operations::claim::owner_token};
use appliance::backup::{Backup, Credential, Restore};
use base::error::ToolError;
use contract::access::token::Token;
use serde_json::json;
use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub struct RestoreArgs {
    /// Restore this backup on the machine, which then restarts. With an identity in it, its tokens count; else a token is made
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    #[cfg_attr(feature = "console", arg(conflicts_with = "fleet"))]
    restore: Option<PathBuf>,
    /// A file with the passphrase of the backup, or - for standard input; without it, you are asked
    #[arg(long, value_name = "FILE", requires = "restore")]
    passphrase_file: Option<PathBuf>,
    /// A token or approver of the backup that is not to count again, as token:NAME or approver:NAME; may be repeated
    #[arg(long, value_name = "WHO", requires = "restore")]
    without: Vec<String>,
    /// Let in again all other tokens and approvers of the backup, without asking
    #[arg(long, requires = "restore")]
    yes: bool,
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
        let backup = self.looked_at(&backup)?;
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
        if !restored.left_out.is_empty() {
            errln!("Left out, since it was revoked on this machine: {}.", printable(&restored.left_out.join(", ")));
        }
        if has_identity {
            errln!("Switch the old machine off, or erase its card: both would answer as one device.");
        }
        Ok(())
    }

    /// The backup without those that are not to count again. A new card does not know who was revoked after it was made, so
    /// a person looks at who it lets in.
    fn looked_at(&self, backup: &Backup) -> Result<Backup, Failure> {
        let usage = |why: String| Failure::new(Exit::Usage, why);
        let all = backup.credentials();
        if let Some(unknown) = self.without.iter().find(|who| !all.iter().any(|one| one.label() == **who)) {
            let has: Vec<String> = all.iter().map(Credential::label).collect();
            return Err(usage(format!("--without {unknown}: the backup has {}", printable(&has.join(", ")))));
        }
        let (next, stay) = backup.without(|one| self.without.contains(&one.label()));
        if stay.is_empty() || self.yes {
            return Ok(next);
        }
        errln!("These count again on the machine, also those that were revoked elsewhere after the backup was made:");
        for one in &stay {
            errln!("  {}  {}", printable(&one.label()), printable(&one.about));
        }
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return Err(Failure::new(
                Exit::Refused,
                "nothing was restored: give --yes to let them in again, and --without WHO for each that is not to",
            ));
        }
        errln!("Are they to be let in? Type yes (--without WHO leaves one out):");
        let failed = |error: io::Error| Failure::new(Exit::Failed, format!("cannot read the answer: {error}"));
        // Only what is typed after the question.
        Terminal.forget().map_err(failed)?;
        match Terminal.line().map_err(failed)?.trim() {
            "yes" => Ok(next),
            _ => Err(Failure::new(Exit::Refused, "nothing was restored")),
        }
    }
}
