//! `fleet.plan_rollout`: what a rollout would do (docs/contract/fleet.md).

use super::served;
use crate::{
    fleet_port::PlannedRollout,
    registry::{context::Context, tool::Tool},
};
use base::error::ToolError;
use contract::meta::{Meta, Role};
use fleet_protocol::name;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The name of a plan that the owner keeps with the fleet: a-z, 0-9 and "-".
    #[schemars(length(min = 1, max = 63))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, 63>")]
    plan: String,
}

pub struct PlanRollout;

impl Tool for PlanRollout {
    type Args = Args;
    type Out = PlannedRollout;
    const META: Meta = Meta {
        name: "fleet.plan_rollout",
        title: "Preview a rollout",
        description: "What a plan of the owner would roll out, in which stages.\n\nUse when: a release is to reach the fleet, before fleet.apply_rollout.\n\nReturns: stages, stop conditions, and the plan_hash that is applied.\n\nNote: changes nothing. A person wrote the plan and signed each stage.",
        role: Role::Admin,
        open_world: true,
        estimated_tokens: 400,
        tags: &["fleet", "rollout", "update"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<PlannedRollout, ToolError> {
        let fleet = served(cx)?;
        // It becomes part of a path.
        name::check("plan", &args.plan)?;
        fleet.port.plan_rollout(&args.plan).await
    }
}
