//! `service.control_service`: starts, stops, restarts or reloads a service, with all options
//! (docs/contract/service.md).

use super::{
    control::{self, act},
    permit, service_name,
};
use crate::registry::{context::Context, tool::Tool};
use agent::{
    operations::service::{ControlRequest, ServiceState},
    units::{Action, JobMode},
};
use base::{
    error::ToolError,
    os::systemd::name::{LONGEST, PATTERN},
};
use contract::{
    access::way,
    meta::{Meta, Role},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// With or without ".service".
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "service_name")]
    service_name: String,
    /// What to do with it.
    action: Action,
    /// Answer once it is queued, without waiting for its end.
    #[serde(default)]
    no_block: bool,
    /// A job that is queued for it already is replaced, or lets this call fail.
    #[serde(default)]
    mode: JobMode,
    /// Of a stop: override the dependents check (admin), with confirm_breaking_dependencies.
    #[serde(default)]
    force: bool,
    /// You know that active services depend on it.
    #[serde(default)]
    confirm_breaking_dependencies: bool,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full name; of an alias, the name behind it.
    service_name: String,
    action: Action,
    previous: ServiceState,
    /// How it is now; with dry_run or no_block not yet otherwise.
    now: ServiceState,
    /// How systemd's job ended: done, skipped (a condition of the unit does not hold), queued (no_block); absent with dry_run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    job_result: Option<String>,
    /// Other active units that stop, or restart, along with it.
    affected_units: Vec<String>,
    /// Whether status, sub_status or pid differ.
    changed: bool,
    dry_run: bool,
}

/// The override needs both parameters or neither, and is only allowed if dependents are checked: `why_not` says why
/// they are not.
///
/// # Errors
/// `invalid_argument` for parameters that would be ignored, and for one without the other.
pub(super) fn check_override(force: bool, confirm: bool, why_not: Option<&str>) -> Result<(), ToolError> {
    if let Some(why) = why_not.filter(|_| force || confirm) {
        return Err(ToolError::ignored(if force { "force" } else { "confirm_breaking_dependencies" }, why));
    }
    if force != confirm {
        let missing = if force { "confirm_breaking_dependencies" } else { "force" };
        return Err(ToolError::invalid(format!("the dependents check is overridden by force and confirm_breaking_dependencies together; {missing} is missing"))
            .with("parameter", missing)
            .hint("set both to true, or leave both out"));
    }
    Ok(())
}

/// Who may override the check.
///
/// # Errors
/// `permission_denied` for `force` below admin.
pub(super) fn permit_override(cx: &Context, force: bool) -> Result<(), ToolError> {
    if force && cx.caller.role < Role::Admin {
        return Err(ToolError::denied("only an admin may override the dependents check")
            .with("parameter", "force")
            .with("required_role", Role::Admin.name())
            .hint(format!("stop the dependent services first; {}", way::to_a_role(&cx.caller, Role::Admin))));
    }
    Ok(())
}

pub struct ControlService;

impl Tool for ControlService {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.control_service",
        title: "Control a service",
        description: "Start, stop, restart or reload a service and wait for the end.\n\nUse when: you want a dry run, a reload, or not to wait.\n\nReturns: state now and before, how the job ended, what else it touched.\n\nNote: refused for what the device cannot do without, and for a stop while active services depend on it.",
        dry_run: true,
        estimated_tokens: 120,
        ..control::META
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        let why_not = (args.action != Action::Stop).then_some("only a stop is checked for dependents");
        check_override(args.force, args.confirm_breaking_dependencies, why_not)
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit_override(cx, args.force)?;
        permit(cx, Self::META.name, &args.service_name, args.action.word())
    }

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let done = act(
            cx,
            ControlRequest {
                short: false,
                service_name: args.service_name,
                action: args.action,
                mode: args.mode,
                wait: !args.no_block,
                break_dependents: args.force,
                dry_run: args.dry_run,
                authorization: cx.authorization(),
            },
        )
        .await?;
        Ok(Out {
            service_name: done.name,
            action: args.action,
            changed: done.now != done.previous,
            previous: done.previous,
            now: done.now,
            job_result: done.job,
            affected_units: done.affected,
            dry_run: args.dry_run,
        })
    }
}
