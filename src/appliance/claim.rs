//! The claim that is open: a code of this boot, five tries in all, and an end on the boot's clock. In `/run`, for root alone, and so gone
//! with the power; in a file, so that an agent that starts again grants no new tries.

use super::{Code, Folder, derived::read};
use crate::{error::ToolError, os::whole};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    io::Write,
    time::Duration,
};

/// Wrong codes that are taken in one boot.
pub const TRIES: u8 = 5;
/// Its name in the folder.
pub(super) const FILE: &str = "claim";

/// As it is now.
#[derive(Clone, Debug)]
pub struct Claim {
    pub code: Code,
    pub tries_left: u8,
    /// On the boot's clock (CLOCK_BOOTTIME).
    pub until: Duration,
}

/// Why a code was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing is open: the machine has an owner, or none was prepared.
    Closed,
    /// The window is over; another one opens with the next start of the machine.
    Late,
    /// All tries of this start are used up.
    Spent,
    /// Another code; so many tries are left.
    Wrong { tries_left: u8 },
}

#[derive(Serialize, Deserialize)]
struct Kept {
    code: String,
    tries_left: u8,
    until_ms: u64,
}

impl Folder {
    /// The claim that is open, or was: whether its time is over, the caller looks.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` when the file is none of ours. Then nothing may be claimed.
    pub fn claim(&self) -> io::Result<Option<Claim>> {
        let Some(bytes) = read(&self.path().join(FILE))? else { return Ok(None) };
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let kept: Kept = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        let code = Code::parse(&kept.code).ok_or_else(|| bad("it has no claim code".into()))?;
        Ok(Some(Claim { code, tries_left: kept.tries_left, until: Duration::from_millis(kept.until_ms) }))
    }

    /// Opens a claim until `until` on the boot's clock. One that is there stays, with the tries that are left of it.
    ///
    /// # Errors
    /// Those of the files; `internal` without randomness.
    pub fn open_claim(&self, until: Duration) -> Result<(), ToolError> {
        if self.claim().is_ok_and(|claim| claim.is_some()) {
            return Ok(());
        }
        let claim = Claim { code: Code::mint()?, tries_left: TRIES, until };
        self.put_claim(&claim).map_err(|error| self.failed(FILE, &error))
    }

    /// Takes a try, and says whether the code is the right one. The try is spent before the code is looked at.
    ///
    /// # Errors
    /// The inner one says why the code is not taken; the outer one is `unavailable` when the file cannot be read or written: then no code
    /// is taken either.
    pub fn attempt(&self, code: &str, now: Duration) -> Result<Result<(), Refusal>, ToolError> {
        let Some(mut claim) = self.claim().map_err(|error| self.failed(FILE, &error))? else {
            return Ok(Err(Refusal::Closed));
        };
        if now >= claim.until {
            return Ok(Err(Refusal::Late));
        }
        if claim.tries_left == 0 {
            return Ok(Err(Refusal::Spent));
        }
        claim.tries_left -= 1;
        self.put_claim(&claim).map_err(|error| self.failed(FILE, &error))?;
        let right = Code::parse(code).is_some_and(|given| given.is(&claim.code));
        Ok(if right { Ok(()) } else { Err(Refusal::Wrong { tries_left: claim.tries_left }) })
    }

    /// Nothing can be claimed any more.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be removed.
    pub fn close_claim(&self) -> Result<(), ToolError> {
        match fs::remove_file(self.path().join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(FILE, &error)),
            _ => Ok(()),
        }
    }

    fn put_claim(&self, claim: &Claim) -> io::Result<()> {
        let until_ms = u64::try_from(claim.until.as_millis()).unwrap_or(u64::MAX);
        let kept = Kept { code: claim.code.to_string(), tries_left: claim.tries_left, until_ms };
        let text = serde_json::to_vec(&kept).map_err(io::Error::other)?;
        whole::replace(&self.path().join(FILE), 0o600, |file| file.write_all(&text))
    }
}
