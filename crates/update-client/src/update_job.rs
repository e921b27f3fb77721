//! The update job: finds the release, passes it to the agent, then restarts.

use crate::fetch::BundleSource;
use crate::{
    UpdateClient,
    channel_check::ReleaseOffer,
    poller::is_automatic,
    upload::{Bundle, ProgressSink, Upload},
};
use agent::{
    Authorization, UpdateTool,
    operations::update::{GetUpdateStatus, InstallRequest, RebootIntoRequest, RebootIntoUpdate, ResumeUpdate},
};
use base::error::ToolError;
use futures::future::BoxFuture;
use hw::machine::Machine;
use std::sync::Weak;
use update::{
    job::{FoundRelease, Tell, UpdateEngine, UpdateOrder, WantedRelease},
    status::{Phase, RestartPlan, UpdateStatus},
};

/// Seconds between the answer and the restart, so that the answer can be delivered.
const PARTING: u32 = 5;

/// The implementation of the server's jobs.
pub(crate) struct UpdateJob {
    pub client: UpdateClient,
    pub machine: Weak<Machine>,
}

impl UpdateEngine for UpdateJob {
    fn run<'a>(&'a self, order: &'a UpdateOrder, tell: &'a Tell) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            // If it was armed before the server ended, only the restart is left.
            if !self.client.is_armed(order).await {
                self.upload(order, tell).await?;
            }
            if let Some(missing) = self.client.waits_for(order).await {
                return Ok(format!("armed; it is tried again once this works here: {missing}"));
            }
            self.record_baseline(tell).await?;
            if self.client.restart_waits(order).is_some() {
                tell.step(Phase::Armed, 0, 0, "armed; it restarts the machine once update.window is open").await;
                self.client.may_restart(order).await?;
                self.record_baseline(tell).await?;
            }
            self.client.restart(order).await
        })
    }
}

impl UpdateJob {
    async fn record_baseline(&self, tell: &Tell) -> Result<(), ToolError> {
        let Some(machine) = self.machine.upgrade() else { return Ok(()) };
        self.client.record_when_ready(&machine, tell).await
    }

    /// Finds the release, and has the agent write and arm it.
    async fn upload(&self, order: &UpdateOrder, tell: &Tell) -> Result<(), ToolError> {
        let offer = self.client.choose(&order.wanted).await?;
        let (version, counter, manifest) = (&offer.release.version, offer.release.counter, offer.release.manifest);
        // Whoever started that install.
        if self.client.0.agent.get::<GetUpdateStatus>().await.is_ok_and(|status| status.is_armed(&manifest)) {
            tell.release(FoundRelease { version: version.clone(), counter, manifest }).await;
            tell.step(Phase::Armed, 0, 0, format!("{version} is armed already")).await;
            return Ok(());
        }
        let bundle = self.client.open(&offer).await?;
        self.client.knows_settings(bundle.manifest()).await?;
        let settings = &self.client.0.settings.update;
        let restart = if is_automatic(order) { RestartPlan::InWindow } else { RestartPlan::Soon };
        let upload = Upload {
            agent: &self.client.0.agent,
            request: InstallRequest { tool: tool(order), authorization: Some(authorization(order)), restart },
            spool: Some((settings.spool_dir.clone(), settings.spool_reserve_bytes)),
            progress: tell,
        };
        let armed = upload.install(&bundle).await?.version;
        tell.step(Phase::Armed, 0, 0, format!("{armed} is written, read back and armed")).await;
        Ok(())
    }
}

impl ProgressSink for Tell {
    fn release(&self, release: FoundRelease) -> BoxFuture<'_, ()> {
        Box::pin(Tell::release(self, release))
    }
    fn step(&self, phase: Phase, done: u64, total: u64, message: String) -> BoxFuture<'_, ()> {
        Box::pin(Tell::step(self, phase, done, total, message))
    }
    fn pace(&self, done: u64, total: u64, message: String) {
        Tell::pace(self, done, total, message);
    }
}

impl UpdateClient {
    /// The bundle of an offer, with its head read.
    pub(crate) async fn open(&self, offer: &ReleaseOffer) -> Result<Bundle, ToolError> {
        let source = BundleSource::new(self.http_client().await?, offer.places.clone());
        Bundle::open(source, |digest, manifest| offer.release.is_of(&offer.channel, digest, manifest)).await
    }

