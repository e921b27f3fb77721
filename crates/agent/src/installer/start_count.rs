//! Zeroes the initramfs' count of starts when the machine has run for eight days: what restarts it again and again does so sooner.

use super::Installer;
use base::os::{blocking, uptime};
use std::{sync::Arc, time::Duration};
use update::slots::counter::Counter;

/// More than a week, in which even what a machine does once a week has read its files.
const LONG_RUN: Duration = Duration::from_secs(8 * 86_400);

impl Installer {
    /// Zeroes the count once the machine has run for [`LONG_RUN`].
    pub(super) fn clear_start_count(self: &Arc<Self>) {
        let Ok(system) = self.system() else { return };
        // An agent may start anew meanwhile. A simulated machine is as old as its agent.
        let run = if self.settings.simulated { None } else { uptime::read(&self.settings.root).ok() };
        let (system, rest) = (Arc::downgrade(&system), LONG_RUN.saturating_sub(run.unwrap_or_default()));
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
