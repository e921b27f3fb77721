//! The dead man's clock: after a commit, somebody has to hear of the channel again within `update.dead_man_hours`.

use super::{Marks, Updating};
use crate::{
    agent::{
        Warrant,
        deeds::update::{DEAD_MAN, RollBackRequest},
    },
    os::blocking,
    update::{channel::recall, status::Phase},
};
use std::time::Duration;
use tokio::time::sleep;

impl Updating {
    /// Waits for it, where the configuration wants that; looks at the channel itself before it says that nobody is there.
    pub(super) async fn dead_man(&self) {
        let hours = i64::from(self.0.settings.update.dead_man_hours);
        if hours == 0 || self.0.settings.update.url.is_empty() {
            return;
        }
        let mut marks = self.marks();
        loop {
            let Some(since) = self.unheard_since().await else {
                self.changed(&mut marks).await;
                continue;
            };
            let left = since.saturating_add(hours * 3_600_000).saturating_sub(self.now_ms());
            if let Ok(left) = u64::try_from(left)
                && left > 0
            {
                self.sleep_or_news(left, &mut marks).await;
                continue;
            }
            let channel = self.0.settings.update.channel.clone();
            if self.find(&channel, None).await.is_ok() {
                continue;
            }
            let warrant = Warrant { principal: DEAD_MAN.into(), args_sha256: String::new(), ask_id: None };
            match self.0.agent.roll_back(RollBackRequest { dry_run: false, warrant }).await {
                Ok(_) => {
                    tracing::warn!(target: "update", hours, "nothing was heard of the channel since the update: going back")
                }
                Err(error) => {
                    tracing::warn!(target: "update", %error, "nothing was heard of the channel, and there is no way back")
                }
            }
            self.moved();
            return;
        }
    }

    async fn sleep_or_news(&self, left_ms: u64, marks: &mut Marks) {
        tokio::select! {
            () = sleep(Duration::from_millis(left_ms)) => {}
            () = self.changed(marks) => {}
        }
    }

    /// When the running version was committed, if the channel was not heard since then: milliseconds since 1970 UTC.
    async fn unheard_since(&self) -> Option<i64> {
        let status = self.0.agent.update_status().await.ok()?;
        let last = status.last_attempt.filter(|last| last.phase == Phase::Committed)?;
        let running = status.slots.iter().find(|slot| slot.running)?;
        let other = status.slots.iter().find(|slot| !slot.running)?;
        let since = last.finished_ms.filter(|_| last.target == running.slot && running.counter > other.counter)?;
        let (folder, channel) = (self.0.folder.clone(), self.0.settings.update.channel.clone());
        let seen = blocking::run("update", move |_| Ok(recall(&folder, &channel))).await.ok().flatten();
        seen.is_none_or(|seen| seen.checked_ms <= since).then_some(since)
    }
}
