//! Asks to a person: opened by the server, answered out of band, valid for one call with exactly these arguments.
//!
//! ```text
//! pending --answer--> approved --redeem--> consumed
//!    |  \---answer--> denied      \
//!    |---withdraw---> withdrawn    |--expiry--> expired
//!    |---halt-------> denied       \--halt----> denied
//!    \---expiry, agent restart----------------> expired
//! ```

//!
//! Expiry uses the boot clock, which cannot be set back. Wall-clock times are for display only.

mod ask;
mod asker;
mod stored;

pub(super) use ask::BoundCall;
pub use ask::normal_id;
pub use ask::{Ask, AskRequest, AskState};

use self::{
    ask::{demand, new_id},
    asker::Asker,
};
use super::{
    clock::{BootClock, Clock},
    files,
};
use base::error::ToolError;
use contract::{access::question, audit::ApprovalRecord};
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

/// Settled asks that are kept, so that a late query still gets an answer.
const MAX_SETTLED: usize = 64;
/// Difference between the displayed and the real expiry above which the displayed one is recomputed, because the wall
/// clock was set.
const DRIFT_MS: i64 = 1000;

/// All asks, in memory and in the agent's folder.
pub(super) struct Asks {
    path: PathBuf,
    clock: Clock,
    boot: BootClock,
    expiry: Duration,
    all: Mutex<BTreeMap<String, Kept>>,
    changed: Arc<Notify>,
    /// How many asks were ever opened.
    opened: AtomicU64,
}

/// An ask and its times since power-on.
#[derive(Clone)]
struct Kept {
    ask: Ask,
    from: Asker,
    since: Duration,
    until: Duration,
}

impl Asks {
    /// Loads the asks of the previous agent. Their callers may be gone, so open ones become expired.
    pub(super) fn load(
        folder: &Path,
        clock: &Clock,
        boot: &BootClock,
        expiry: Duration,
        faults: &mut Vec<String>,
    ) -> Self {
        let (now_ms, now) = (clock(), boot());
        let path = folder.join("asks.json");
        let mut all = BTreeMap::new();
        for mut ask in stored::asks(&path, faults) {
            if ask.is_open() {
                settle(&mut ask, AskState::Expired);
            }
            // A denial stays in force for its remaining time, at most its whole time: the wall clock may have been set.
            let left = u64::try_from(ask.expires_ms.saturating_sub(now_ms)).unwrap_or(0);
            let until = now + Duration::from_millis(left).min(expiry);
            let from = Asker::of(&mut ask.request);
            all.insert(ask.id.clone(), Kept { ask, from, since: Duration::ZERO, until });
        }
        let (clock, boot) = (Arc::clone(clock), Arc::clone(boot));
        Self { path, clock, boot, expiry, all: Mutex::new(all), changed: Arc::default(), opened: AtomicU64::new(0) }
    }

    /// Opens an ask, or returns an equal one that is open or was denied recently. Also returns whether it is new.
    ///
    /// # Errors
    /// `resource_exhausted` beyond 32 pending, 28 of callers that are no admins, or 4 of one party; `content_too_large` for
    /// arguments too long to be judged by a person.
    pub(super) fn open(&self, mut request: AskRequest) -> Result<(Ask, bool), ToolError> {
        question::check(&request.tool, &request.args, &request.marks)?;
        for (name, text) in [("tool", &request.tool), ("summary", &request.summary), ("principal", &request.principal)]
        {
            question::short(name, text)?;
        }
        let (mut all, now) = self.lock();
        let same = all.values().find(|kept| {
            let ask = &kept.ask;
            let same = ask.request.tool == request.tool
                && ask.request.principal == request.principal
                && ask.request.args_sha256 == request.args_sha256;
            same && (ask.is_open() || ask.state == AskState::Denied && now < kept.until)
        });
        if let Some(same) = same {
            return Ok((same.ask.clone(), false));
        }
        let from = Asker::of(&mut request);
        from.has_room(all.values().filter(|kept| kept.ask.state == AskState::Pending).map(|kept| &kept.from))?;
        let mut id = new_id()?;
        while all.contains_key(&id) {
            id = new_id()?;
        }
        let created_ms = (self.clock)();
        let expires_ms = created_ms.saturating_add(millis(self.expiry));
        let ask =
            Ask { id: id.clone(), request, created_ms, expires_ms, state: AskState::Pending, by: None, how: None };
        all.insert(id.clone(), Kept { ask: ask.clone(), from, since: now, until: now + self.expiry });
        forget_old(&mut all, now);
        if let Err(error) = self.save(&all) {
            all.remove(&id);
            return Err(error);
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_waiters();
        Ok((ask, true))
    }

    /// Returns the ask when it is answered, or as it is after `wait`.
    ///
    /// # Errors
    /// `not_found`.
    pub(super) async fn wait(&self, id: &str, wait: Duration) -> Result<Ask, ToolError> {
        let until = Instant::now() + wait;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that an answer in between is not missed.
            changed.as_mut().enable();
            let (kept, now) = {
                let (all, now) = self.lock();
                (self.get(&all, id)?, now)
            };
            let left = until.saturating_duration_since(Instant::now());
            if kept.ask.state != AskState::Pending || left.is_zero() {
                return Ok(kept.ask);
            }
            let to_expiry = kept.until.saturating_sub(now).max(Duration::from_millis(1));
            // The loop checks again whether this timed out or not.
            let _ = tokio::time::timeout(left.min(to_expiry), changed).await;
        }
    }

