//! Boards with another boot chain (GRUB, barebox, a vendor's own): a configured program reports and changes it.
//!
//! It is started by its absolute path, without a shell, with nothing in its environment but `PATH`, for 30 seconds at
//! most, and with one of these as its arguments: `evidence`; `arm A`, `arm B`; `disarm`; `commit A`, `commit B`. It
//! runs inside the agent's sandbox (no network, a read-only file system); if it needs more it must start a unit. It
//! succeeds with exit code 0. `evidence` prints one JSON object with the fields of [`CustomEvidence`], all of them optional, and
//! nothing else. docs/boot.md has an example.

mod run;

use super::{BootFlow, BootWitness, Evidence, Slot, Tries};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::{path::Path, sync::Arc, time::Duration};

/// Its time limit.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The output of `evidence`; [`Evidence`] explains the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "struct Told")]
pub struct CustomEvidence {
    pub trial: Option<bool>,
    pub booted: Option<Slot>,
    pub default: Option<Slot>,
    pub armed: Option<Slot>,
    pub tries: Option<Tries>,
    /// Needed where the mount at `/` does not identify the slot.
    pub root: Option<Slot>,
}

/// The flow of a configured program.
pub struct Custom {
    program: String,
    witness: Arc<dyn BootWitness>,
    limit: Duration,
}

impl Custom {
    /// `limit` is [`LIMIT`] except in tests.
    ///
    /// # Errors
    /// `invalid_argument` for a program that is no absolute path.
    pub fn new(program: &str, witness: Arc<dyn BootWitness>, limit: Duration) -> Result<Self, ToolError> {
        if !Path::new(program).is_absolute() || program.contains('\0') {
            return Err(ToolError::invalid(format!("update.flow_command \"{program}\" is no absolute path"))
                .with("parameter", "update.flow_command")
                .hint("write the full path of one program; there is no shell, and there are no arguments"));
        }
        Ok(Self { program: program.to_owned(), witness, limit })
    }

    fn change(&self, what: &str, slot: Option<Slot>) -> Result<(), ToolError> {
        let words: Vec<&str> = [what].into_iter().chain(slot.map(Slot::name)).collect();
        run::run(&self.program, &words, self.limit).map(drop)
    }

    fn query(&self) -> Result<CustomEvidence, ToolError> {
        let said = run::run(&self.program, &["evidence"], self.limit)?;
        serde_json::from_slice(&said).map_err(|error| {
            ToolError::unavailable(format!("{} says what is no evidence: {error}", self.program))
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
        let mut evidence = Evidence {
            root: seen.root,
            boot_id: seen.boot_id,
            reset: seen.reset,
            last_words: seen.last_words,
            ..Evidence::default()
        };
        match self.query() {
            Ok(told) => {
                let CustomEvidence { trial, booted, default, armed, tries, root } = told;
                evidence = Evidence { trial, booted, default, armed, tries, root: root.or(evidence.root), ..evidence };
            }
            Err(error) => evidence.faults.push(error.into_message()),
        }
        if evidence.root.is_none() {
            evidence.faults.extend(seen.faults);
        }
        evidence
    }

    fn arm(&self, target: Slot) -> Result<(), ToolError> {
        self.change("arm", Some(target))
    }

    fn disarm(&self) -> Result<(), ToolError> {
        self.change("disarm", None)
    }

    fn commit(&self, slot: Slot) -> Result<(), ToolError> {
        self.change("commit", Some(slot))
    }

    fn trial_argument(&self) -> Option<&str> {
        // Its `arm` is responsible for that.
        None
    }
}
