//! Adds a network profile or changes one, with an automatic revert where it is in use.

use super::{ACTIVATION, Connected, ProfileChange, activate::attempt};
use crate::{authorization::Authorization, context::Context, operations::Operation};
use base::{error::ToolError, redact::redact};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// What is to change. It has no debug form, because that would show the passphrase.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditRequest {
    /// A new profile, or one that there is.
    pub adds: bool,
    pub change: ProfileChange,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// Adds a profile or changes one. What was only saved, and nothing was activated, has no time to confirm.
pub struct EditConnection;

impl Operation for EditConnection {
    const TAG: &'static str = "edit_connection";
    const ANSWER: &'static str = "connected";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = EditRequest;
    type Answer = Connected;

    fn name(request: &EditRequest) -> &'static str {
        if request.adds { "network.add_connection" } else { "network.update_connection" }
    }

    fn patience(_request: &EditRequest) -> Duration {
        ACTIVATION * 2
    }

    /// The person saw everything but the passphrase, and whether there is one.
    fn was_shown(request: &EditRequest, args: &Value) -> bool {
        let expected = ProfileChange { passphrase: None, ..request.change.clone() };
        args.get("passphrase").is_some() == request.change.passphrase.is_some()
            && serde_json::from_value::<ProfileChange>(args.clone()).is_ok_and(|shown| shown == expected)
    }

    async fn run(cx: &Context<'_>, request: EditRequest) -> Result<Connected, ToolError> {
        let result = edit(cx, &request).await;
        cx.noted(Self::TAG, shown(&request), result)
    }
}

/// The request as it is logged: without the passphrase.
fn shown(request: &EditRequest) -> Value {
    redact(&json!(request))
}

async fn edit(cx: &Context<'_>, request: &EditRequest) -> Result<Connected, ToolError> {
    let (tool, change) = (EditConnection::name(request), &request.change);
    cx.policy().check(tool)?;
    change.check()?;
    let connections = &cx.connections;
    let _turn = connections.take_turn().await?;
    let plan = connections.network.plan_edit(change, request.adds).await?;
    let in_use = !plan.profile.interfaces.is_empty();
    if in_use && !change.activate {
        return Err(ToolError::precondition(format!("{} is in use: a change of it is tried at once", plan.profile.name))
            .with("parameter", "activate")
            .hint("for a network that will change later, add another connection with activate=false: NetworkManager uses the one that works"));
    }
    let tries = if request.adds { change.activate } else { in_use };
    if change.dry_run {
        let (profile, before) = (plan.profile, plan.before);
        return Ok(Connected { profile, before, confirm_by_ms: None, simulated: cx.simulated });
    }
    cx.admit(tool, &request.authorization, |args| EditConnection::was_shown(request, args))?;
    cx.log.note("edit_connection begins", cx.peer, shown(request), None)?;
    if tries {
        let principal = request.authorization.principal.clone();
        return attempt(cx, plan, principal, change.confirm_seconds, Some(change)).await;
    }
    connections.network.edit(&plan, change, true).await?;
    Ok(Connected { profile: plan.profile, before: plan.before, confirm_by_ms: None, simulated: cx.simulated })
}