    /// Pending asks, oldest first.
    pub(super) fn pending(&self) -> Vec<Ask> {
        self.waiting().0
    }

    /// Pending asks, the time until the first one expires, and how many were ever opened.
    pub(super) fn waiting(&self) -> (Vec<Ask>, Option<Duration>, u64) {
        let (all, now) = self.lock();
        let mut kept: Vec<&Kept> = all.values().filter(|kept| kept.ask.state == AskState::Pending).collect();
        base::sort::sort_by_key(&mut kept, |kept| kept.since);
        let left = kept.iter().map(|kept| kept.until.saturating_sub(now)).min();
        let asks = kept.into_iter().map(|kept| kept.ask.clone()).collect();
        (asks, left, self.opened.load(Ordering::Relaxed))
    }

    /// Returns when other asks than `known` are pending, or after `wait`.
    pub(super) async fn others_than(&self, known: &[String], wait: Duration) {
        let until = Instant::now() + wait;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no ask in between is missed.
            changed.as_mut().enable();
            let (pending, expiry, _) = self.waiting();
            let left = until.saturating_duration_since(Instant::now());
            let same = pending.len() == known.len() && pending.iter().all(|ask| known.contains(&ask.id));
            if !same || left.is_zero() {
                return;
            }
            let expiry = expiry.unwrap_or(left).max(Duration::from_millis(1));
            // The loop checks again whether this timed out or not.
            let _ = tokio::time::timeout(left.min(expiry), changed).await;
        }
    }

    /// Notified when an ask is opened, answered or removed, but not when one expires.
    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// Records a person's answer.
    ///
    /// # Errors
    /// `not_found`; `failed_precondition` when it is no longer pending.
    pub(super) fn answer(&self, id: &str, approve: bool, by: &str, how: &str) -> Result<Ask, ToolError> {
        self.change(id, |kept, now| {
            let ask = &mut kept.ask;
            demand(ask, AskState::Pending)?;
            if approve {
                ask.state = AskState::Approved;
            } else {
                settle(ask, AskState::Denied);
            }
            ask.by = Some(by.to_owned());
            ask.how = Some(how.to_owned());
            ask.expires_ms = (self.clock)().saturating_add(millis(self.expiry));
            kept.until = now + self.expiry;
            Ok(())
        })
    }

    /// Revokes another person's approval that was not used yet.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` when there is no such approval any more.
    pub(super) fn take_back(&self, id: &str, by: &str, how: &str) -> Result<Ask, ToolError> {
        self.change(id, |kept, now| {
            let ask = &mut kept.ask;
            demand(ask, AskState::Approved)?;
            settle(ask, AskState::Denied);
            (ask.by, ask.how) = (Some(by.to_owned()), Some(how.to_owned()));
            ask.expires_ms = (self.clock)().saturating_add(millis(self.expiry));
            kept.until = now + self.expiry;
            Ok(())
        })
    }

    /// Denies every open ask, approved ones included, and returns their IDs. Unlike a person's no to one call, it does
    /// not stand: whoever asks again is asked about anew. Counts even if it cannot be written, since asks of an earlier
    /// agent are never open.
    pub(super) fn deny_all(&self, by: &str, how: &str) -> Vec<String> {
        let (mut all, now) = self.lock();
        let now_ms = (self.clock)();
        let mut denied = Vec::new();
        for kept in all.values_mut().filter(|kept| kept.ask.is_open()) {
            settle(&mut kept.ask, AskState::Denied);
            (kept.ask.by, kept.ask.how) = (Some(by.to_owned()), Some(how.to_owned()));
            (kept.ask.expires_ms, kept.until) = (now_ms, now);
            denied.push(kept.ask.id.clone());
        }
        if denied.is_empty() {
            return denied;
        }
        if let Err(error) = self.save(&all) {
            tracing::error!(target: "agent", %error, "that asks were denied");
        }
        self.changed.notify_waiters();
        denied
    }

    /// The caller no longer waits.
    ///
    /// # Errors
    /// `not_found`; `failed_precondition` when it was answered already.
    pub(super) fn withdraw(&self, id: &str) -> Result<Ask, ToolError> {
        self.change(id, |kept, _| {
            demand(&kept.ask, AskState::Pending)?;
            settle(&mut kept.ask, AskState::Withdrawn);
            Ok(())
        })
    }

    /// Judges whether ask `id` lets this call through and, with `consume`, uses it up.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` when it is for another call, was denied, or was used before.
    pub(super) fn redeem(
        &self,
        id: &str,
        call: &BoundCall<'_>,
        consume: bool,
    ) -> Result<(Ask, ApprovalRecord), ToolError> {
        let judge = |ask: &Ask| {
            call.matches(ask)?;
            demand(ask, AskState::Approved)
        };
        let ask = if consume {
            self.change(id, |kept, _| {
                judge(&kept.ask)?;
                settle(&mut kept.ask, AskState::Consumed);
                Ok(())
            })?
        } else {
            let ask = self.get(&self.lock().0, id)?.ask;
            judge(&ask)?;
            ask
        };
        let approval = ApprovalRecord {
            ask_id: ask.id.clone(),
            by: ask.by.clone().unwrap_or_default(),
            how: ask.how.clone().unwrap_or_default(),
        };
        Ok((ask, approval))
    }

    fn change(
        &self,
        id: &str,
        edit: impl FnOnce(&mut Kept, Duration) -> Result<(), ToolError>,
    ) -> Result<Ask, ToolError> {
        let (mut all, now) = self.lock();
        let before = self.get(&all, id)?;
        let mut after = before.clone();
        edit(&mut after, now)?;
        let (id, ask) = (after.ask.id.clone(), after.ask.clone());
        all.insert(id.clone(), after);
        if let Err(error) = self.save(&all) {
            // Undone: what was not written to the card does not count.
            all.insert(id, before);
            return Err(error);
        }
        self.changed.notify_waiters();
        Ok(ask)
    }

    fn get(&self, all: &BTreeMap<String, Kept>, id: &str) -> Result<Kept, ToolError> {
        all.get(&normal_id(id)).cloned().ok_or_else(|| {
            ToolError::not_found(format!("there is no ask {id}"))
                .with("ask_id", id)
                .hint("`raspi-mcp approve --list` shows those that wait")
        })
    }

    fn save(&self, all: &BTreeMap<String, Kept>) -> Result<(), ToolError> {
        let asks: Vec<&Ask> = all.values().map(|kept| &kept.ask).collect();
        let json = serde_json::to_vec(&asks).map_err(|error| ToolError::internal(format!("asks: {error}")))?;
        files::replace(&self.path, &json)
    }

    /// The asks as of now, with expired ones updated, and the time since power-on.
    fn lock(&self) -> (MutexGuard<'_, BTreeMap<String, Kept>>, Duration) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, now_ms) = ((self.boot)(), (self.clock)());
        for kept in all.values_mut().filter(|kept| kept.ask.is_open()) {
            if now >= kept.until {
                settle(&mut kept.ask, AskState::Expired);
                continue;
            }
            let ends_ms = now_ms.saturating_add(millis(kept.until.saturating_sub(now)));
            if ends_ms.abs_diff(kept.ask.expires_ms) > DRIFT_MS.unsigned_abs() {
                kept.ask.expires_ms = ends_ms;
            }
        }
        (all, now)
    }
}

/// Settles an ask. Its arguments are dropped: they may be long or secret, and are no longer needed.
fn settle(ask: &mut Ask, state: AskState) {
    ask.state = state;
    ask.request.args = serde_json::Value::Null;
    ask.request.marks.clear();
}

/// Drops the oldest settled asks beyond the bound; a person's no that still stands last of all, so that nobody pushes it
/// out with asks of their own.
fn forget_old(all: &mut BTreeMap<String, Kept>, now: Duration) {
    let settled = all.values().filter(|kept| !kept.ask.is_open());
    let stands = |kept: &Kept| kept.ask.state == AskState::Denied && now < kept.until;
    let mut settled: Vec<_> =
        settled.map(|kept| (stands(kept), kept.since, kept.ask.created_ms, kept.ask.id.clone())).collect();
    base::sort::sort(&mut settled);
    for (.., id) in settled.iter().take(settled.len().saturating_sub(MAX_SETTLED)) {
        all.remove(id);
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
