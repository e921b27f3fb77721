//! Questions to a person: opened by the server, answered out of band, good for one call with exactly these arguments.
//!
//! ```text
//! pending --answer--> approved --redeem--> consumed
//!    |  \---answer--> denied      \
//!    |---withdraw---> withdrawn    \--expiry--> expired
//!    \---expiry, agent restart----------------> expired
//! ```

use super::{Clock, files};
use crate::{
    access::{audit::Approval, canonical},
    error::{ErrorCode, ToolError},
};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// What a person can keep an eye on; more are refused.
const MAX_PENDING: usize = 32;
/// One caller must not crowd out the others.
const MAX_PENDING_PER_PRINCIPAL: usize = 4;
/// Settled asks that are remembered, so that a late look still gets an answer.
const MAX_SETTLED: usize = 64;
/// Largest arguments a person can be expected to judge, in bytes of canonical JSON.
const MAX_ARGS: usize = 8 * 1024;
/// Crockford's base 32: nothing in it looks like something else.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// What the server wants to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    pub tool: String,
    /// One sentence: what will happen.
    pub summary: String,
    /// The arguments as the person sees them, secrets masked.
    pub args: Value,
    /// SHA-256 of the canonical JSON of the real arguments.
    pub args_sha256: String,
    pub principal: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskState {
    Pending,
    Approved,
    Denied,
    Withdrawn,
    Expired,
    Consumed,
}

/// One question and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Six characters a person can type.
    pub id: String,
    pub request: AskRequest,
    pub created_ms: i64,
    /// Pending: when it can no longer be answered. Approved: when it can no longer be used.
    pub expires_ms: i64,
    pub state: AskState,
    /// Who answered, by the kernel's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}

impl Ask {
    fn is_open(&self) -> bool {
        matches!(self.state, AskState::Pending | AskState::Approved)
    }
}

/// All asks, in memory and in the agent's folder.
pub(super) struct Asks {
    path: PathBuf,
    clock: Clock,
    expiry: Duration,
    all: Mutex<BTreeMap<String, Ask>>,
    changed: Arc<Notify>,
    /// How many were opened.
    opened: AtomicU64,
}

impl Asks {
    /// Reads the asks of the agent before. Nobody knows whether their callers still wait: what was open is expired.
    pub(super) fn load(folder: &Path, clock: Clock, expiry: Duration, faults: &mut Vec<String>) -> Self {
        let path = folder.join("asks.json");
        let mut all = BTreeMap::new();
        match files::read(&path) {
            Ok(None) => {}
            Ok(Some(bytes)) => match serde_json::from_slice::<Vec<Ask>>(&bytes) {
                Ok(asks) => {
                    for mut ask in asks {
                        if ask.is_open() {
                            ask.state = AskState::Expired;
                        }
                        all.insert(ask.id.clone(), ask);
                    }
                }
                Err(error) => faults.push(format!("{} is unreadable ({error}); open asks are lost", path.display())),
            },
            Err(error) => faults.push(error.message),
        }
        Self { path, clock, expiry, all: Mutex::new(all), changed: Arc::default(), opened: AtomicU64::new(0) }
    }

