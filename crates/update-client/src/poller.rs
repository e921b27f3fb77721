//! Checks the channel periodically, if configured, and installs what it finds within the configured hours.

use crate::{
    UpdateClient,
    channel_check::{ChannelCheck, ReleaseOffer},
    preview::job_id,
};
use agent::operations::update::GetUpdateStatus;
use base::error::ToolError;
use hw::machine::Machine;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::time::sleep;
use update::{
    bundle::Digest,
    channel::Spread,
    job::{AUTOMATIC, JobState, UpdateOrder, WantedRelease},
    status::Phase,
};

/// Maximum pause between attempts to install a release that failed; the pauses grow up to a day.
const DAY_MS: u64 = 24 * 3_600_000;
/// Shortest pause before the first check, and the time over which a fleet's first checks are spread.
const FIRST: Duration = Duration::from_secs(60);
const FIRST_SPREAD: Duration = Duration::from_secs(240);
/// The same for checks that a fleet is told to make.
const TOLD_SPREAD: Duration = Duration::from_secs(30);

/// Checks the channel every `update.check_interval_hours`, the first time after one to five minutes by the device's identity, so that a
/// fleet that got power again does not check all at once. Returns at once if it is not configured.
pub(crate) async fn run(client: &UpdateClient, machine: &Weak<Machine>) {
    let settings = &client.0.settings.update;
    if settings.check_interval_hours == 0 || settings.url.is_empty() {
        return;
    }
    let interval = Duration::from_secs(u64::from(settings.check_interval_hours) * 3600);
    let mut pause = FIRST + client.spread().within("update.check", FIRST_SPREAD);
    let mut tries = Tries::default();
    loop {
        tokio::select! {
            () = sleep(pause) => {}
            // A whole fleet may have been told to look.
            () = client.0.looked.notified() => sleep(client.spread().within("update.look", TOLD_SPREAD)).await,
        }
        pause = interval;
        let found = match client.find_by_itself(&settings.channel).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(target: "update", %error, "the channel was not heard");
                continue;
            }
        };
        let ChannelCheck { offer: Some(offer), .. } = found else { continue };
        let Some(machine) = machine.upgrade() else { return };
        if !settings.automatic || !tries.is_due(client, offer.release.manifest, interval) {
            continue;
        }
        if client.waits_to_be_tried(&offer.release.manifest).await {
            continue;
        }
        match client.shut() {
            // Checked again then: it may have been withdrawn, or there is a newer one.
            Some(wait) => pause = pause.min(wait),
            None => {
                tries.count(offer.release.manifest);
                client.install_by_itself(&offer, &machine).await;
            }
        }
    }
}

/// The number of attempts of this server to install a release.
#[derive(Default)]
struct Tries {
    of: Option<Digest>,
    begun: u32,
}

impl Tries {
    fn count(&mut self, manifest: Digest) {
        self.begun = if self.of == Some(manifest) { self.begun.saturating_add(1) } else { 1 };
        self.of = Some(manifest);
    }

    /// Whether this release should be tried: not right after it failed, and later after each failure.
    fn is_due(&self, client: &UpdateClient, manifest: Digest, interval: Duration) -> bool {
        let newest = client.0.jobs.newest();
        let failed = newest.filter(|job| {
            job.state == JobState::Failed && is_automatic(&job.order) && job.order.wanted.manifest == Some(manifest)
        });
        let Some(failed) = failed else { return true };
        let again = if self.of == Some(manifest) { self.begun.saturating_sub(1).min(16) } else { 0 };
        let interval = u64::try_from(interval.as_millis()).unwrap_or(DAY_MS);
        let wait = interval.saturating_mul(1 << again).min(DAY_MS.max(interval));
        // Polls are not exact to the millisecond.
        client.now_ms().abs_diff(failed.started_ms) >= wait - interval / 2
    }
}

/// Whether it is an automatic update.
pub(crate) fn is_automatic(order: &UpdateOrder) -> bool {
    order.principal == AUTOMATIC
}

impl UpdateClient {
    fn spread(&self) -> Spread {
        Spread::of(&self.0.root)
    }

    /// Time until `update.window` opens for this device, or its clock may be set; `None`: it is open.
    fn shut(&self) -> Option<Duration> {
        self.spread().shut(&self.0.settings.update.window, self.now_ms().div_euclid(1000), &self.0.root)
    }

    /// Whether that release is armed, and waits for what this system lacks as well.
    async fn waits_to_be_tried(&self, manifest: &Digest) -> bool {
        let status = self.0.agent.get::<GetUpdateStatus>().await;
        status.is_ok_and(|status| !status.waits_for.is_empty() && status.is_armed(manifest))
    }

    /// How long `order` must wait for its restart: an automatic update restarts within `update.window`.
    pub(crate) fn restart_waits(&self, order: &UpdateOrder) -> Option<Duration> {
        self.shut().filter(|_| is_automatic(order))
    }

    /// Waits until `order` may restart the machine: at once if somebody requested it, otherwise when `update.window` is
    /// open.
    ///
    /// # Errors
    /// `failed_precondition` when the armed update was rolled back meanwhile.
    pub(crate) async fn may_restart(&self, order: &UpdateOrder) -> Result<(), ToolError> {
        let mut moved = self.0.moved.subscribe();
        while let Some(wait) = self.restart_waits(order) {
            tokio::select! {
                () = sleep(wait) => {}
                // The sender lives as long as `self`.
                _ = moved.changed() => {
                    let attempt = self.0.agent.get::<GetUpdateStatus>().await?.last_attempt;
                    if attempt.is_none_or(|attempt| attempt.phase != Phase::Armed) {
                        return Err(ToolError::precondition("it was taken back while it waited for update.window"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Installs what a check found, as configured by the owner. It runs under the server's own principal, so that the
    /// agent's policy decides again: it must be "allow" for `manage.update_server`, because nobody is there to approve.
    async fn install_by_itself(&self, offer: &ReleaseOffer, machine: &Arc<Machine>) {
        let begun = async {
            let old_version = Some(self.running_version().await);
            let wanted = WantedRelease {
                channel: offer.channel.clone(),
                version: Some(offer.release.version.clone()),
                manifest: Some(offer.release.manifest),
            };
            // The hash of empty arguments, because there is no call.
            let args_sha256 = base::canonical::sha256_hex(&serde_json::json!({}));
            let order = UpdateOrder {
                id: job_id()?,
                tool: "manage.update_server".into(),
                principal: AUTOMATIC.into(),
                args_sha256,
                ask_id: None,
                wanted,
                old_version,
            };
            self.start(machine, order)
        };
        match begun.await {
            Ok(()) => tracing::info!(target: "update", version = offer.release.version, "installing by itself"),
            Err(error) => tracing::warn!(target: "update", %error, "an update could not be begun"),
        }
    }
}
