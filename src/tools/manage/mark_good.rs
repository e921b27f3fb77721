//! `manage.mark_good`: commits a trial early, if every check of the automatic commit succeeds.

use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use ::update::{Slot, status::SlotState};
use agent::operations::update::{self, GetUpdateStatus, MarkGoodRequest};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::Serialize;
use update_client::in_trial;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    slot: Slot,
    version: Option<String>,
    state: SlotState,
    previous_state: SlotState,
}

pub struct MarkGood;

impl Tool for MarkGood {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.mark_good",
        title: "Keep the new system",
        description: "Commit the system that is on trial now, if all checks find it healthy.\n\nUse when: you cannot wait for the automatic commit.\n\nReturns: slot, version, state.\n\nNote: a sick trial is refused, with what is wrong.",
        listing: Listing::Extra,
        timeout_seconds: 120,
        long: true,
        estimated_tokens: 60,
        tags: &["update", "commit"],
        ..Meta::RISKY
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let updates = &cx.services.updates;
        // Read before the checks, because they may commit the trial already.
        let trial = in_trial(&cx.services.agent.get::<GetUpdateStatus>().await?);
        // The same checks as for the automatic commit, reported to the agent, which also runs its own.
        updates.attest(&cx.services.machine).await?;
        let done =
            cx.services.agent.call::<update::MarkGood>(MarkGoodRequest { authorization: cx.authorization() }).await?;
        if done.simulated {
            cx.notes.simulated();
        }
        let previous_state = if trial == Some(done.slot) { SlotState::Trial } else { done.before };
        if previous_state != SlotState::Good {
            cx.notes.changed();
        }
        updates.news();
        Ok(Out { slot: done.slot, version: done.version, state: SlotState::Good, previous_state })
    }
}
