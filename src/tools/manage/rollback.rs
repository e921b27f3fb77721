//! `manage.rollback`: ends a running update, or returns to the other slot.

use crate::registry::{context::Context, tool::Tool};
use agent::operations::update::{RollBack, RollBackRequest};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use update::Slot;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// An update that was being fetched or written was ended; the running system is as it was.
    cancelled_update: bool,
    /// What runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Slot")]
    from_slot: Option<Slot>,
    from_version: Option<String>,
    /// What will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Slot")]
    to_slot: Option<Slot>,
    to_version: Option<String>,
    /// Whether the device restarts for it.
    restarts: bool,
    dry_run: bool,
}

pub struct Rollback;

impl Tool for Rollback {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.rollback",
        title: "Roll back",
        description: "End an update that is under way, or go back to the system in the other slot.\n\nUse when: an update is unwanted, or the new version misbehaves.\n\nReturns: what runs now, what will run, whether it restarts.",
        dry_run: true,
        timeout_seconds: 60,
        estimated_tokens: 80,
        tags: &["update", "undo"],
        ..Meta::RISKY
    };

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let updates = &cx.services.updates;
        if updates.jobs().can_cancel() {
            if !args.dry_run {
                updates.jobs().cancel();
                cx.notes.changed();
                updates.jobs().settled().await;
            }
            let from_version = Some(updates.running_version().await);
            return Ok(Out {
                cancelled_update: true,
                from_slot: None,
                to_slot: None,
                to_version: from_version.clone(),
                from_version,
                restarts: false,
                dry_run: args.dry_run,
            });
        }
        let request = RollBackRequest { dry_run: args.dry_run, authorization: cx.authorization() };
        let done = cx.services.agent.call::<RollBack>(request).await?;
        if done.simulated {
            cx.notes.simulated();
        }
        if !args.dry_run {
            cx.notes.changed();
            updates.news();
        }
        Ok(Out {
            cancelled_update: false,
            from_slot: Some(done.from),
            from_version: done.from_version,
            to_slot: Some(done.to),
            to_version: done.to_version,
            restarts: done.restarts,
            dry_run: args.dry_run,
        })
    }
}
