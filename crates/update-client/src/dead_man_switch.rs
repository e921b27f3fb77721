//! The dead man's switch: after a commit, the channel must answer again within `update.dead_man_hours`.

use crate::UpdateClient;
use agent::{
    Authorization, DEAD_MAN,
    operations::update::{GetUpdateStatus, RollBack, RollBackRequest},
};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking,
};
use std::time::Duration;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use update::{channel::recall, status::Phase};

/// Minimum time after the server's start, whatever the clock says: a device that was switched off for long, or whose
/// clock was just set, had no chance to reach the channel before.
const CHANCE: Duration = Duration::from_secs(3600);
/// Pause before the agent is called again, when it could not be reached or was busy.
const AGAIN: Duration = Duration::from_secs(600);

impl UpdateClient {
    /// Runs the switch if it is configured. Checks the channel itself before it requests the rollback.
    pub(crate) async fn dead_man_switch(&self) {
        let hours = i64::from(self.0.settings.update.dead_man_hours);
        if hours == 0 || self.0.settings.update.url.is_empty() {
            return;
        }
        let (mut moved, chance) = (self.0.moved.subscribe(), Instant::now() + CHANCE);
        // The commit for which the agent was called; it is called once per commit.
        let mut told = None;
        loop {
            let since = match self.unheard_since().await {
                Ok(Some(since)) if told != Some(since) => since,
                Ok(_) => {
                    // The sender lives as long as `self`.
                    let _ = moved.changed().await;
                    continue;
                }
                Err(error) if passes(&error) => {
                    sleep_or_news(AGAIN, &mut moved).await;
                    continue;
                }
                Err(error) => {
                    tracing::debug!(target: "update", %error, "nothing that could go back");
                    return;
                }
            };
            let left = since.saturating_add(hours * 3_600_000).saturating_sub(self.now_ms());
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
            let left = left.max(chance.saturating_duration_since(Instant::now()));
            if !left.is_zero() {
                sleep_or_news(left, &mut moved).await;
                continue;
            }
            // This also records it.
            let channel = self.0.settings.update.channel.clone();
            let found = self.find(&channel, None).await;
            // The index may be there, and only have nowhere to be stored.
            if found.is_ok() || matches!(self.unheard_since().await, Ok(None)) {
                continue;
            }
            let authorization = Authorization { principal: DEAD_MAN.into(), args_sha256: String::new(), ask_id: None };
            match self.0.agent.call::<RollBack>(RollBackRequest { dry_run: false, authorization }).await {
                Ok(_) => {
                    tracing::warn!(target: "update", hours, "nothing was heard of the channel since the update: going back");
                    told = Some(since);
                    self.moved();
                }
                Err(error) => {
                    tracing::warn!(target: "update", %error, "nothing was heard of the channel, and there is no way back");
                    if passes(&error) {
                        sleep_or_news(AGAIN, &mut moved).await;
                    } else {
                        told = Some(since);
                    }
                }
            }
        }
    }

    /// When the running version was committed, in milliseconds since 1970 UTC, if the channel was not reached since
    /// then. The agent's record of that counts, and what the server remembers of a channel, which versions without such a record left.
    async fn unheard_since(&self) -> Result<Option<i64>, ToolError> {
        let status = self.0.agent.get::<GetUpdateStatus>().await?;
        if status.channel_reached {
            return Ok(None);
        }
        let committed = || {
            let last = status.last_attempt.filter(|last| last.phase == Phase::Committed)?;
            let running = status.slots.iter().find(|slot| slot.running)?;
            let other = status.slots.iter().find(|slot| !slot.running)?;
            last.finished_ms.filter(|_| last.target == running.slot && running.counter > other.counter)
        };
        let Some(since) = committed() else { return Ok(None) };
        let (folder, channel) = (self.0.folder.clone(), self.0.settings.update.channel.clone());
        let seen = blocking::run("update", move |_| Ok(recall(&folder, &channel))).await?;
        Ok(seen.is_none_or(|seen| seen.checked_ms <= since).then_some(since))
    }
}

/// Whether the error may be temporary.
fn passes(error: &ToolError) -> bool {
    use ErrorCode::{Conflict, ResourceExhausted, Timeout, Unavailable};
    matches!(error.code, Conflict | ResourceExhausted | Timeout | Unavailable)
}

async fn sleep_or_news(wait: Duration, moved: &mut watch::Receiver<u64>) {
    tokio::select! {
        () = sleep(wait) => {}
        _ = moved.changed() => {}
    }
}
