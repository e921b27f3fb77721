//! Follows the statuses, and the folder: a device that was signed or revoked counts from then on.

use super::{
    FleetNews, FleetServer, View,
    alarm::{Alarm, EVERY},
};
use crate::fleet::console::{
    Console, FleetFolder,
    watch::{ChangeKind, FleetChange, FleetWatch},
};
use base::{error::ToolError, os::folders::Folders};
use std::{future::pending, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};

/// The wait after a change of the folder: many devices may be signed at once.
const SETTLE: Duration = Duration::from_secs(1);

impl FleetServer {
    /// Follows the fleet for ever, and goes on with rollouts that are not over. `tell` hears of devices that
    /// became silent, and of two machines of one identity.
    pub async fn run(mut self, tell: impl Fn(FleetNews)) {
        let view = self.fleet.view();
        self.fleet.rollouts.go_on(&view.console).await;
        let mut folders = Folders::watch(vec![self.fleet.served.dir.join("devices")])
            .inspect_err(|error| tracing::warn!(%error, "devices that are signed now are known after a restart"))
            .ok();
        let mut alarm = Alarm::new(self.fleet.served.state().join("silent.json"));
        self.watch.silent_now().iter().for_each(|name| alarm.add(name));
        loop {
            // What was waited for may be dropped: the statuses are read again from the beginning.
            tokio::select! {
                never = follow(&mut self.watch, &mut alarm, &tell) => match never {},
                () = changed(&mut folders) => sleep(SETTLE).await,
            }
            match self.again().await {
                Ok(watch) => self.watch = watch,
                Err(error) => {
                    tracing::error!(error = error.advice(), "the folder of the fleet was not read again");
                    sleep(EVERY).await;
                }
            }
        }
    }

    /// Reads the folder and the statuses again, over the connection that is there.
    async fn again(&self) -> Result<FleetWatch, ToolError> {
        let served = &self.fleet.served;
        let now = self.fleet.view().console;
        let console = Arc::new(Console {
            folder: FleetFolder::read(&served.dir)?,
            subjects: now.subjects.clone(),
            broker: now.broker.clone(),
            wall: now.wall.clone(),
        });
        let watch = self.watch.again(Arc::clone(&console)).await?;
        self.fleet.show(View { console, book: watch.book().clone() });
        Ok(watch)
    }
}

/// Waits for a change of the folder.
async fn changed(folders: &mut Option<Folders>) {
    match folders {
        Some(watched) => {
            while let Ok(()) = watched.ready().await {
                if watched.changed() {
                    return;
                }
            }
            tracing::warn!("devices that are signed now are known after a restart");
            *folders = None;
            pending().await
        }
        None => pending().await,
    }
}

async fn follow(watch: &mut FleetWatch, alarm: &mut Alarm, tell: &impl Fn(FleetNews)) -> ! {
    loop {
        let changes = {
            let mut next = std::pin::pin!(watch.next());
            loop {
                let Some(due) = alarm.due() else { break next.await };
                tokio::select! {
                    () = sleep_until(due) => alarm.tell(Instant::now(), |silent| tell(FleetNews::Silent(silent))),
                    changes = next.as_mut() => break changes,
                }
            }
        };
        for FleetChange { name, what, kind } in changes {
            match kind {
                ChangeKind::Status => alarm.heard(&name),
                ChangeKind::Silent => alarm.add(&name),
                ChangeKind::Clone => tell(FleetNews::Twins { name, what }),
                ChangeKind::Refused => tracing::warn!(target: "fleet", device = name, "{what}"),
                ChangeKind::Broker => {
                    tracing::warn!(target: "fleet", "the broker delivers nothing: {what}");
                    alarm.broker_is_away();
                }
            }
        }
        alarm.tell(Instant::now(), |silent| tell(FleetNews::Silent(silent)));
    }
}
