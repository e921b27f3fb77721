//! The claim that is open: a code of this boot, five tries in all, and an end on the boot's clock. In `/run`, for root alone, and so gone
//! with the power; in a file, so that an agent that starts again grants no new tries.
//!
//! The right code is answered with a token that does not count yet; what is kept of it here is its hash. Only when it is shown again is the
//! machine its owner's, and recorded so where nothing but a physical reset reaches. So whatever is cut short, nobody is locked out: as long as
//! the token was not shown, the same code gives another one, and a restart another code. And nobody else gets in: a token that was given out
//! and never shown is worth nothing after the next one, or after a restart.

use super::{Code, Folder};
use base::{error::ToolError, os::whole};
use contract::{
    access::token,
    config::{Sha256, prepared::read},
};
use serde::{Deserialize, Serialize};
use std::{io, io::Write, time::Duration};

/// Wrong codes that are taken in one boot.
pub const TRIES: u8 = 5;
/// How long after the window a token may still be shown that was given out in it.
pub const PARTING: Duration = Duration::from_secs(60);
/// Its name in the folder.
pub(super) const FILE: &str = "claim";

/// As it is now.
#[derive(Clone, Debug)]
pub struct Claim {
    pub code: Code,
    pub tries_left: u8,
    /// On the boot's clock (CLOCK_BOOTTIME).
    pub until: Duration,
    /// The hash of the token that was given out last and that nobody has shown yet.
    pub offered: Option<Sha256>,
}

/// Why a code was not taken, or a token.
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
    /// Not the token that was given out last.
    Unknown,
}

/// What a claim of a machine that has an owner is answered with.
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
}

impl Folder {
    /// The claim that is open, or was: whether its time is over, the caller looks.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` when the file is none of ours. Then nothing may be claimed.
    pub fn claim(&self) -> io::Result<Option<Claim>> {
        let Some(bytes) = read(&self.path().join(FILE))? else { return Ok(None) };
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let Kept { code, tries_left, until_ms, offered } =
            serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        let code = Code::parse(&code).map_err(|typo| bad(typo.to_string()))?;
        Ok(Some(Claim { code, tries_left, until: Duration::from_millis(until_ms), offered }))
    }

    /// Opens a claim until `until` on the boot's clock. One that is there stays, with the tries that are left of it.
    ///
    /// # Errors
    /// Those of the files; `internal` without randomness.
    pub fn open_claim(&self, until: Duration) -> Result<(), ToolError> {
        if self.claim().is_ok_and(|claim| claim.is_some()) {
            return Ok(());
        }
        self.put_claim(&Claim { code: Code::mint()?, tries_left: TRIES, until, offered: None })
    }

    /// Takes a try, and says whether the code is the right one; then the token with the hash `offer` is the one to be shown, until
    /// [`PARTING`] after the end of the window, which is given back. The try is spent before the code is looked at, and given back when it was
    /// the right one.
    ///
    /// # Errors
    /// The inner one says why the code is not taken; the outer one is `unavailable` when the file cannot be read or written: then no code
    /// is taken either.
    pub fn attempt(&self, code: &Code, offer: Sha256, now: Duration) -> Result<Result<Duration, Refusal>, ToolError> {
        let Some(mut claim) = self.opened()? else { return Ok(Err(Refusal::Closed)) };
        if now >= claim.until {
            return Ok(Err(Refusal::Late));
        }
        let Some(tries_left) = claim.tries_left.checked_sub(1) else { return Ok(Err(Refusal::Spent)) };
        self.put_claim(&Claim { tries_left, ..claim.clone() })?;
        if !code.is(&claim.code) {
            return Ok(Err(Refusal::Wrong { tries_left }));
        }
        claim.offered = Some(offer);
        self.put_claim(&claim)?;
        Ok(Ok(claim.until))
    }

    /// Whether the token with this hash is the one that was given out last. Changes nothing.
    ///
    /// # Errors
    /// As [`Folder::attempt`].
    pub fn offered(&self, shown: Sha256, now: Duration) -> Result<Result<(), Refusal>, ToolError> {
        let Some(claim) = self.opened()? else { return Ok(Err(Refusal::Closed)) };
        if now >= claim.until.saturating_add(PARTING) {
            return Ok(Err(Refusal::Late));
        }
        Ok(match claim.offered {
            Some(offered) if token::same(&offered.0, &shown.0) => Ok(()),
            _ => Err(Refusal::Unknown),
        })
    }

    /// Nothing can be claimed any more.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be removed.
    pub fn close_claim(&self) -> Result<(), ToolError> {
        whole::remove(&self.path().join(FILE)).map_err(|error| self.failed(FILE, &error))
    }

    fn opened(&self) -> Result<Option<Claim>, ToolError> {
        self.claim().map_err(|error| self.failed(FILE, &error))
    }

    fn put_claim(&self, claim: &Claim) -> Result<(), ToolError> {
        let until_ms = u64::try_from(claim.until.as_millis()).unwrap_or(u64::MAX);
        let (code, tries_left, offered) = (claim.code.to_string(), claim.tries_left, claim.offered);
        let text = serde_json::to_vec(&Kept { code, tries_left, until_ms, offered }).map_err(io::Error::other);
        let put = |text: Vec<u8>| whole::replace(&self.path().join(FILE), 0o600, |file| file.write_all(&text));
        text.and_then(put).map_err(|error| self.failed(FILE, &error))
    }
}
