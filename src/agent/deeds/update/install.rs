//! Installing a bundle: who may, and what they were shown.

use super::words::{InstallRequest, UpdateTool};
use crate::{
    agent::{
        Agent, Peer, Standing,
        updates::{Session, System},
    },
    error::ToolError,
    update::{
        job::{AUTOMATIC, plan::Plan},
        slots::Blocked,
        trust::Release,
    },
};
use serde_json::{Value, json};
use std::sync::Arc;

impl Agent {
    /// Takes an install stream, when this machine has slots and nobody else is at them.
    ///
    /// # Errors
    /// `permission_denied` by the policy; `capability_missing`; `conflict`.
    pub(in crate::agent) fn take_install(
        agent: &Arc<Self>,
        peer: &Peer,
        request: InstallRequest,
    ) -> Result<Session, ToolError> {
        let policy = agent.policy();
        match &request.authorization {
            Some(authorization) => agent.allows(peer, request.tool.name(), authorization)?,
            // A look: what it says is no secret, and it changes nothing.
            None => policy.check_read(request.tool.name())?,
        }
        let system = agent.updates.system()?;
        let who = request
            .authorization
            .as_ref()
            .map_or_else(|| peer.to_string(), |authorization| authorization.principal.clone());
        let seat = agent.updates.seats.take(&who)?;
        Ok(Session { agent: Arc::clone(agent), system, peer: peer.clone(), request, seat })
    }

    /// Lets the install of `release` pass: by policy, and by an approval that showed this very bundle, or one that let it in before.
    ///
    /// # Errors
    /// `permission_denied`.
    pub(in crate::agent) fn admit_install(
        &self,
        peer: &Peer,
        request: &InstallRequest,
        system: &System,
        release: &Release,
    ) -> Result<(), ToolError> {
        let Some(authorization) = &request.authorization else { return Ok(()) };
        let tool = request.tool;
        self.allows(peer, tool.name(), authorization)?;
        let taken_back = |blocked: &Blocked| blocked.by_person && blocked.manifest == release.digest;
        if authorization.principal == AUTOMATIC && system.record.ledger().state().blocked.iter().any(taken_back) {
            let version = &release.manifest.version;
            return Err(ToolError::precondition(format!("a person took version {version} back on this device"))
                .hint("it is not installed by itself any more; a person may have it again with manage.update_server"));
        }
        if self.admissions.holds(release.digest, tool, &authorization.principal) {
            return Ok(());
        }
        if peer.standing != Standing::Approver {
            self.admit(peer, tool.name(), authorization, |ask| shows(&ask.request.args, tool, system, release))?;
        }
        self.admissions.keep(release.digest, tool, &authorization.principal)
    }
}

/// The person approved what they were shown: a version, or whatever the channel has; or one plan, by its hash.
fn shows(args: &Value, tool: UpdateTool, system: &System, release: &Release) -> bool {
    let named = |name: &str| args.get(name).filter(|value| !value.is_null());
    let is = |name: &str, value: &str| named(name).is_none_or(|named| named == value);
    let manifest = &release.manifest;
    match tool {
        UpdateTool::UpdateServer => {
            is("target_version", &manifest.version)
                && is("channel", &manifest.channel)
                && named("dry_run") != Some(&json!(true))
        }
        UpdateTool::ApplyOsUpdates => {
            let ledger = system.record.ledger();
            let Some(running) = ledger.evidence().running() else { return false };
            let from = ledger.state().slots.of(running).version.clone().unwrap_or_default();
            let plan = Plan {
                manifest: &release.digest,
                to_version: &manifest.version,
                from_version: &from,
                target: running.other(),
            };
            named("plan_hash") == Some(&json!(plan.hash().to_string()))
        }
    }
}