    /// Opens a question, or finds the same one: still open, or denied a moment ago. Says whether it is new.
    ///
    /// # Errors
    /// `resource_exhausted` beyond 32 pending, or 4 of one principal; `content_too_large` for arguments nobody can judge.
    pub(super) fn open(&self, request: AskRequest) -> Result<(Ask, bool), ToolError> {
        if canonical::to_string(&request.args).len() + request.summary.len() > MAX_ARGS {
            return Err(ToolError::new(
                ErrorCode::ContentTooLarge,
                format!("the arguments of {} are too large for a person to judge", request.tool),
            )
            .with("limit_bytes", MAX_ARGS)
            .hint("send smaller arguments, in several calls"));
        }
        let now = (self.clock)();
        let mut all = self.lock(now);
        let same = all.values().find(|ask| {
            let same = ask.request.tool == request.tool
                && ask.request.principal == request.principal
                && ask.request.args_sha256 == request.args_sha256;
            same && (ask.is_open() || ask.state == AskState::Denied && now < ask.expires_ms)
        });
        if let Some(same) = same {
            return Ok((same.clone(), false));
        }
        let pending = |ask: &&Ask| ask.state == AskState::Pending;
        let mine = all.values().filter(pending).filter(|ask| ask.request.principal == request.principal).count();
        if mine >= MAX_PENDING_PER_PRINCIPAL || all.values().filter(pending).count() >= MAX_PENDING {
            return Err(ToolError::exhausted(format!(
                "{mine} approvals asked for by {} already wait",
                request.principal
            ))
            .with("limit_per_principal", MAX_PENDING_PER_PRINCIPAL)
            .with("limit", MAX_PENDING)
            .hint("wait until a person has answered them with `raspi-mcp approve`"));
        }
        let mut id = new_id()?;
        while all.contains_key(&id) {
            id = new_id()?;
        }
        let expires_ms = now.saturating_add(millis(self.expiry));
        let ask =
            Ask { id: id.clone(), request, created_ms: now, expires_ms, state: AskState::Pending, by: None, how: None };
        all.insert(id.clone(), ask.clone());
        forget_old(&mut all);
        if let Err(error) = self.save(&all) {
            all.remove(&id);
            return Err(error);
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_waiters();
        Ok((ask, true))
    }

    /// The ask as it is once it is answered, or after `wait`.
    ///
    /// # Errors
    /// `not_found`.
    pub(super) async fn wait(&self, id: &str, wait: Duration) -> Result<Ask, ToolError> {
        let until = Instant::now() + wait;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that an answer in between is not missed.
            changed.as_mut().enable();
            let now = (self.clock)();
            let ask = self.get(&self.lock(now), id)?;
            let left = until.saturating_duration_since(Instant::now());
            if ask.state != AskState::Pending || left.is_zero() {
                return Ok(ask);
            }
            let to_expiry = u64::try_from(ask.expires_ms - now).unwrap_or(0).max(1);
            // Either way round the loop looks again.
            let _ = tokio::time::timeout(left.min(Duration::from_millis(to_expiry)), changed).await;
        }
    }

    /// What waits for an answer, the oldest first.
    pub(super) fn pending(&self) -> Vec<Ask> {
        let all = self.lock((self.clock)());
        let mut asks: Vec<Ask> = all.values().filter(|ask| ask.state == AskState::Pending).cloned().collect();
        asks.sort_by_key(|ask| ask.created_ms);
        asks
    }

    /// What waits, and how many were ever opened.
    pub(super) fn waiting(&self) -> (Vec<Ask>, u64) {
        (self.pending(), self.opened.load(Ordering::Relaxed))
    }

    /// Told whenever an ask comes, is answered or goes; not when its time runs out.
    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// A person's answer.
    ///
    /// # Errors
    /// `not_found`; `failed_precondition` when it no longer waits.
    pub(super) fn answer(&self, id: &str, approve: bool, by: &str, how: &str) -> Result<Ask, ToolError> {
        self.change(id, |ask, now, expiry| {
            demand(ask, AskState::Pending)?;
            ask.state = if approve { AskState::Approved } else { AskState::Denied };
            ask.by = Some(by.to_owned());
            ask.how = Some(how.to_owned());
            ask.expires_ms = now.saturating_add(expiry);
            Ok(())
        })
    }

    /// The caller no longer waits.
    ///
    /// # Errors
    /// `not_found`; `failed_precondition` when it was answered already.
    pub(super) fn withdraw(&self, id: &str) -> Result<Ask, ToolError> {
        self.change(id, |ask, _, _| {
            demand(ask, AskState::Pending)?;
            ask.state = AskState::Withdrawn;
            Ok(())
        })
    }

    /// Judges whether ask `id` lets this call through and, with `consume`, uses it up.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` when it is for another call, was denied, or was used before.
    pub(super) fn redeem(&self, id: &str, call: &BoundCall<'_>, consume: bool) -> Result<(Ask, Approval), ToolError> {
        let judge = |ask: &Ask| {
            call.matches(ask)?;
            demand(ask, AskState::Approved)
        };
        let ask = if consume {
            self.change(id, |ask, _, _| {
                judge(ask)?;
                ask.state = AskState::Consumed;
                Ok(())
            })?
        } else {
            let ask = self.get(&self.lock((self.clock)()), id)?;
            judge(&ask)?;
            ask
        };
        let approval = Approval {
            ask_id: ask.id.clone(),
            by: ask.by.clone().unwrap_or_default(),
            how: ask.how.clone().unwrap_or_default(),
        };
        Ok((ask, approval))
    }

