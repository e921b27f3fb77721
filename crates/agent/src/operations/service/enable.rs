//! Enables a service at boot, or disables it.

use super::{refuse_to_break, same_service, service};
use crate::{
    authorization::Authorization,
    context::Context,
    operations::Operation,
    units::{Action, Unit, protected, reach},
};
use base::{error::ToolError, os::systemd::enabled::is_enabled};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

const TOOL: &str = "service.set_enabled";
/// Units enabled together with one, including those named by them; more than any package has.
const TOGETHER: usize = 32;

/// The service to enable or disable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnableRequest {
    /// Full name, or without ".service".
    pub service_name: String,
    pub enabled: bool,
    /// Continue even if active units depend on it.
    pub break_dependents: bool,
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enabled {
    /// Full name; of an alias, the name behind it.
    pub name: String,
    /// The state of its file: enabled, disabled, static, ...
    pub previous: Option<String>,
    pub now: Option<String>,
    /// Units that are enabled or disabled with it.
    pub also: Vec<String>,
    pub simulated: bool,
}

/// Enables a service at boot, or disables it.
pub struct EnableUnit;

impl Operation for EnableUnit {
    const TAG: &'static str = "enable_unit";
    const ANSWER: &'static str = "enabled";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = EnableRequest;
    type Answer = Enabled;

    fn patience(_request: &EnableRequest) -> Duration {
        // systemd reloads all its unit files.
        Duration::from_secs(20)
    }

    fn was_shown(request: &EnableRequest, args: &Value) -> bool {
        let flag = |name: &str| args.get(name).and_then(Value::as_bool).unwrap_or(false);
        same_service(args, &request.service_name)
            && args.get("enabled") == Some(&json!(request.enabled))
            && (flag("force") && flag("confirm_breaking_dependencies")) == request.break_dependents
            && !flag("dry_run")
    }

    async fn run(cx: &Context<'_>, request: EnableRequest) -> Result<Enabled, ToolError> {
        let result = enable(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn enable(cx: &Context<'_>, request: &EnableRequest) -> Result<Enabled, ToolError> {
    let does = json!({ "enabled": request.enabled });
    cx.policy().check_call(TOOL, &does)?;
    let verb = if request.enabled { "enable" } else { "disable" };
    let unit = service(cx, TOOL, &request.authorization.principal, &request.service_name, verb).await?;
    guard(&unit, &unit.names, verb)?;
    let also = together(cx, &unit, verb).await?;
    let previous = unit.unit_file_state.clone();
    let is_on = previous.as_deref().is_some_and(is_enabled);
    // A service that may not be started now may not be started at boot either.
    let action = if request.enabled { Action::Start } else { Action::Stop };
    let reach = reach::of(&*cx.units, &unit, action).await?;
    if !request.enabled && !request.break_dependents {
        refuse_to_break(&unit, verb, &reach)?;
    }
    let done = |now| Enabled {
        name: unit.id.clone(),
        previous: previous.clone(),
        now,
        also: also.clone(),
        simulated: cx.simulated,
    };
    if request.dry_run || is_on == request.enabled {
        return Ok(done(previous.clone()));
    }
    cx.admit_call(TOOL, &does, &request.authorization, |args| EnableUnit::was_shown(request, args))?;
    cx.log.note("enable_unit begins", cx.peer, json!(request), None)?;
    cx.units.set_enabled(&unit.id, request.enabled).await.map_err(ToolError::maybe_changed)?;
    let after = cx.units.look(&unit.id).await.map_err(ToolError::maybe_changed)?;
    Ok(done(after.unit_file_state))
}

/// The units enabled or disabled together with it (`Also=`), none of which may be protected.
async fn together(cx: &Context<'_>, unit: &Unit, verb: &str) -> Result<Vec<String>, ToolError> {
    let install = cx.units.install(unit)?;
    if !install.has_any {
        return Err(ToolError::precondition(format!(
            "the file of {} says nothing about when it would start by itself",
            unit.id
        ))
        .with("service_name", unit.id.clone())
        .with("unit_file_state", unit.unit_file_state.clone())
        .hint("it needs an [Install] section with WantedBy=; other units may start it all the same"));
    }
    guard_each(unit, &install.alias, verb)?;
    guard_each(unit, &install.required_by, verb)?;
    let (mut found, mut at) = (install.also, 0);
    while let Some(name) = found.get(at).cloned() {
        at += 1;
        let other = cx.units.look(&name).await?;
        guard(unit, &other.names, verb)?;
        // systemd skips units without a file too.
        if other.fragment.is_none() {
            continue;
        }
        let install = cx.units.install(&other)?;
        guard_each(unit, &install.alias, verb)?;
        guard_each(unit, &install.required_by, verb)?;
        let more: Vec<String> =
            install.also.into_iter().filter(|more| *more != unit.id && !found.contains(more)).collect();
        found.extend(more);
        if found.len() > TOGETHER {
            return Err(ToolError::precondition(format!("{} is enabled with more than {TOGETHER} others", unit.id))
                .with("service_name", unit.id.clone())
                .hint("enable or disable it at the device"));
        }
    }
    Ok(found)
}

/// As [`guard`], for each of several unit names.
fn guard_each(unit: &Unit, names: &[String], verb: &str) -> Result<(), ToolError> {
    names.iter().try_for_each(|name| guard(unit, std::slice::from_ref(name), verb))
}

fn guard(unit: &Unit, names: &[String], verb: &str) -> Result<(), ToolError> {
    let Some(reason) = protected::reason(names) else { return Ok(()) };
    let name = names.first().cloned().unwrap_or_default();
    Err(ToolError::denied(format!("{verb} of {} would touch {name}, which is protected: {reason}", unit.id))
        .with("service_name", unit.id.clone())
        .with("protected_unit", name)
        .hint("no tool does this; do it at the device if it must be"))
}
