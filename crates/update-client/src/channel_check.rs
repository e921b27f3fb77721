//! Finds the release in the channel for this device.

use crate::fetch::{ChannelState, DownloadLimits, HttpClient, look};
use crate::{UpdateClient, trial_monitor::in_trial};
use agent::operations::update::{ChannelReached, GetUpdateStatus};
use base::{
    error::ToolError,
    os::{blocking, clock::synchronized, ids},
};
use futures::future::BoxFuture;
use std::sync::Arc;
use update::{
    FileLocation,
    bundle::Digest,
    channel::{self, DeviceId, IndexCriteria, ReleaseChoice, TargetDevice, choose, recall, remember},
    status::UpdateStatus,
    trust::RootOfTrust,
};

/// A release of a channel.
#[derive(Clone, Debug)]
pub struct ReleaseOffer {
    pub channel: String,
    pub release: channel::ReleaseEntry,
    /// Places of the bundle, in order of preference.
    pub places: Vec<FileLocation>,
}

/// A verified index, and what it was verified with.
pub(crate) struct VerifiedIndex {
    status: UpdateStatus,
    bases: Vec<String>,
    looked: ChannelState,
    checked_ms: i64,
}

/// The result of a check of a channel.
#[derive(Clone, Debug)]
pub struct ChannelCheck {
    /// The release that this device may install now.
    pub offer: Option<ReleaseOffer>,
    /// The newest release, whether or not this device may install it now.
    pub newest: Option<ReleaseOffer>,
    /// Why there is no offer although there is a newer release.
    pub held: Option<String>,
    /// Notes for a person.
    pub notes: Vec<String>,
    /// Milliseconds since 1970 UTC.
    pub checked_ms: i64,
}

impl ReleaseOffer {
    /// When it was released, in milliseconds since 1970 UTC.
    pub fn released_ms(&self) -> i64 {
        i64::try_from(self.release.released).unwrap_or(i64::MAX).saturating_mul(1000)
    }
}

impl UpdateClient {
    /// Fetches and verifies the index of `channel`, and chooses a release for this device: `version`, or the newest
    /// that it may install.
    ///
    /// # Errors
    /// `failed_precondition` when no channel is configured, `unavailable` when it does not answer,
    /// `verification_failed` when its index is not correctly signed, has expired, or is older than one seen before.
    pub async fn find(&self, channel: &str, version: Option<&str>) -> Result<ChannelCheck, ToolError> {
        self.look_for(channel, version, false).await
    }

    /// The same for an automatic install, which excludes releases that a person rolled back.
    pub(crate) async fn find_by_itself(&self, channel: &str) -> Result<ChannelCheck, ToolError> {
        self.look_for(channel, None, true).await
    }

    /// Fetches and verifies the index of `channel` without storing anything here: whether the channel can be reached does not depend on the data
    /// partition. The agent records that it was.
    ///
    /// # Errors
    /// Those of [`UpdateClient::find`].
    pub(crate) fn verified<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Result<VerifiedIndex, ToolError>> {
        Box::pin(async move {
            let update = &self.0.settings.update;
            if update.url.is_empty() {
                return Err(ToolError::precondition("no update channel is configured")
                .with("setting", "update.url")
                .hint("set update.url to the address of the channels' files, or install a bundle with `raspi-mcp slot install`"));
            }
            let status = self.0.agent.get::<GetUpdateStatus>().await?;
            // A simulated machine uses the clock of the computer it runs on.
            let synchronised = status.simulated || synchronized(&self.0.root) == Some(true);
            let http = self.http_client_from(status.time_floor, synchronised)?;
            let bases = update.bases();
            let (image, seen) = self.remembered(channel).await?;
            let roots = self.agreed_roots(image).await?;
            let checked_ms = self.now_ms();
            let wanted = IndexCriteria {
                product: &update.product,
                channel,
                seen: seen.as_ref(),
                clock_ms: checked_ms,
                synchronised,
                time_floor: status.time_floor,
            };
            let looked = look(&http, &bases, roots, &wanted).await?;
            // A version on trial has no commit to record it with.
            if !status.channel_reached && in_trial(&status).is_none() {
                self.channel_reached().await;
            }
            Ok(VerifiedIndex { status, bases, looked, checked_ms })
        })
    }

