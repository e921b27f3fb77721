//! `manage.apply_os_updates`: installs exactly what a plan describes (docs/contract/manage.md).

use super::{
    under_way::{StartedUpdate, begin, follow},
    update_args::{HASH, LONGEST_PLAN, PLAN, hash, plan},
};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::Deserialize;
use update::{bundle::Digest, job::WantedRelease};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Of preview_os_updates.
    #[schemars(length(min = 1, max = LONGEST_PLAN), regex(pattern = PLAN))]
    #[serde(deserialize_with = "plan")]
    plan_id: String,
    /// The same plan's.
    #[schemars(with = "String", length(min = 64, max = 64), regex(pattern = HASH), example = EXAMPLE)]
    #[serde(deserialize_with = "hash")]
    plan_hash: Digest,
}

/// Belongs to no plan.
const EXAMPLE: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub struct ApplyOsUpdates;

impl Tool for ApplyOsUpdates {
    type Args = Args;
    type Out = StartedUpdate;
    const META: Meta = Meta {
        name: "manage.apply_os_updates",
        title: "Apply an OS update",
        description: "Install the OS image of a plan and restart into it; it goes back by itself unless found healthy.\n\nUse when: the person agreed to the plan that preview_os_updates made.\n\nReturns: as update_server.\n\nNote: the approval is for this plan's hash and nothing else.",
        listing: Listing::Extra,
        open_world: true,
        timeout_seconds: 3600,
        long: true,
        estimated_tokens: 150,
        tags: &["update", "install", "os"],
        ..Meta::RISKY
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        // Refuse an unknown plan before asking for an approval.
        cx.services.updates.plan(&args.plan_id, &args.plan_hash).map(drop)
    }

    async fn call(cx: &Context, args: Args) -> Result<StartedUpdate, ToolError> {
        let plan = cx.services.updates.plan(&args.plan_id, &args.plan_hash)?;
        let wanted = WantedRelease {
            channel: plan.offer.channel,
            version: Some(plan.offer.release.version),
            manifest: Some(plan.offer.release.manifest),
        };
        begin(cx, Self::META.name, wanted).await?;
        follow(cx).await
    }

    fn whole(out: &StartedUpdate) -> Option<serde_json::Value> {
        out.task()
    }
}
