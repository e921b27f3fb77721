//! The open claim: a code for this boot, five tries in all, and an end on the boot clock. It is in `/run`, readable by
//! root only, and lost with the power. It is in a file, so that a restarted agent grants no new tries.
//!
//! The correct code is answered with a token that is not valid yet; only its hash is stored here. The machine gets its
//! owner only when the token is presented, and that is recorded where only a physical reset can undo it. Nobody is
//! locked out by an interruption: until the token is presented, the same code gives another token, and a restart
//! another code. And nobody else gets access: a token that was never presented is worthless once another one is given
//! out, or after a restart.
//!
//! On a machine that has an owner and no approver, the same file is an open enrolment: its code lets an approver in, and
//! no owner.

use super::{Code, Folder};
use base::{error::ToolError, os::whole};
use contract::{
    access::token,
    config::{Sha256, prepared::read},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{io, io::Write, time::Duration};

/// Maximum number of wrong codes in one boot.
pub const TRIES: u8 = 5;
/// Time after the end of the window in which a token that was given out can still be presented.
pub const PARTING: Duration = Duration::from_secs(60);
/// The file's name in the folder.
pub(super) const FILE: &str = "claim";

/// The current claim.
#[derive(Clone, Debug)]
pub struct CurrentClaim {
    pub code: Code,
    pub tries_left: u8,
    /// Its end, on the boot clock (CLOCK_BOOTTIME).
    pub until: Duration,
    /// The hash of the last token given out that was not presented yet.
    pub offered: Option<Sha256>,
    /// The owner's approver, which came with that code: an object that the agent checked.
    pub approver: Option<Value>,
}

/// Why a code or a token was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// There is no open claim: the machine has an owner, or no claim was prepared.
    Closed,
    /// The window is over; another one opens with the next start of the machine.
    Late,
    /// All tries of this boot are used.
    Spent,
    /// A wrong code, with the number of tries that are left.
    Wrong { tries_left: u8 },
    /// Not the last token that was given out.
    Unknown,
}

/// The error for a claim of a machine that has an owner.
pub fn claimed_already() -> ToolError {
    ToolError::precondition("this machine is claimed already: it has an owner")
        .hint("ask its owner for a token; whoever holds the machine can reset it (docs/first-boot.md)")
}

#[derive(Serialize, Deserialize)]
struct Kept {
    code: String,
    tries_left: u8,
    until_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offered: Option<Sha256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approver: Option<Value>,
}

impl Folder {
    /// The claim, if there is one. The caller must check whether it has expired.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` when the file's content is invalid. Nothing can be claimed then.
    pub fn claim(&self) -> io::Result<Option<CurrentClaim>> {
        let Some(bytes) = read(&self.path().join(FILE))? else { return Ok(None) };
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let Kept { code, tries_left, until_ms, offered, approver } =
            serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        let code = Code::parse(&code).map_err(|typo| bad(typo.to_string()))?;
        Ok(Some(CurrentClaim { code, tries_left, until: Duration::from_millis(until_ms), offered, approver }))
    }

    /// Opens a claim until `until` on the boot clock. An existing one is kept, with its remaining tries.
    ///
    /// # Errors
    /// Those of the files; `internal` without random numbers.
    pub fn open_claim(&self, until: Duration) -> Result<(), ToolError> {
        if self.claim().is_ok_and(|claim| claim.is_some()) {
            return Ok(());
        }
        self.put_claim(&CurrentClaim { code: Code::mint()?, tries_left: TRIES, until, offered: None, approver: None })
    }

    /// Uses a try, and checks the code. If it is correct, the token with the hash `offer` is the one to be presented,
    /// until [`PARTING`] after the end of the window, which is returned; `approver` comes with it.
    ///
    /// # Errors
    /// As [`Folder::tried`].
    pub fn attempt(
        &self,
        code: &Code,
        offer: Sha256,
        approver: Option<Value>,
        now: Duration,
    ) -> Result<Result<Duration, ClaimRefusal>, ToolError> {
        let claim = match self.tried(code, now)? {
            Ok(claim) => CurrentClaim { offered: Some(offer), approver, ..claim },
            Err(refusal) => return Ok(Err(refusal)),
        };
        self.put_claim(&claim)?;
        Ok(Ok(claim.until))
    }

    /// Uses a try, and checks the code. The try is recorded before the code is compared, and given back if the code is
    /// correct.
    ///
    /// # Errors
    /// The inner error says why the code is refused. The outer one is `unavailable` when the file cannot be read or
    /// written; no code is accepted then.
    pub fn tried(&self, code: &Code, now: Duration) -> Result<Result<CurrentClaim, ClaimRefusal>, ToolError> {
        let right = |claim: &CurrentClaim| code.is(&claim.code).then(|| claim.clone());
        self.tried_with(now, right)
    }

    /// Uses a try on what only the right code opens. The try is recorded before `open` is called, and given back if it
    /// returns something.
    ///
    /// # Errors
    /// As [`Folder::tried`].
    pub fn tried_with<T>(
        &self,
        now: Duration,
        open: impl FnOnce(&CurrentClaim) -> Option<T>,
    ) -> Result<Result<T, ClaimRefusal>, ToolError> {
        let Some(claim) = self.opened()? else { return Ok(Err(ClaimRefusal::Closed)) };
        if now >= claim.until {
            return Ok(Err(ClaimRefusal::Late));
        }
        let Some(tries_left) = claim.tries_left.checked_sub(1) else { return Ok(Err(ClaimRefusal::Spent)) };
        self.put_claim(&CurrentClaim { tries_left, ..claim.clone() })?;
        let Some(opened) = open(&claim) else { return Ok(Err(ClaimRefusal::Wrong { tries_left })) };
        self.put_claim(&claim)?;
        Ok(Ok(opened))
    }

    /// Checks whether the token with this hash is the last one given out, and returns the approver that came with its
    /// code. Changes nothing.
    ///
    /// # Errors
    /// As [`Folder::tried`].
    pub fn offered(&self, shown: Sha256, now: Duration) -> Result<Result<Option<Value>, ClaimRefusal>, ToolError> {
        let Some(claim) = self.opened()? else { return Ok(Err(ClaimRefusal::Closed)) };
        if now >= claim.until.saturating_add(PARTING) {
            return Ok(Err(ClaimRefusal::Late));
        }
        Ok(match claim.offered {
            Some(offered) if token::same(&offered.0, &shown.0) => Ok(claim.approver),
            _ => Err(ClaimRefusal::Unknown),
        })
    }

    /// Closes the claim.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be removed.
    pub fn close_claim(&self) -> Result<(), ToolError> {
        whole::remove(&self.path().join(FILE)).map_err(|error| self.failed(FILE, &error))
    }

    fn opened(&self) -> Result<Option<CurrentClaim>, ToolError> {
        self.claim().map_err(|error| self.failed(FILE, &error))
    }

    fn put_claim(&self, claim: &CurrentClaim) -> Result<(), ToolError> {
        let until_ms = u64::try_from(claim.until.as_millis()).unwrap_or(u64::MAX);
        let (code, tries_left, offered) = (claim.code.to_string(), claim.tries_left, claim.offered);
        let approver = claim.approver.clone();
        let text =
            serde_json::to_vec(&Kept { code, tries_left, until_ms, offered, approver }).map_err(io::Error::other);
        let put = |text: Vec<u8>| whole::replace(&self.path().join(FILE), 0o600, |file| file.write_all(&text));
        text.and_then(put).map_err(|error| self.failed(FILE, &error))
    }
}
