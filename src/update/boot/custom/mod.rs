//! Boards with another boot chain (GRUB, barebox, a vendor's own): configured commands tell and change it.
//!
//! Each is an absolute path and its arguments, started without a shell, with nothing in its environment but `PATH`, for 30 seconds at
//! most. They run inside the agent's own bounds (no network, a read-only file system): one that needs more starts a unit of its own.
//! `arm`, `disarm` and `commit` succeed with exit code 0; `arm` and `commit` get the slot, `A` or `B`, as their last argument. `evidence` prints one JSON
//! object with the fields of [`Told`], all of them optional, and nothing else.

mod run;

use super::{BootFlow, Evidence, Slot, Tries, Witness};
use crate::error::ToolError;
use serde::{Deserialize, Serialize};
use std::{path::Path, sync::Arc, time::Duration};

/// How long a command has.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The commands, each a program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    pub evidence: Vec<String>,
    pub arm: Vec<String>,
    pub disarm: Vec<String>,
    pub commit: Vec<String>,
}

/// What `evidence` prints; [`Evidence`] says what each means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Told {
    pub trial: Option<bool>,
    pub booted: Option<Slot>,
    pub default: Option<Slot>,
    pub armed: Option<Slot>,
    pub tries: Option<Tries>,
    /// Where it is not the mount at `/` that tells.
    pub root: Option<Slot>,
}

/// The flow of configured commands.
pub struct Custom {
    commands: Commands,
    /// What reboot(2) has to be told for a trial; empty for nothing.
    argument: String,
    witness: Arc<dyn Witness>,
    limit: Duration,
}

impl Custom {
    /// # Errors
    /// `invalid_argument` for a command that is empty, no absolute path, or has a NUL in it.
    pub fn new(
        commands: Commands,
        argument: String,
        witness: Arc<dyn Witness>,
        limit: Duration,
    ) -> Result<Self, ToolError> {
        let all = [&commands.evidence, &commands.arm, &commands.disarm, &commands.commit];
        for (name, command) in ["evidence", "arm", "disarm", "commit"].into_iter().zip(all) {
            let program = command.first().map(Path::new);
            let plain = command.iter().all(|word| !word.contains('\0'));
            if !program.is_some_and(Path::is_absolute) || !plain {
                return Err(ToolError::invalid(format!("the command for {name} does not begin with an absolute path"))
                    .hint(format!("write it as [\"/usr/lib/…/{name}\", \"argument\"]; there is no shell")));
            }
        }
        Ok(Self { commands, argument, witness, limit })
    }

    fn change(&self, what: &str, command: &[String], slot: Option<Slot>) -> Result<(), ToolError> {
        let slot = slot.map(|slot| slot.name().to_owned());
        let words: Vec<&str> = command.iter().chain(&slot).map(String::as_str).collect();
        run::run(what, &words, self.limit).map(drop)
    }

    fn told(&self) -> Result<Told, ToolError> {
        let words: Vec<&str> = self.commands.evidence.iter().map(String::as_str).collect();
        let said = run::run("evidence", &words, self.limit)?;
        serde_json::from_slice(&said).map_err(|error| {
            ToolError::unavailable(format!("{} says what is no evidence: {error}", words[0]))
                .hint("docs/boot.md says what it has to print")
        })
    }
}

impl BootFlow for Custom {
    fn name(&self) -> &'static str {
        "custom"
    }

    fn evidence(&self) -> Evidence {
        let seen = self.witness.seen();
        let mut evidence =
            Evidence { root: seen.root, boot_id: seen.boot_id, reset: seen.reset, ..Evidence::default() };
        match self.told() {
            Ok(told) => {
                let Told { trial, booted, default, armed, tries, root } = told;
                evidence = Evidence { trial, booted, default, armed, tries, root: root.or(evidence.root), ..evidence };
            }
            Err(error) => evidence.faults.push(error.message),
        }
        if evidence.root.is_none() {
            evidence.faults.extend(seen.faults);
        }
        evidence
    }

    fn arm(&self, target: Slot) -> Result<(), ToolError> {
        self.change("arm", &self.commands.arm, Some(target))
    }

    fn disarm(&self) -> Result<(), ToolError> {
        self.change("disarm", &self.commands.disarm, None)
    }

    fn commit(&self, slot: Slot) -> Result<(), ToolError> {
        self.change("commit", &self.commands.commit, Some(slot))
    }

    fn trial_argument(&self) -> Option<&str> {
        Some(self.argument.as_str()).filter(|argument| !argument.is_empty())
    }
}
