//! `service.set_enabled`: sets whether a service starts at boot, through the agent.

use super::{
    control::mark,
    control_service::{check_override, permit_override},
    permit, service_name, validate,
};
use crate::registry::{context::Context, tool::Tool};
use agent::operations::service::{EnableRequest, EnableUnit};
use base::{
    error::ToolError,
    os::systemd::{
        enabled::is_enabled,
        name::{LONGEST, PATTERN},
    },
};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// With or without ".service".
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "service_name")]
    service_name: String,
    /// Whether it is to start at boot.
    enabled: bool,
    /// When disabling: override the dependents check (admin), with confirm_breaking_dependencies.
    #[serde(default)]
    force: bool,
    /// You know that active services depend on it.
    #[serde(default)]
    confirm_breaking_dependencies: bool,
    /// Only say what would change.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full name; of an alias, the name behind it.
    service_name: String,
    /// Whether it starts at boot now; with dry_run, whether it would.
    enabled: bool,
    previous_enabled: bool,
    /// State of its file now: enabled, disabled, ... (systemctl is-enabled).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    unit_file_state: Option<String>,
    /// Units that are enabled or disabled with it.
    also: Vec<String>,
    changed: bool,
    dry_run: bool,
}

pub struct SetEnabled;

impl Tool for SetEnabled {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.set_enabled",
        title: "Enable or disable a service",
        description: "Have a service start at boot, or not.\n\nUse when: the person wants it to run, or stay away, after every restart.\n\nReturns: whether it starts at boot now and before.\n\nNote: it does not start or stop it now.",
        dry_run: true,
        timeout_seconds: 60,
        estimated_tokens: 80,
        tags: &["service", "systemd", "boot"],
        ..Meta::WRITE
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        let why_not = args.enabled.then_some("only disabling is checked for dependents");
        check_override(args.force, args.confirm_breaking_dependencies, why_not)
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit_override(cx, args.force)?;
        permit(cx, Self::META.name, &args.service_name, if args.enabled { "enable" } else { "disable" })
    }

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        // Services of a simulated machine have no files to check.
        if args.enabled && !cx.services.machine.board.is_simulated() {
            let report = validate::report(cx, &args.service_name).await?;
            if !report.can_enable {
                return Err(ToolError::precondition(format!(
                    "{} cannot be enabled: {}",
                    args.service_name,
                    report.first()
                ))
                .with("service_name", args.service_name)
                .with("errors", report.errors)
                .hint("service.validate_unit_file says everything that is wrong with it"));
            }
        }
        let done = cx
            .services
            .agent
            .call::<EnableUnit>(EnableRequest {
                service_name: args.service_name,
                enabled: args.enabled,
                break_dependents: args.force,
                dry_run: args.dry_run,
                authorization: cx.authorization(),
            })
            .await?;
        let on = |state: &Option<String>| state.as_deref().is_some_and(is_enabled);
        let previous_enabled = on(&done.previous);
        let enabled = if args.dry_run { args.enabled } else { on(&done.now) };
        let changed = enabled != previous_enabled;
        mark(cx, done.simulated, changed && !args.dry_run);
        Ok(Out {
            service_name: done.name,
            enabled,
            previous_enabled,
            unit_file_state: done.now,
            also: done.also,
            changed,
            dry_run: args.dry_run,
        })
    }
}
