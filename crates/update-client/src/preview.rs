//! Previews an update: the agent's judgement of the channel's bundle, and a plan of it.

use crate::{
    UpdateClient,
    plans::{LIFE, Planned},
    upload::Bundle,
};
use agent::{UpdateTool, operations::update::GetUpdateStatus};
use base::error::ToolError;
use ring::rand::{SecureRandom, SystemRandom};
use update::{
    install::Judged,
    job::{WantedRelease, plan::UpdatePlan},
};

impl UpdateClient {
    /// The agent's judgement of the release `wanted`. Nothing is written.
    ///
    /// # Errors
    /// Why there is no such release, or why the agent refuses it.
    pub async fn judge(&self, wanted: &WantedRelease) -> Result<Judged, ToolError> {
        let offer = self.choose(wanted).await?;
        let bundle = self.open(&offer).await?;
        self.judge_head(UpdateTool::UpdateServer, &bundle).await
    }

    /// The agent's judgement. For a bundle that is already armed, it is made from its manifest, because only the
    /// restart is left.
    async fn judge_head(&self, tool: UpdateTool, bundle: &Bundle) -> Result<Judged, ToolError> {
        let status = self.0.agent.get::<GetUpdateStatus>().await?;
        let armed = status.armed().filter(|_| status.is_armed(&bundle.digest()));
        match armed {
            Some(armed) => Ok(bundle.judged_already(armed.target, status.simulated)),
            None => {
                let judged = self.0.agent.judge_bundle(tool, bundle.head()).await?;
                self.knows_settings(bundle.manifest()).await?;
                Ok(judged)
            }
        }
    }

    /// Makes a plan of that and stores it for [`UpdateClient::plan`].
    ///
    /// # Errors
    /// Those of [`UpdateClient::judge`].
    pub async fn plan_of(&self, wanted: &WantedRelease) -> Result<(Planned, Judged), ToolError> {
        let offer = self.choose(wanted).await?;
        let bundle = self.open(&offer).await?;
        let judged = self.judge_head(UpdateTool::ApplyOsUpdates, &bundle).await?;
        let status = self.0.agent.get::<GetUpdateStatus>().await?;
        let from_version = status.slots.into_iter().find(|slot| slot.running).and_then(|slot| slot.version);
        let plan = UpdatePlan {
            manifest: &judged.manifest_sha256,
            to_version: &judged.version,
            from_version: from_version.as_deref().unwrap_or_default(),
            target: judged.target,
        };
        let planned = Planned {
            id: plan.id(),
            hash: plan.hash(),
            offer,
            bundle_bytes: bundle.total(),
            from_version: from_version.clone(),
            expires_ms: self.now_ms().saturating_add(LIFE),
        };
        self.remember(planned.clone());
        Ok((planned, judged))
    }
}

/// An id for a job: 64 random bits.
///
/// # Errors
/// `internal` when the system provides no random bytes.
pub fn job_id() -> Result<String, ToolError> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
