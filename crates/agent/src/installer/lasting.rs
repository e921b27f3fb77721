//! The count of starts ends with a run that lasts: what restarts the machine again and again does it sooner.

use super::Installer;
use base::os::{blocking, uptime};
use std::{sync::Arc, time::Duration};
use update::slots::counter::Counter;

/// A week, for what reads a file that rarely, and a day.
const LASTING: Duration = Duration::from_secs(8 * 86_400);

impl Installer {
    /// Zeroes the count once the machine has run for so long.
    pub(super) fn forget_starts(self: &Arc<Self>) {
        let Ok(system) = self.system() else { return };
        // An agent may start anew meanwhile. A simulated machine is as old as its agent.
        let run = if self.settings.simulated { None } else { uptime::read(&self.settings.root).ok() };
        let (system, rest) = (Arc::downgrade(&system), LASTING.saturating_sub(run.unwrap_or_default()));
        base::task::spawn(async move {
            tokio::time::sleep(rest).await;
            let Some(system) = system.upgrade() else { return };
            let cleared = blocking::run("update", move |_| Counter::Starts.clear(&*system.card.disk)).await;
            if let Err(error) = cleared {
                tracing::warn!(target: "agent", %error, "starts are counted on: the root is read more often than it has to be");
            }
        });
    }
}