    /// Boxed, so that the program has its code once: each caller of an `async fn` compiles it anew (decision 280).
    fn look_for<'a>(
        &'a self,
        channel: &'a str,
        version: Option<&'a str>,
        by_itself: bool,
    ) -> BoxFuture<'a, Result<ChannelCheck, ToolError>> {
        Box::pin(async move {
            let VerifiedIndex { status, bases, looked, checked_ms } = self.verified(channel).await?;
            self.trust_newer(looked.newer).await?;
            let (folder, now_seen) = (self.0.folder.clone(), looked.accepted.seen);
            {
                // Checks can overlap: a tool's, a trial's. Their results are stored one after the other, and no key's
                // number decreases.
                let _turn = self.0.remembering.lock().await;
                blocking::run("update", move |_| {
                    let kept = recall(&folder, &now_seen.channel).filter(|kept| kept.product == now_seen.product);
                    remember(&folder, &kept.iter().fold(now_seen, channel::AcceptedIndex::over))
                })
                .await?;
            }
            let index = looked.accepted.index;
            let offer = |release: &channel::ReleaseEntry| {
                Ok::<_, ToolError>(ReleaseOffer {
                    channel: channel.to_owned(),
                    places: release.places(&bases)?,
                    release: release.clone(),
                })
            };
            let newest = index.releases.iter().max_by_key(|release| release.counter).map(offer).transpose()?;
            let (chosen, held) = match choose(&index, &self.device(&status, version, by_itself)) {
                ReleaseChoice::Install(release) => (Some(offer(&release)?), None),
                ReleaseChoice::UpToDate => (None, None),
                ReleaseChoice::Held { why, .. } => {
                    (None, Some(version.map_or_else(|| why.to_string(), |_| why.of_asked())))
                }
            };
            let mut notes: Vec<String> = looked.accepted.doubt.map(str::to_owned).into_iter().collect();
            let offered = chosen.as_ref().map(|offer| offer.release.manifest.to_string());
            if let Some(back) = status.blocked.iter().find(|one| Some(&one.manifest_sha256) == offered.as_ref()) {
                notes.push(format!("{} was taken back by a person here ({})", back.version, back.reason));
            }
            let found = ChannelCheck { offer: chosen, newest, held, notes, checked_ms };
            Ok(found)
        })
    }

    /// Has the agent record with the running version that it reached its channel. Not worth failing a check: the next one does it again.
    pub(crate) async fn channel_reached(&self) {
        match self.0.agent.get::<ChannelReached>().await {
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(target: "update", %error, "that the channel was reached could not be recorded");
            }
        }
    }

    /// This device as described to the channel. A version that a caller names replaces `update.pin`.
    fn device(&self, status: &UpdateStatus, version: Option<&str>, by_itself: bool) -> TargetDevice {
        let update = &self.0.settings.update;
        let running = status.slots.iter().find(|slot| slot.running);
        let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let blocked = status
            .blocked
            .iter()
            .filter(|blocked| by_itself || !blocked.by_person)
            .filter_map(|blocked| Some((Digest::from_hex(&blocked.manifest_sha256)?, blocked.reason.clone())));
        TargetDevice {
            version: running.and_then(|slot| slot.version.clone()).unwrap_or_default(),
            counter: running.and_then(|slot| slot.counter).unwrap_or(0),
            counter_floor: status.counter_floor,
            hardware: status.hardware.clone(),
            layout: status.layout.clone(),
            ring: named(&update.ring),
            pin: version.map(str::to_owned).or_else(|| named(&update.pin)),
            id: ids::machine(&self.0.root).ok().map(|id| DeviceId::of(&id)),
            blocked: blocked.collect(),
        }
    }

    /// The image's root of trust, and what was last accepted from a channel.
    async fn remembered(&self, channel: &str) -> Result<(RootOfTrust, Option<channel::AcceptedIndex>), ToolError> {
        let (file, folder) =
            (self.0.root.path(&self.0.settings.update.trust.display().to_string()), self.0.folder.clone());
        let channel = channel.to_owned();
        blocking::run("update", move |_| {
            let shown = file.display().to_string();
            let bytes = std::fs::read(&file).map_err(|error| {
                ToolError::precondition(format!("there is no root of trust at {shown}: {error}"))
                    .with("path", shown.clone())
                    .hint("update.trust names the one of the image; `raspi-mcp bundle trust` makes one")
            })?;
            let roots = RootOfTrust::parse(&bytes).map_err(|fault| ToolError::from(fault).with("path", shown))?;
            Ok((roots, recall(&folder, &channel)))
        })
        .await
    }

    /// An HTTP client with the limits of downloads.
    pub(crate) async fn http_client(&self) -> Result<Arc<HttpClient>, ToolError> {
        // Without an agent, only the clock is available to check certificates.
        let status = self.0.agent.get::<GetUpdateStatus>().await.ok();
        let simulated = status.as_ref().is_some_and(|status| status.simulated);
        let synchronised = simulated || synchronized(&self.0.root) == Some(true);
        self.http_client_from(status.map_or(0, |status| status.time_floor), synchronised)
    }

    fn http_client_from(&self, time_floor: u64, synchronised: bool) -> Result<Arc<HttpClient>, ToolError> {
        let limits = DownloadLimits::of(&self.0.settings.update, self.0.root.clone(), self.0.wall.clone(), time_floor);
        HttpClient::new(DownloadLimits { synchronised, ..limits })
    }
}