    /// Finds the wanted release.
    pub(crate) async fn choose(&self, wanted: &WantedRelease) -> Result<ReleaseOffer, ToolError> {
        let found = self.find(&wanted.channel, wanted.version.as_deref()).await?;
        let offer = found.offer.ok_or_else(|| {
            let why = found.held.unwrap_or_else(|| "the channel has nothing newer for this device".into());
            let error =
                ToolError::precondition(format!("there is no update: {why}")).with("channel", wanted.channel.clone());
            let named = wanted.version.clone().filter(|_| wanted.manifest.is_none());
            error
                .with_some("parameter", named.as_ref().map(|_| "target_version"))
                .with_some("target_version", named)
                .hint("manage.check_for_updates says what the channel has")
        })?;
        match wanted.manifest {
            Some(manifest) if manifest != offer.release.manifest => Err(ToolError::precondition(format!(
                "the channel now has another bundle of {} than the plan was made for",
                offer.release.version
            ))
            .hint("call manage.preview_os_updates again, and apply the plan it gives")),
            _ => Ok(offer),
        }
    }

    /// Requests the restart into the armed slot.
    async fn restart(&self, order: &UpdateOrder) -> Result<String, ToolError> {
        let request =
            RebootIntoRequest { tool: tool(order), delay_seconds: PARTING, authorization: authorization(order) };
        match self.0.agent.call::<RebootIntoUpdate>(request).await {
            Ok(_) => Ok(format!("armed; the machine restarts into it in {PARTING} s, and has to find it healthy")),
            // The agent keeps the restart plan.
            Err(error) if error.details.contains_key("restarts_by_itself") => Ok(format!("armed; {}", error.advice())),
            Err(error) => Err(error),
        }
    }

    /// Whether the release of `order` is already armed.
    async fn is_armed(&self, order: &UpdateOrder) -> bool {
        let kept = self.0.jobs.newest().filter(|kept| kept.order.id == order.id);
        let Some(release) = kept.and_then(|kept| kept.release) else { return false };
        let attempt = self.0.agent.get::<GetUpdateStatus>().await.ok().and_then(|status| status.last_attempt);
        attempt.is_some_and(|attempt| {
            attempt.phase == Phase::Armed && release.manifest.to_string() == attempt.manifest_sha256
        })
    }

    /// What the armed release of `order` waits for after its trial. Only a person's new order does not wait: a job that was interrupted may be
    /// resumed any number of times.
    async fn waits_for(&self, order: &UpdateOrder) -> Option<String> {
        let resumed = self.0.jobs.newest().is_some_and(|kept| kept.order.id == order.id && kept.resumed > 0);
        if !resumed && !is_automatic(order) {
            return None;
        }
        let status = self.0.agent.get::<GetUpdateStatus>().await.ok()?;
        (!status.waits_for.is_empty()).then(|| status.waits_for.join(", "))
    }

    /// For an update that was armed when the power failed, or whose restart never came: the agent lets it be tried,
    /// without a download, and restarts within its limits and window. One that waits after its trial is left to [`crate::trial_monitor`].
    /// `first` is the status of the server's start, before any trial or verdict: only what was planned then is finished here.
    pub(crate) async fn finish_armed(&self, machine: &Weak<Machine>, first: &UpdateStatus) {
        let is_planned =
            |status: &UpdateStatus| status.restart.is_some_and(|plan| !plan.waits()) && status.waits_for.is_empty();
        if !is_planned(first) {
            return;
        }
        let Ok(status) = self.0.agent.get::<GetUpdateStatus>().await else { return };
        let Some(machine) = machine.upgrade().filter(|_| is_planned(&status)) else { return };
        // A trial that begins before the router is up would fail for that.
        self.until_ready(&machine, &status, None).await;
        drop(machine);
        self.resume_armed().await;
    }

    /// The agent lets what is armed be tried that was not, or that waited for what was missing; if its restart is planned, it follows.
    pub(crate) async fn resume_armed(&self) {
        match self.0.agent.get::<ResumeUpdate>().await {
            Ok(_) => tracing::info!(target: "update", "an armed update may be tried now"),
            Err(error) => {
                tracing::warn!(target: "update", %error, "an armed update may not be tried yet")
            }
        }
        self.moved();
    }
}

fn tool(order: &UpdateOrder) -> UpdateTool {
    let os = order.tool == UpdateTool::ApplyOsUpdates.name();
    if os { UpdateTool::ApplyOsUpdates } else { UpdateTool::UpdateServer }
}

fn authorization(order: &UpdateOrder) -> Authorization {
    Authorization {
        principal: order.principal.clone(),
        args_sha256: order.args_sha256.clone(),
        ask_id: order.ask_id.clone(),
    }
}
