//! Installs a bundle: the policy, and the approval of what was shown. After the answer the connection is only an
//! install stream ([`update::install`]).

mod session;
mod take_over;

pub(crate) use session::InstallSession;
pub(crate) use take_over::{may_take_over, take_over};

use crate::{
    authorization::Authorization,
    context::Context,
    installer::{System, UpdateTool},
    operations::{Done, Operation},
    peer::{Callers, PeerKind},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use update::{
    job::{AUTOMATIC, plan::UpdatePlan},
    slots::Blocked,
    status::RestartPlan,
    trust::VerifiedRelease,
};

/// Turns the connection into an install stream ([`update::install`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallRequest {
    pub tool: UpdateTool,
    /// `None`: only the head is judged, then the stream ends.
    #[serde(default, rename = "warrant", skip_serializing_if = "Option::is_none")]
    pub authorization: Option<Authorization>,
    /// What follows once it is armed.
    #[serde(default, skip_serializing_if = "RestartPlan::waits")]
    pub restart: RestartPlan,
}

/// Takes a connection over for an install. The server calls `begin` before it gets here.
pub struct Install;

impl Operation for Install {
    const TAG: &'static str = "install";
    const ANSWER: &'static str = "done";
    // At the console: a person who may approve an update may install one.
    const CALLERS: Callers = Callers::Anyone;
    type Request = InstallRequest;
    type Answer = Done;

    async fn run(_cx: &Context<'_>, _request: InstallRequest) -> Result<Done, ToolError> {
        Err(ToolError::precondition("an install takes a connection of its own")
            .hint("open another connection to the agent"))
    }
}

/// Begins an install stream, if this machine has slots and no other install is under way.
///
/// # Errors
/// `permission_denied` by the policy; `capability_missing`; `conflict`.
pub(crate) fn begin(cx: &Context<'_>, request: InstallRequest) -> Result<InstallSession, ToolError> {
    match &request.authorization {
        Some(authorization) => cx.allows(request.tool.name(), authorization)?,
        // Judging only: the result is not secret, and nothing changes.
        None => cx.policy().check_read(request.tool.name())?,
    }
    let system = cx.installer.system()?;
    let who = request
        .authorization
        .as_ref()
        .map_or_else(|| cx.peer.to_string(), |authorization| authorization.principal.clone());
    let guard = cx.installer.lock.take(&who)?;
    Ok(InstallSession { agent: Arc::clone(cx.agent), system, peer: cx.peer.clone(), request, guard })
}

/// Admits the install of `release`: by policy, and by an approval that showed this bundle, or an earlier admission of
/// it.
///
/// # Errors
/// `permission_denied`.
fn admit_install(
    cx: &Context<'_>,
    request: &InstallRequest,
    system: &System,
    release: &VerifiedRelease,
) -> Result<(), ToolError> {
    let Some(authorization) = &request.authorization else { return Ok(()) };
    let tool = request.tool;
    cx.allows(tool.name(), authorization)?;
    let taken_back = |blocked: &Blocked| blocked.by_person && blocked.manifest == release.digest;
    if authorization.principal == AUTOMATIC && system.record.ledger().state().blocked.iter().any(taken_back) {
        let version = &release.manifest.version;
        return Err(ToolError::precondition(format!("a person took version {version} back on this device"))
            .hint("it is not installed by itself any more; a person may have it again with manage.update_server"));
    }
    if cx.installer.admissions.holds(release.digest, tool, &authorization.principal) {
        return Ok(());
    }
    if cx.peer.standing != PeerKind::Approver {
        cx.admit(tool.name(), authorization, |args| shows(args, tool, system, release))?;
    }
    cx.installer.admissions.keep(release.digest, tool, &authorization.principal)
}

/// Whether the person approved this: a version, or whatever the channel offers; or one plan, by its hash.
fn shows(args: &Value, tool: UpdateTool, system: &System, release: &VerifiedRelease) -> bool {
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
            let plan = UpdatePlan {
                manifest: &release.digest,
                to_version: &manifest.version,
                from_version: &from,
                target: running.other(),
            };
            named("plan_hash") == Some(&json!(plan.hash().to_string()))
        }
    }
}