    fn change(
        &self,
        id: &str,
        edit: impl FnOnce(&mut Ask, i64, i64) -> Result<(), ToolError>,
    ) -> Result<Ask, ToolError> {
        let now = (self.clock)();
        let mut all = self.lock(now);
        let before = self.get(&all, id)?;
        let mut after = before.clone();
        edit(&mut after, now, millis(self.expiry))?;
        all.insert(after.id.clone(), after.clone());
        if let Err(error) = self.save(&all) {
            // What is not on the card has not happened.
            all.insert(before.id.clone(), before);
            return Err(error);
        }
        self.changed.notify_waiters();
        Ok(after)
    }

    fn get(&self, all: &BTreeMap<String, Ask>, id: &str) -> Result<Ask, ToolError> {
        all.get(&normal_id(id)).cloned().ok_or_else(|| {
            ToolError::not_found(format!("there is no ask {id}"))
                .with("ask_id", id)
                .hint("`raspi-mcp approve --list` shows those that wait")
        })
    }

    fn save(&self, all: &BTreeMap<String, Ask>) -> Result<(), ToolError> {
        let asks: Vec<&Ask> = all.values().collect();
        let json = serde_json::to_vec(&asks).map_err(|error| ToolError::internal(format!("asks: {error}")))?;
        files::replace(&self.path, &json)
    }

    /// The asks as they are at `now`: time that has run out has run out.
    fn lock(&self, now: i64) -> MutexGuard<'_, BTreeMap<String, Ask>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for ask in all.values_mut().filter(|ask| ask.is_open() && now >= ask.expires_ms) {
            ask.state = AskState::Expired;
        }
        all
    }
}

/// The call an approval has to be for.
pub(super) struct BoundCall<'a> {
    pub tool: &'a str,
    pub principal: &'a str,
    pub args_sha256: &'a str,
}

impl BoundCall<'_> {
    fn matches(&self, ask: &Ask) -> Result<(), ToolError> {
        let differs = if ask.request.tool != self.tool {
            "tool"
        } else if ask.request.principal != self.principal {
            "caller"
        } else if ask.request.args_sha256 != self.args_sha256 {
            "arguments"
        } else {
            return Ok(());
        };
        Err(ToolError::denied(format!("ask {} was for another call: the {differs} differ", ask.id))
            .with("ask_id", ask.id.clone())
            .with("differs", differs)
            .hint("call again with what was approved, or ask anew"))
    }
}

fn demand(ask: &Ask, wanted: AskState) -> Result<(), ToolError> {
    if ask.state == wanted {
        return Ok(());
    }
    let state = match ask.state {
        AskState::Pending => "has not been answered yet",
        AskState::Approved => "has been approved already",
        AskState::Denied => "was denied",
        AskState::Withdrawn => "was withdrawn by its caller",
        AskState::Expired => "has expired",
        AskState::Consumed => "was used before; an approval is good for one call",
    };
    let code = if wanted == AskState::Approved { ErrorCode::PermissionDenied } else { ErrorCode::FailedPrecondition };
    Err(ToolError::new(code, format!("ask {} {state}", ask.id)).with("ask_id", ask.id.clone()))
}

/// Drops the oldest settled asks beyond the bound.
fn forget_old(all: &mut BTreeMap<String, Ask>) {
    let mut settled: Vec<(i64, String)> =
        all.values().filter(|ask| !ask.is_open()).map(|ask| (ask.created_ms, ask.id.clone())).collect();
    settled.sort();
    for (_, id) in settled.iter().take(settled.len().saturating_sub(MAX_SETTLED)) {
        all.remove(id);
    }
}

fn new_id() -> Result<String, ToolError> {
    let mut bytes = [0u8; 6];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

/// As people type it: small letters, and O for 0, I or L for 1.
pub(crate) fn normal_id(id: &str) -> String {
    id.trim()
        .chars()
        .map(|c| match c.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
